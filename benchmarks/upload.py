"""A large run directory through ``rlvram-upload``: seconds, and memory on both sides.

    python -m benchmarks.upload [--samples-mib 200] [--log-mib 50]

Makes the directory, serves a site on SQLite with two workers as ``./run`` does, uploads with the real
command, and uploads once more, which finds everything there. Memory is the largest resident set of the
client, of the server's processes together, and of the process that reads the upload, looked at every 50 ms.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import psutil

from benchmarks.ingest import LOG, ROOT, SLUG, free_port, served

MIB = 1 << 20


def make_run(folder: Path, samples_mib: float, log_mib: float) -> None:
    """Samples of eight devices every 100 ms and a trainer's log, of these sizes; the peak is at the start."""
    chance = random.Random(1)
    folder.mkdir()
    with (folder / "gpu-memory-1.csv").open("w") as file:
        moment = 1_789_466_400_000_000_000
        file.write(f"{moment},38001,1,1,1,1,1,1,1\n")
        while file.tell() < samples_mib * MIB:
            rows = []
            for _ in range(5_000):
                moment += 100_000_000
                rows.append(f"{moment}," + ",".join(str(chance.randrange(9_000, 38_000)) for _ in range(8)))
            file.write("\n".join(rows) + "\n")
    with (folder / "training-1.log").open("w") as file:
        number = 0
        while file.tell() < log_mib * MIB:
            file.write("".join(
                f"(WorkerDict pid={chance.randrange(9999)}) INFO step detail {number + n} "
                f"loss={chance.random():.6f} grad_norm={chance.random():.6f}\n" for n in range(5_000)
            ))  # fmt: skip
            number += 5_000
        file.write(LOG)
    (folder / "trial-1.json").write_text('{"exit_code": 0, "steps": 2}')


class Memory:
    """The largest resident set of processes together, in MiB, while the block runs."""

    def __init__(self, *names: str) -> None:
        self.names = names
        self.largest = 0.0
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)

    def __enter__(self) -> Memory:
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._ended.set()
        self._thread.join()

    def _look(self) -> None:
        while not self._ended.wait(0.05):
            total = 0
            for process in psutil.Process().children(recursive=True):
                try:
                    words = " ".join(process.cmdline())
                    if all(name in words for name in self.names):
                        total += process.memory_info().rss
                except psutil.Error:
                    continue
            self.largest = max(self.largest, total / MIB)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--samples-mib", type=float, default=200)
    parser.add_argument("--log-mib", type=float, default=50)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="rlvram-upload-") as name:
        folder, port = Path(name), free_port()
        run = folder / "run"
        make_run(run, options.samples_mib, options.log_mib)
        environment = {
            **os.environ, "DATA_DIR": str(folder / "data"), "DATABASE_URL": f"sqlite:///{folder}/site.sqlite3",
            "RLVRAM_MODE": "embedded", "DJANGO_SETTINGS_MODULE": "rlvram_site.settings",
        }  # fmt: skip
        prepared = subprocess.run(
            [sys.executable, "-m", "benchmarks.ingest", "--prepare", "1"], cwd=ROOT, env=environment,
            check=True, capture_output=True, text=True,
        )  # fmt: skip
        server = [sys.executable, "-m", "gunicorn", "--bind", f"127.0.0.1:{port}", "--workers", "2",
                  "--threads", "4", "--timeout", "120", "--log-level", "critical",
                  "rlvram_site.wsgi"]  # fmt: skip
        command = [sys.executable, "-m", "host.upload", str(run), "--url", f"http://127.0.0.1:{port}",
                   "--study", SLUG, "--invocation", "large", "--slot", "slot-0", "--quiet"]  # fmt: skip
        with served(server, environment, f"http://127.0.0.1:{port}/health/live/"):
            for what in ("first", "again"):
                with (
                    Memory("host.upload") as client,
                    Memory("gunicorn", f":{port}") as site,
                    Memory("studies.evidence.confined") as reader,
                ):
                    started = time.perf_counter()
                    done = subprocess.run(
                        command, cwd=ROOT, env={**environment, "RLVRAM_KEY": prepared.stdout.split()[-1]},
                        capture_output=True, text=True, check=False,
                    )  # fmt: skip
                    seconds = time.perf_counter() - started
                if done.returncode:
                    raise SystemExit(done.stderr)
                answer = json.loads(done.stdout)
                print(
                    f"{what}: {seconds:.1f} s, client {client.largest:.0f} MiB, server "
                    f"{site.largest:.0f} MiB and its reader {reader.largest:.0f} MiB; "
                    f"{answer['status']}, {answer['outcome']}, peak {answer['peak_mib']}",
                    flush=True,
                )


if __name__ == "__main__":
    main()
