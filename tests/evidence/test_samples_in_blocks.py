"""Sampled memory says the same whether its lines are read at once or each by itself, down to the last bit."""

from __future__ import annotations

import gzip

from hypothesis import example, given, settings
from hypothesis import strategies as st

from studies.evidence.collect import RunFile, collect_run
from studies.evidence.samples import SampledPeak, sampled_peak
from studies.evidence.unpacking import LONGEST_LINE, line_blocks

# A line read by itself goes through the exact reader of one row; that many plain ones become arrays.
MANY = 70

times = st.one_of(
    st.integers(0, 10**6).map(str),
    st.integers(1_789_498_576_000_000_000, 1_789_498_577_000_000_000).map(str),
    st.sampled_from(
        ["", "-5", "+5", "007", "9" * 18, "9" * 19, "8" * 19, "1" * 20, "1.0", "1e3", " 12", "12 ", '"12"',
         '" 12 "', "\ufeff12", "1\x002", "١٢", "ts", "x"]
    ),
)  # fmt: skip
amounts = st.one_of(
    st.integers(0, 50_000).map(str),
    st.decimals(0, 50_000, places=3).map(str),
    st.floats(0, 1e9).map(repr),
    st.sampled_from(
        ["", "[N/A]", "N/A", "n/a", "nan", "inf", "-1", "-0", "+5", "1e3", "1_000", ".5", "5.", ".", "..5",
         "1.2.3", "28882 MiB", "28882MiB", "MiB", " 5 MiB ", '"5"', '"5 MiB"', '" 5"', "'5'", "0.1",
         "0.30000000000000004", "123456789012345", "1234567890123456", "9007199254740993", "[Not Supported]",
         "\xa05", "5\u3000", "5\t", "x", "5\x00", "\x00", "٣", "1 2", "  5", "     5", "MiB MiB", "5 MiB MiB"]
    ),
)  # fmt: skip
phases = st.sampled_from(
    ["", "rollout", "actor_update", ' "sync" ', '"', "\x00", "[N/A]", "7", "\xa0", "phase,"]
)
odd_lines = st.one_of(
    st.text(max_size=20).map(lambda text: text.replace("\n", "")),
    st.sampled_from(
        ["", " ", "\r", ",", ",,,", "\x1c", "\x85", "\u3000", "# note", "killed", "\ufeff", "1" * 70_000]
    ),
)


def _rows(cells: list[st.SearchStrategy[str]]) -> st.SearchStrategy[str]:
    return st.tuples(*cells).map(",".join)


def _forms(devices: int) -> st.SearchStrategy[tuple[str, st.SearchStrategy[str]]]:
    memory = [amounts] * devices
    names = ",".join(f"gpu{number}_mib" for number in range(devices))
    step = st.sampled_from(["", "1", "2", "x", "1" * 20])
    index = st.one_of(st.integers(0, 7).map(str), st.sampled_from(["", "-1", "x", "9" * 19]))
    return st.sampled_from(
        [
            ("", _rows([times, *memory])),
            (f"timestamp_ns,{names}\n", _rows([times, *memory])),
            ("1,1,rollout" + ",5" * devices + "\n", _rows([times, step, phases, *memory])),
            (f'\ufeff"timestamp_ns","step","phase",{names}\r\n', _rows([times, step, phases, *memory])),
            (
                "phase,memory_used_mib,gpu_index,timestamp_ns\n",
                _rows([phases, amounts, index, times]),
            ),
        ]
    )


@st.composite
def tables(draw) -> bytes:
    head, odd = draw(st.integers(1, 4).flatmap(_forms))
    lines: list[str] = []
    for _ in range(draw(st.integers(0, 4))):
        lines += draw(st.lists(st.one_of(odd, odd_lines), max_size=4))
        row = draw(odd)
        change = draw(st.sampled_from(["same", "later", "other"]))
        more = [row] * (MANY * (change != "other")) or draw(st.lists(odd, min_size=5, max_size=5)) * (
            MANY // 5
        )
        lines += [_later(row, number) for number, row in enumerate(more)] if change == "later" else more
    end = draw(st.sampled_from(["\n", "\r\n"]))
    return (head + end.join(lines) + draw(st.sampled_from(["", end]))).encode("utf-8", "replace")


def _later(row: str, number: int) -> str:
    """The row with each of its plain whole numbers larger."""
    return ",".join(
        str(int(cell) + number * 100_000_000)
        if cell.isascii() and cell.isdecimal() and len(cell) < 19
        else cell
        for cell in row.split(",")
    )


def _peak(blocks: list[bytes]) -> SampledPeak:
    return sampled_peak([("a.csv", blocks)], devices={0: "GPU-a"}, started_ns=0, ended_ns=10**19)


@settings(max_examples=60, deadline=None)
@given(tables())
@example(b"1,5\n" * MANY + b"2,9007199254740993\n" + b"3,5.5\r\n" * MANY)
@example(b"".join(b"%d,5,6\n" % (100 - number % 3) for number in range(300)))
@example(b"1,5\n" + b"junk\n" * 300 + b"x,5\n" * 300)
@example(b"1,1,rollout\n" * MANY)
@example(b"1,5\n" + b"9999999999999999999,6\n" * MANY)
@example(b"1,5\n" + b"1,0\n" * MANY)
def test_lines_read_at_once_say_what_they_say_one_by_one(table: bytes) -> None:
    problems: list[str] = []
    whole = list(line_blocks([table], "a.csv", problems))
    single = [line + b"\n" for block in whole for line in block[:-1].split(b"\n")]

    assert repr(_peak(whole)) == repr(_peak(single))


@settings(max_examples=60, deadline=None)
@given(tables(), st.lists(st.integers(1, 3000), min_size=1, max_size=5), st.booleans())
def test_it_does_not_matter_in_which_pieces_a_file_comes(
    table: bytes, sizes: list[int], packed: bool
) -> None:
    problems: list[str] = []
    parts, position = [], 0
    while position < len(table):
        size = sizes[len(parts) % len(sizes)]
        parts.append(table[position : position + size])
        position += size
    in_parts = _peak(list(line_blocks(parts, "a.csv", problems)))
    data = gzip.compress(table) if packed else table
    run = collect_run([RunFile.of_bytes("gpu-memory-1.csv", data)])

    assert run.peak is not None
    assert repr(_peak(list(line_blocks([table], "a.csv", problems)))) == repr(in_parts)
    assert (run.peak.mib, run.peak.sample_rows) == (in_parts.mib, in_parts.sample_rows)


def test_a_line_without_an_end_is_cut_once_and_the_next_is_read() -> None:
    problems: list[str] = []
    table = b"1,5\n" + b"2," + b"7" * (3 * LONGEST_LINE) + b"\n3,9\n" * MANY

    assert _peak(list(line_blocks([table], "a.csv", problems))).mib == 9
    assert problems == [f"a.csv: lines longer than {LONGEST_LINE} bytes were cut"]


def test_of_equal_samples_the_first_is_the_peak_and_its_phase_is_named() -> None:
    rows = [f"{number},3,{'sync' if number > 200 else ''},500,{number % 90}\n" for number in range(1, 300)]
    peak = _peak([("1,3,rollout,1,1\n" + "".join(rows)).encode()])

    assert [(item.mib, item.timestamp_ns, item.phase) for item in peak.devices] == [
        (500, 1, "sync"),
        (89, 89, "sync"),
    ]
