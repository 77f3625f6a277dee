"""Attempts per second through HTTP, one by one and in batches, beside a local MLflow tracking server.

    python -m benchmarks.ingest [--mlflow PYTHON] [--postgres URL] [--clients N]

Every server gets the same content in the same run: an invocation with its host, times, exit code, peaks by
device and the end of its log. The site takes it in one request, or a thousand in one; MLflow needs three
requests for a run (create, log, end). ``--mlflow`` is the Python of an environment with MLflow in it,
``--postgres`` an empty database. Each server runs with two workers.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import requests

ROOT = Path(__file__).resolve().parent.parent
SLUG = "benchmark"
GOALS = {"single": 20, "batched": 300}
LOG = (
    "Total training steps: 2\n"
    "step:1 - actor/pg_loss:0.11 - perf/throughput:812.4 - training/global_step:1\n"
    "step:2 - actor/pg_loss:0.09 - perf/throughput:815.0 - training/global_step:2\n"
)


def attempt(number: int, run: str) -> dict[str, Any]:
    """What one invocation leaves behind."""
    return {
        "invocation_id": f"{run}-{number}",
        "slot": f"slot-{number}",
        "started_at": "2026-09-15T10:00:00Z",
        "ended_at": "2026-09-15T10:42:00Z",
        "exit_code": 0,
        "requested_steps": 2,
        "job_id": str(5_054_000 + number),
        "execution_commit": "0bd659b3f69e2f779dbea84bb2da221bd0ff52db",
        "host": {
            "device_model": "NVIDIA A100-SXM4-40GB",
            "device_count": 2,
            "device_capacity_mib": 40960,
            "driver": "550.54.15",
        },
        "device_peaks_mib": {"GPU-0": 38_000 + number % 900, "GPU-1": 37_000 + number % 900},
        "task_gpu_seconds": 5040.5,
        "log": LOG,
    }


def as_mlflow(content: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    """The same content as the bodies of MLflow's three requests, without the run's id."""
    start, end = 1_789_466_400_000, 1_789_468_920_000
    tags = {name: content[name] for name in ("invocation_id", "slot", "job_id", "execution_commit", "log")}
    params = {**content["host"], "requested_steps": content["requested_steps"]}
    metrics = {
        "exit_code": content["exit_code"],
        "task_gpu_seconds": content["task_gpu_seconds"],
        **{f"peak_mib_{device}": value for device, value in content["device_peaks_mib"].items()},
    }
    create = {"start_time": start, "tags": [{"key": key, "value": str(value)} for key, value in tags.items()]}
    log = {
        "params": [{"key": key, "value": str(value)} for key, value in params.items()],
        "metrics": [
            {"key": key, "value": value, "timestamp": end, "step": 0} for key, value in metrics.items()
        ],
    }
    return create, log, {"status": "FINISHED", "end_time": end}


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@contextmanager
def served(command: Sequence[str], environment: dict[str, str], ready: str) -> Iterator[None]:
    """A server in its own process group, until the block ends."""
    with tempfile.TemporaryFile() as log:
        process = subprocess.Popen(
            command, cwd=ROOT, env=environment, stdout=log, stderr=log, start_new_session=True
        )
        try:
            for _ in range(1200):
                try:
                    if requests.get(ready, timeout=5).ok:
                        break
                except requests.RequestException:
                    time.sleep(0.1)
                if process.poll() is not None:
                    log.seek(0)
                    raise SystemExit(f"{command[0]} ended:\n{log.read().decode(errors='replace')[-2000:]}")
            yield
        finally:
            os.killpg(process.pid, signal.SIGTERM)
            process.wait(timeout=60)


def rate(work: Sequence[Any], clients: int, send: Callable[[requests.Session, Any], int]) -> float:
    """Attempts per second when ``clients`` threads share the work; ``send`` returns how many it sent."""
    done: list[int] = []

    def run(part: Sequence[Any]) -> None:
        with requests.Session() as session:
            done.extend(send(session, item) for item in part)

    threads = [threading.Thread(target=run, args=(work[index::clients],)) for index in range(clients)]
    started = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sum(done) / (time.perf_counter() - started)


def measure_site(database_url: str, options: argparse.Namespace, folder: Path) -> dict[str, float]:
    """Rates of the site on one engine: single, batched, and seconds for a page of 100 attempts."""
    port = free_port()
    environment = {
        **os.environ, "DATA_DIR": str(folder), "DATABASE_URL": database_url, "RLVRAM_MODE": "embedded",
        "DJANGO_SETTINGS_MODULE": "rlvram_site.settings",
        "API_WRITES_PER_MINUTE": "0", "API_READS_PER_MINUTE": "0",
    }  # fmt: skip
    total = max(options.single, options.batched)
    prepared = subprocess.run(
        [sys.executable, "-m", "benchmarks.ingest", "--prepare", str(total)], cwd=ROOT, env=environment,
        check=True, capture_output=True, text=True,
    )  # fmt: skip
    headers = {
        "Authorization": f"Api-Key {prepared.stdout.split()[-1]}",
        "Content-Type": "application/json",
    }
    base = f"http://127.0.0.1:{port}"
    address = f"{base}/api/v1/studies/{SLUG}/attempts/"
    command = [sys.executable, "-m", "gunicorn", "--bind", f"127.0.0.1:{port}", "--workers", "2",
               "--log-level", "critical", "rlvram_site.wsgi"]  # fmt: skip

    def post(path: str, count: int) -> Callable[[requests.Session, str], int]:
        def send(session: requests.Session, body: str) -> int:
            answer = session.post(address + path, data=body, headers=headers, timeout=600)
            if answer.status_code != 201:
                raise SystemExit(f"{address}{path}: {answer.status_code} {answer.text[:500]}")
            return count

        return send

    singles = [json.dumps(attempt(number, "single")) for number in range(options.single)]
    rows = [attempt(number, "batch") for number in range(options.batched)]
    bodies = [
        json.dumps({"attempts": rows[start : start + options.batch]})
        for start in range(0, len(rows), options.batch)
    ]
    warm = [json.dumps(attempt(number, "warm")) for number in range(20)]
    with served(command, environment, f"{base}/health/live/"):
        rate(warm, options.clients, post("", 1))
        single = rate(singles, options.clients, post("", 1))
        batched = rate(bodies, options.clients, post("batch/", options.batch))
        started = time.perf_counter()
        for _ in range(10):
            requests.get(f"{address}?page_size=100", headers=headers, timeout=60).raise_for_status()
        page = (time.perf_counter() - started) / 10
    return {"single": single, "batched": batched, "page": page}


def measure_mlflow(python: str, options: argparse.Namespace, folder: Path) -> dict[str, float]:
    """Runs per second of MLflow's tracking server on SQLite, and seconds for a page of 100 runs."""
    port = free_port()
    base = f"http://127.0.0.1:{port}"
    api = f"{base}/api/2.0/mlflow"
    command = [python, "-m", "mlflow", "server", "--backend-store-uri", f"sqlite:///{folder}/mlflow.db",
               "--host", "127.0.0.1", "--port", str(port), "--workers", "2"]  # fmt: skip

    def call(session: requests.Session, path: str, body: dict[str, Any]) -> dict[str, Any]:
        answer = session.post(f"{api}/{path}", json=body, timeout=120)
        answer.raise_for_status()
        return answer.json()

    with served(command, {**os.environ, "MLFLOW_DISABLE_TELEMETRY": "true"}, f"{base}/health"):
        with requests.Session() as session:
            experiment = call(session, "experiments/create", {"name": SLUG})["experiment_id"]

        def send(session: requests.Session, content: dict[str, Any]) -> int:
            create, log, end = as_mlflow(content)
            run = call(session, "runs/create", {"experiment_id": experiment, **create})["run"]["info"][
                "run_id"
            ]
            call(session, "runs/log-batch", {"run_id": run, **log})
            call(session, "runs/update", {"run_id": run, **end})
            return 1

        rate([attempt(number, "warm") for number in range(10)], options.clients, send)
        runs = rate([attempt(number, "run") for number in range(options.mlflow_runs)], options.clients, send)
        with requests.Session() as session:
            started = time.perf_counter()
            for _ in range(10):
                call(session, "runs/search", {"experiment_ids": [experiment], "max_results": 100})
            page = (time.perf_counter() - started) / 10
    return {"single": runs, "page": page}


def prepare(slots: int, more_scopes: Sequence[str] = ()) -> None:
    """An empty database with one study of so many slots, and a key, which is printed."""
    import django

    django.setup()
    from django.contrib.auth import get_user_model
    from django.core.management import call_command

    from rlvram_site.api.keys import issue_key
    from rlvram_site.ledger.chain import record_all
    from studies.models import Configuration, SeedSlot, Study

    call_command("migrate", verbosity=0)
    study = Study(slug=SLUG, title="Benchmark", question="How fast?")
    study.save()
    texts = ("source_study", "model_family", "model_name", "model_id", "workload_id", "workload_name",
             "legacy_dataset_id", "algorithm", "adaptation", "configuration_level", "accelerator",
             "peak_measurement", "case_id")  # fmt: skip
    numbers = {
        field.name: 1
        for field in Configuration._meta.concrete_fields
        if field.get_internal_type() == "PositiveIntegerField" and not field.null
    }
    flags = dict.fromkeys(("parameter_offload", "optimizer_offload", "free_cache_engine"), False)
    configurations = [
        Configuration(
            study=study, configuration_id=f"c{index}", vllm_gpu_memory_utilization=0.5,
            **dict.fromkeys(texts, "x"), **{**numbers, "total_training_steps": 2}, **flags,
        )
        for index in range((slots + 2) // 3)
    ]  # fmt: skip
    record_all(configurations)
    record_all(
        SeedSlot(
            study=study, configuration=configurations[index // 3], seed=index % 3, position=index,
            experiment_id=f"slot-{index}",
        )
        for index in range(slots)
    )  # fmt: skip
    owner = get_user_model().objects.create_user("benchmark", is_staff=True)
    print(issue_key(name="benchmark", owner=owner, scopes=["read", "attempts", *more_scopes])[1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--mlflow", metavar="PYTHON", help="Python of an environment with MLflow")
    parser.add_argument("--postgres", metavar="URL", help="an empty PostgreSQL database")
    parser.add_argument("--clients", type=int, default=2)
    parser.add_argument("--single", type=int, default=400, help="attempts sent one by one")
    parser.add_argument("--batched", type=int, default=8000, help="attempts sent in batches")
    parser.add_argument("--batch", type=int, default=1000, help="attempts of one batch")
    parser.add_argument("--mlflow-runs", type=int, default=60)
    parser.add_argument("--prepare", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--scopes", nargs="*", default=[], help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.prepare:
        prepare(options.prepare, options.scopes)
        return
    folder = Path(tempfile.mkdtemp(prefix="ingest-"))
    try:
        mlflow = measure_mlflow(options.mlflow, options, folder) if options.mlflow else None
        if mlflow:
            print(
                f"MLflow on SQLite: {mlflow['single']:.1f} runs/s, "
                f"{mlflow['page'] * 1000:.0f} ms for 100 runs"
            )
        engines = {"SQLite": f"sqlite:///{folder}/site.sqlite3"}
        if options.postgres:
            engines["PostgreSQL"] = options.postgres
        for engine, url in engines.items():
            found = measure_site(url, options, folder)
            print(f"site on {engine}: page of 100 attempts in {found['page'] * 1000:.0f} ms")
            for kind, goal in GOALS.items():
                line = f"site on {engine}, {kind}: {found[kind]:.1f} attempts/s"
                if mlflow:
                    line += f", {found[kind] / mlflow['single']:.0f} times MLflow (goal: {goal})"
                print(line)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
