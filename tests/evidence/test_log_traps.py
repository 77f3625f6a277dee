"""What misleads in real logs does not mislead here: repeats, colours, cut lines, handled errors, late causes."""

# ruff: noqa: E501  (the texts are as long as programs print them)
from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.evidence.log_cases import CASES, STEP_1
from tests.evidence.test_log_texts import classify

OOM = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 39.39 GiB"
HOST_KILL = "slurmstepd: error: Detected 2 oom_kill events in StepId=5054954.batch. Some of the step tasks have been OOM Killed."
LOST = "RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {}"


def decide(*lines: str, exit_code: int | None = 1) -> tuple[str | None, int | None]:
    """Diagnosis and number of the deciding line."""
    derived = classify("\n".join(lines).encode() + b"\n", exit_code)
    return derived.diagnosis, derived.deciding.line if derived.deciding else None


def each_line(change: Callable[[str], str]) -> Callable[[str], bytes]:
    return lambda text: "\n".join(change(line) if line else line for line in text.split("\n")).encode()


DISGUISES: dict[str, Callable[[str], bytes]] = {
    "coloured by Ray": each_line(lambda line: f"\x1b[36m(WorkerDict pid=7, ip=10.1.0.9)\x1b[0m {line}"),
    "coloured word by word": each_line(lambda line: line.replace(" ", "\x1b[0m \x1b[1;31m")),
    "colours without their escape": each_line(lambda line: f"[36m(WorkerDict pid=7)[0m {line}"),
    "prefixed by torchrun": each_line(lambda line: f"[rank3]: {line}"),
    "prefixed by srun": each_line(lambda line: f"12: {line}"),
    "stamped": each_line(lambda line: f"[2026-09-15T20:21:58Z] {line}"),
    "marked as repeated": each_line(
        lambda line: (
            f"{line} [repeated 7x across cluster] (Ray deduplicates logs by default.)"
            if "Error" in line
            else line
        )
    ),
    "after a progress bar": each_line(
        lambda line: f"step 1:  50%|##   | 1/2\rstep 1: 100%|#####| 2/2\r{line}"
    ),
    "with Windows line ends": lambda text: text.replace("\n", "\r\n").encode(),
    "with a byte-order mark": lambda text: b"\xef\xbb\xbf" + text.encode(),
    "in UTF-16": lambda text: text.encode("utf-16"),
    "in UTF-16 without a mark": lambda text: text.encode("utf-16-le"),
    "with holes of zero bytes": lambda text: b"\x00" * 700 + text.replace("\n", "\n\x00\x00").encode(),
    "in Latin-1 with bytes that are no UTF-8": lambda text: (
        "".join(
            f"Größe\xff {line}\n" if not line.strip() else f"{line}\n" for line in text.split("\n")[:-1]
        ).encode("latin-1", "replace")
        + text.split("\n")[-1].encode("latin-1", "replace")
    ),
}


# Some disguises take away the very thing that a case is told by, so that nobody could tell it any more.
ONE_WRITER = {
    "another writer fails while a sample is printed",
    "the driver's traceback while a worker prints",
}
ONE_FRAME = {
    "an answer whose later lines lost their writer", "an answer without a closing label",
    "answers inside a chat template", "quoted code", "an interrupted answer goes on with a bare error",
}  # fmt: skip
NO_BOXES = {"answers in a table of boxes"}
UNTELLABLE = {
    "coloured by Ray": ONE_WRITER,
    "colours without their escape": ONE_WRITER,
    "prefixed by torchrun": ONE_WRITER,
    "prefixed by srun": ONE_WRITER,
    "stamped": ONE_FRAME,
    "after a progress bar": ONE_FRAME,
    "in UTF-16 without a mark": NO_BOXES,
    "in Latin-1 with bytes that are no UTF-8": NO_BOXES,
}


@pytest.mark.parametrize("disguise", DISGUISES)
def test_a_disguised_log_is_read_like_the_plain_one(disguise: str) -> None:
    wrong = []
    for case in CASES:
        if case.name in UNTELLABLE.get(disguise, ()):
            continue
        derived = classify(DISGUISES[disguise](case.text), case.exit_code)
        found = (derived.outcome, derived.diagnosis, derived.deciding.line if derived.deciding else None)
        if found != (case.outcome, case.diagnosis, case.line):
            wrong.append((case.name, found))

    assert wrong == []


def test_a_cause_that_runs_into_another_rank_s_line_is_still_found() -> None:
    assert decide(f"(WorkerDict pid=88)     return self.(WorkerDict pid=89) {OOM}") == ("cuda_oom", 1)


def test_two_ranks_that_write_one_line_prove_one_failure() -> None:
    torn = "torch.OutOfMemoryError: CUDA out of memory. Tried to alloc[rank1]: " + OOM
    assert decide("[rank0]: " + torn, "ate 2.00 GiB.") == ("cuda_oom", 1)


def test_consequences_printed_before_and_after_the_cause_do_not_decide() -> None:
    assert decide(LOST, LOST, "ray.exceptions.ActorDiedError: The actor died", OOM, LOST) == ("cuda_oom", 4)
    assert decide(OOM, LOST, "torch.distributed.DistBackendError: NCCL communicator was aborted") == (
        "cuda_oom",
        1,
    )


def test_a_consequence_decides_when_nothing_else_is_known() -> None:
    assert decide("starting", LOST, LOST) == ("vllm_executor_failure", 2)


@pytest.mark.parametrize(
    ("first", "second", "diagnosis"),
    [
        (OOM, HOST_KILL, "cuda_oom"),
        (HOST_KILL, OOM, "host_memory"),
        ("RuntimeError: CUDA error: an illegal memory access was encountered", OOM, "device_fault"),
        (OOM, "RuntimeError: CUDA error: an illegal memory access was encountered", "cuda_oom"),
        (
            OOM,
            "slurmstepd: error: *** JOB 1 ON n1 CANCELLED AT 2026-09-15T19:27:18 DUE TO TIME LIMIT ***",
            "cuda_oom",
        ),
        ("AssertionError: batch (5) must be divisible by 2", OOM, "configuration"),
        ("ValueError: No available memory for the cache blocks. Try increasing it.", OOM, "kv_cache_memory"),
    ],
)
def test_of_two_causes_the_first_decides_and_both_are_shown(first: str, second: str, diagnosis: str) -> None:
    derived = classify(f"{first}\nbusy\n{second}\n".encode())

    assert derived.diagnosis == diagnosis
    assert [line.line for line in derived.evidence] == [1, 3]


@pytest.mark.parametrize(
    "handling",
    [
        "WARNING: caught CUDA OOM, retrying with micro batch 2",
        "Decreasing batch size to: 8.",
        "CUDA out of memory in forward, skipping batch",
        "Recovered from OOM at step 1",
        "Batch size 64 failed, trying batch size 32",
    ],
)
def test_a_handled_exhaustion_does_not_count(handling: str) -> None:
    assert decide(OOM, handling, STEP_1, exit_code=0) == (None, 3)
    assert decide(OOM, handling, "KeyError: 'reward'") == ("runtime", 3)
    assert decide(OOM, handling)[0] == "missing_evidence"


def test_an_exhaustion_announced_as_caught_before_its_traceback_does_not_count() -> None:
    log = ["OOM caught, retrying", "Traceback (most recent call last):", OOM, "KeyError: 'reward'"]
    assert decide(*log) == ("runtime", 4)


def test_after_a_handled_exhaustion_the_next_one_counts() -> None:
    assert decide(OOM, "Decreasing batch size to: 8.", OOM) == ("cuda_oom", 3)


def test_one_rank_that_handles_its_exhaustion_does_not_excuse_another() -> None:
    log = ["[rank0]: " + OOM, "[rank1]: " + OOM, "[rank0]: caught OOM, retrying with micro batch 1"]
    assert decide(*log) == ("cuda_oom", 2)


def test_an_exhaustion_logged_as_a_warning_does_not_count() -> None:
    assert decide(f"WARNING 09-15 15:55:01 [autotune.py:12] {OOM}", "KeyError: 'x'") == ("runtime", 2)


def test_a_run_that_went_on_survived_what_it_printed() -> None:
    derived = classify(f"{OOM}\n{STEP_1}\nKeyError: 'reward'\n".encode())

    assert derived.diagnosis == "runtime"
    assert [(item.diagnosis, bool(item.survived)) for item in derived.others] == [("cuda_oom", True)]


def test_a_completed_run_shows_the_exhaustion_that_it_survived() -> None:
    derived = classify(f"{STEP_1}\n{OOM}\n".encode(), 0)

    assert derived.outcome == "completed"
    assert [line.line for line in derived.evidence] == [1, 2]


def test_a_zero_exit_without_the_record_outweighs_an_unhandled_message() -> None:
    assert decide(OOM, "bye", exit_code=0) == ("missing_completion_evidence", 2)


HARMLESS_IMPORT = (
    "Traceback (most recent call last):",
    '  File "/site-packages/verl/utils/import_utils.py", line 12, in <module>',
    "ModuleNotFoundError: No module named 'megatron'",
)


@pytest.mark.parametrize(
    ("rest", "exit_code", "diagnosis"),
    [
        ([OOM], 1, "cuda_oom"),
        ([HOST_KILL], 1, "host_memory"),
        (["KeyError: 'reward'"], 1, "runtime"),
        ([STEP_1], 0, None),
        (["shutting down"], 0, "missing_completion_evidence"),
        (["graph capture"], 137, "killed_unknown_cause"),
    ],
)
def test_an_optional_import_that_failed_is_harmless(rest: list[str], exit_code: int, diagnosis: str) -> None:
    assert decide(*HARMLESS_IMPORT, *rest, exit_code=exit_code)[0] == diagnosis


def test_an_exception_while_objects_are_cleaned_up_does_not_decide() -> None:
    log = [
        "KeyError: 'reward'",
        "Exception ignored in: <function Pool.__del__ at 0x7f>",
        "AttributeError: 'x'",
    ]
    assert decide(*log) == ("runtime", 1)


def test_of_chained_exceptions_the_first_is_the_cause() -> None:
    log = [
        "OSError: [Errno 28] No space left on device",
        "",
        "During handling of the above exception, another exception occurred:",
        "RuntimeError: checkpoint failed",
    ]
    assert decide(*log) == ("environment", 1)


def test_a_kill_without_a_record_has_no_known_cause() -> None:
    for code in (137, -9):
        derived = classify(b"(WorkerDict pid=88) capturing graphs\n", code)
        assert (derived.outcome, derived.diagnosis) == ("unresolved", "killed_unknown_cause")
        assert derived.evidence[0].line is None
        assert "SIGKILL" in derived.evidence[0].text


@pytest.mark.parametrize(
    "record",
    [
        HOST_KILL,
        "[8812.1] Out of memory: Killed process 4242 (python) total-vm:4kB, anon-rss:1kB",
        "(raylet) node_manager.cc:3064: 1 Workers (tasks / actors) killed due to memory pressure (OOM), 0 Workers",
    ],
)
def test_a_kill_with_the_host_s_own_record_is_host_memory(record: str) -> None:
    assert decide("run.sh: line 4: 77 Killed   python train.py", LOST, record, exit_code=137) == (
        "host_memory",
        3,
    )


def test_the_lines_around_the_evidence_are_kept_with_their_numbers() -> None:
    derived = classify(f"a\nb\nc\n{OOM}\nd\ne\nf\n".encode())

    assert derived.deciding is not None
    assert [number for number, _ in derived.deciding.context] == [2, 3, 4, 5, 6]


def test_a_message_in_a_line_of_a_million_characters_is_found_and_shortened() -> None:
    derived = classify(b"x" * 500_000 + b" " + OOM.encode() + b" " + b"y" * 500_000 + b"\n")

    assert derived.diagnosis == "cuda_oom"
    assert derived.deciding is not None
    assert "Tried to allocate" in derived.deciding.text
    assert len(derived.deciding.text) < 2100
