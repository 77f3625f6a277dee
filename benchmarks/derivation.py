"""How fast an outcome is derived from what a run left behind, and in how much memory.

    python -m benchmarks.derivation [--mib 50] [--only NAME]

Every content is read in a process of its own, as a stream. Beside it the same bytes go through a plain loop
over lines that looks for one word, so that the ratio means the same on any machine. MB/s are per second of
processor time. Peak memory is what the process grew by while it read.
"""

from __future__ import annotations

import argparse
import gzip
import io
import multiprocessing
import random
import resource
import sys
import time
from collections.abc import Callable, Iterable, Iterator

from studies.evidence.collect import RunFile, collect_run
from studies.evidence.completion import CompletionRule

GOAL_MB_PER_SECOND = 20
_UNIT = 1 << 20
_FRAME = (
    '  File "/opt/venv/lib/python3.11/site-packages/torch/nn/modules/module.py", line {n}, in _call_impl\n'
)


def _steps(number: int) -> str:
    metrics = " - ".join(
        f"actor/metric_{index}:{(number * 7919 + index) % 9973 / 9973:.4f}" for index in range(12)
    )
    return (
        f"(TaskRunner pid=41) step:{number} - {metrics} - training/global_step:{number} - training/epoch:0\n"
    )


def _traceback(number: int) -> str:
    return (
        "Traceback (most recent call last):\n"
        + "".join(_FRAME.format(n=number + depth) + "    return forward_call(*args)\n" for depth in range(8))
        + f"ValueError: bad value {number} in batch\n"
    )


def _bar(number: int) -> str:
    return "\r".join(f"step {number}: {part}%|##   | {part}/100" for part in range(0, 100, 2)) + "\n"


def _random_words(number: int) -> str:
    source = random.Random(number)
    name, text = "".join(source.choices("abcdefgh", k=9)), "".join(source.choices("abcdefgh ", k=40))
    return f"{name.title()}Error: {text}\n"


def _time(number: int) -> int:
    return 1_789_498_576_000_000_000 + number * 100_000_000


CONTENTS: dict[str, Callable[[int], str]] = {
    "records of steps": _steps,
    "a healthy log": lambda n: (
        f"(WorkerDict pid={n % 8}) INFO 09-15 15:52:40 [runner.py:2007] loading took {n} s\n"
    ),
    "tracebacks": _traceback,
    "exhaustions of eight ranks": lambda n: (
        f"[rank{n % 8}]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate {n}.00 MiB."
        " GPU 0 has a total capacity of 39.39 GiB of which 1.01 GiB is free.\n"
    ),
    "short errors": lambda n: f"KeyError: {n}\n",
    "errors that all differ": _random_words,
    "words of errors": lambda n: f"an error in memory {n} killed nobody, failed to reduce the batch\n",
    "a sample that never ends": lambda n: (
        "[response] x\n" if n == 0 else f"(TaskRunner pid=41) 12:00:{n % 60:02d} part {n} of an ERROR\n"
    ),
    "colour codes": lambda n: f"\x1b[36m(WorkerDict pid=7)\x1b[0m \x1b[1;31mline\x1b[0m {n}\n",
    "progress bars": _bar,
    "blanks behind a word": lambda n: "error" + " " * 64_000,
    "step:1 - again and again": lambda n: "step:1 - " * 1000,
    "one line without an end": lambda n: "x" * 4000,
    "empty lines": lambda n: "\n" * 1000,
    "samples": lambda n: f"{_time(n)},{28_000 + n % 900},{4_000 + n % 77}\n",
    "samples with phases": lambda n: f"{_time(n)},{n // 900},rollout,{28_000 + n % 900}.5,{4_000 + n % 77}\n",
    "samples in long form": lambda n: (
        f"{_time(n // 8)},{n // 900},rollout,{n % 8},{28_000 + n % 900},{n % 100}\n"
        if n
        else "timestamp_ns,step,phase,gpu_index,memory_used_mib,gpu_utilization_pct\n"
    ),
    "samples with units": lambda n: f'"{_time(n)}", {28_000 + n % 900} MiB, [N/A]\r\n',
    "samples of a thousand devices": lambda n: f"{_time(n)}{',40000' * 1000}\n",
    "samples between other lines": lambda n: (
        f"{_time(n)},{28_000 + n % 900},5\n" if n % 2 == 0 else f"nothing was sampled, error {n}\n"
    ),
}


class _Stream(io.RawIOBase):
    """`size` bytes of a content, made while they are read."""

    def __init__(self, blocks: Iterable[bytes]) -> None:
        self._blocks = iter(blocks)
        self._rest = b""

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        while len(self._rest) < size and (block := next(self._blocks, None)):
            self._rest += block
        data, self._rest = self._rest[:size], self._rest[size:]
        return data


def blocks_of(content: Callable[[int], str], size: int) -> Iterator[bytes]:
    """`size` bytes in blocks of about a MiB; the same ones whenever they are asked for."""
    number = 0
    while size > 0:
        parts, length = [], 0
        while length < min(size, _UNIT):
            part = content(number).encode()
            parts.append(part)
            length += len(part)
            number += 1
        yield b"".join(parts)
        size -= length


def measure(name: str, mib: int, packed: bool, answer: multiprocessing.Queue) -> None:
    """Read one content twice, by the plain loop and by the derivation; MB/s of both, and growth in MiB."""
    made = list(blocks_of(CONTENTS[name], mib * _UNIT))
    size = sum(map(len, made))
    began = time.process_time()
    for block in made:
        sum(1 for line in block.split(b"\n") if line.find(b"out of memory") >= 0)
    plain = time.process_time() - began
    file = "gpu-memory-1.csv" if name.startswith("samples") else "training-1.log"
    if packed:
        made = [gzip.compress(b"".join(made), 6)]
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    began = time.process_time()
    collect_run([RunFile(file, lambda: _Stream(made))], CompletionRule(5), exit_code=1)
    seconds = time.process_time() - began
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    answer.put((size / 1e6 / plain, size / 1e6 / seconds, grown))


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--mib", type=int, default=50, help="size of each content")
    parser.add_argument("--only", choices=[*CONTENTS, "packed"], help="one content")
    options = parser.parse_args(argv)
    chosen = [(name, False) for name in CONTENTS] + [("a healthy log", True)]
    if options.only:
        chosen = [
            item for item in chosen if item == (options.only, False) or (options.only == "packed" and item[1])
        ]
    print(f"{'content':30} {'MB/s':>8} {'plain loop':>11} {'ratio':>6} {'grown MiB':>10}")
    slow = 0
    context = multiprocessing.get_context("spawn")
    for name, packed in chosen:
        answer: multiprocessing.Queue = context.Queue()
        process = context.Process(target=measure, args=(name, options.mib, packed, answer))
        process.start()
        plain, rate, grown = answer.get()
        process.join()
        slow += rate < GOAL_MB_PER_SECOND
        label = f"{name}, packed" if packed else name
        print(f"{label:30} {rate:8.1f} {plain:11.1f} {rate / plain:6.2f} {grown:10.1f}", flush=True)
    print(f"{slow} below the goal of {GOAL_MB_PER_SECOND} MB/s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
