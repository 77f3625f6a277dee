"""``rlvram-host slurm``: planned slots as one sbatch array; each task claims, runs and uploads its slots.

The tasks share one folder, by which the launch ledger lets each slot run once whoever claims it, on whatever
node and however often the array is submitted.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from host.devices import need_library
from host.errors import BadInput, Refused, Unreachable
from host.keys import KEY_FILE
from host.kinds import SACCT_FIELDS
from host.launches import newest_token
from host.options import add_manner, add_site, manner_of, web_of
from host.order import Order
from host.programs import Programs
from host.running import Manner, run_slot
from host.runs import last_run
from host.sending import send_run
from host.web import Web
from host.worker import NOT_LAUNCHED

_JOB = re.compile(r"\d+")
STARTED_STATES = ("PENDING", "RUNNING", "COMPLETING", "CONFIGURING", "SUSPENDED", "REQUEUED")


def fetch_orders(web: Web, study: str, program: str) -> list[Order]:
    """The open slots of a study as orders, in the planned order."""
    path = f"studies/{study}/orders/"
    found = web.json("GET", f"{path}?program={program}" if program else path)
    return [Order.from_json(item, from_site=True) for item in found["orders"]]


def groups_of(orders: Sequence[Order]) -> list[list[Order]]:
    """What runs in one allocation: the slots of a pair together, any other alone; in the planned order."""
    groups: dict[str, list[Order]] = {}
    for order in orders:
        groups.setdefault(f"pair {order.pair}" if order.pair else f"slot {order.slot}", []).append(order)
    return list(groups.values())


def write_array(
    web: Web, study: str, orders: Sequence[Order], home: Path, *, programs: Path, options: Sequence[str] = (),
    at_most: int = 0, extra_seconds: float = 600, key_file: str = "",
) -> Path:  # fmt: skip
    """Write the orders of each array task and the script for ``sbatch``; returns the script's path.

    ``at_most`` tasks run at once (0: as many as the cluster gives). The time limit is that of the largest
    group with ``extra_seconds`` for start-up and upload; ``options`` are words for ``#SBATCH``. The tasks
    read the key from ``key_file``, or from the one that their environment names.
    """
    groups = groups_of(orders)
    if not groups:
        raise BadInput(f"{study} has no open slot")
    place = home / "arrays" / _next_name(home / "arrays")
    place.mkdir(parents=True)
    for number, group in enumerate(groups):
        (place / f"{number}.json").write_text(
            json.dumps([_as_json(order) for order in group], indent=1) + "\n"
        )
    seconds = max(sum(order.timeout_seconds for order in group) for group in groups) + extra_seconds
    devices = max(order.device_count for order in orders)
    cap = f"%{at_most}" if at_most else ""
    minutes = int(-(-seconds // 60))
    lines = [
        "#!/bin/bash",
        f"#SBATCH --job-name=rlvram-{study}",
        f"#SBATCH --array=0-{len(groups) - 1}{cap}",
        f"#SBATCH --gpus-per-node={devices}",
        "#SBATCH --nodes=1",
        f"#SBATCH --time={minutes}",
        f"#SBATCH --output={place}/%A_%a.out",
        # A task that ends is asked two minutes before, so that its samples are sent.
        "#SBATCH --signal=B:TERM@120",
        "#SBATCH --no-requeue",
        *(f"#SBATCH {option}" for option in options),
        "set -eu",
        "# The key stands in the file that RLVRAM_KEY_FILE names, mode 600, on shared storage.",
        *([f"export {KEY_FILE}={shlex.quote(key_file)}"] if key_file else []),
        " ".join(
            shlex.quote(word)
            for word in (
                "exec", sys.executable, "-m", "host.command", "slurm-task", str(place), "--url", web.url,
                "--dir", str(home), "--programs", str(programs),
            )
        ),
    ]  # fmt: skip
    script = place / "array.sh"
    script.write_text("\n".join(lines) + "\n")
    script.chmod(0o700)
    return script


def submit(script: Path) -> str:
    """Hand the script to Slurm; returns the array's job id, which is kept beside it.

    Raises ``BadInput``: there is no ``sbatch``, or it refuses.
    """
    sbatch = shutil.which("sbatch")
    if not sbatch:
        raise BadInput("there is no sbatch here, expected a machine from which jobs are submitted")
    done = subprocess.run(  # noqa: S603 - the scheduler's own program
        [sbatch, "--parsable", str(script)], capture_output=True, text=True, check=False
    )
    found = _JOB.match(done.stdout.strip())
    if done.returncode or not found:
        raise BadInput(f"sbatch: {(done.stderr or done.stdout).strip()[:500]}")
    (script.parent / "job").write_text(found[0] + "\n")
    return found[0]


def run_task(place: Path, number: int, home: Path, web: Web, programs: Programs, manner: Manner) -> int:
    """Run the slots of one array task in their order. Returns 0, or 1 if one was not launched or not sent."""
    code = 0
    for sent in json.loads((place / f"{number}.json").read_text()):
        order = Order.from_json(sent, from_site=True)
        try:
            run = run_slot(order, programs.command(order), home, manner)
            answer = send_run(run, web)
            print(f"{order.slot}: {answer.get('outcome')}", flush=True)
        except NOT_LAUNCHED as error:
            print(f"{order.slot}: not launched: {error}", flush=True)
            code = 1
        except (BadInput, Refused, Unreachable) as error:
            print(f"{order.slot}: ran, and is not uploaded yet: {error}", flush=True)
            code = 1
    return code


def report(place: Path, home: Path) -> list[dict[str, Any]]:
    """What became of each slot of an array: launched, ended, recorded, and the scheduler's own word."""
    states = _states(place)
    rows = []
    for number, group in enumerate(sorted(place.glob("[0-9]*.json"), key=lambda path: int(path.stem))):
        state, reason = states.get(number, ("", ""))
        for sent in json.loads(group.read_text()):
            run = last_run(home, sent["study"], sent["slot"])
            launched = bool(newest_token(home, sent["study"], sent["slot"]))
            row: dict[str, Any] = {
                "slot": sent["slot"],
                "task": number,
                "scheduler": state,
                "launched": launched,
            }
            if run is not None:
                row |= {name: run.result()[name] for name in ("invocation", "ended", "recorded")}
            if not launched:
                waits = not state or state in STARTED_STATES
                row["problem"] = (
                    "waits" if waits else f"never launched: {state}{f' ({reason})' if reason else ''}"
                )
            rows.append(row)
    return rows


def record(web: Web, place: Path, rows: Sequence[dict[str, Any]]) -> None:
    """Tell the site which slots were never launched; what it answers goes into their rows.

    Raises ``Unreachable``. A slot that was launched elsewhere after all stays as the site has it.
    """
    job = (place / "job").read_text().strip() if (place / "job").exists() else ""
    studies = {
        sent["slot"]: sent["study"]
        for group in place.glob("[0-9]*.json")
        for sent in json.loads(group.read_text())
    }
    for row in rows:
        if not is_never_launched(row):
            continue
        sent = {
            "slot": row["slot"], "diagnosis": "not_started", "reason": row["problem"][:500],
            "facts": {"job_id": job, "task": row["task"], "scheduler_state": row["scheduler"]},
        }  # fmt: skip
        try:
            web.json("POST", f"studies/{studies[row['slot']]}/non-launches/", {"non_launches": [sent]})
            row["recorded"] = True
        except Refused as error:
            row |= {"recorded": False, "refused": str(error)}


def is_never_launched(row: dict[str, Any]) -> bool:
    """Whether the scheduler has ended the task of a slot that was never launched."""
    return not row["launched"] and bool(row["scheduler"]) and row["scheduler"] not in STARTED_STATES


def _states(place: Path) -> dict[int, tuple[str, str]]:
    """State and reason of each array task, from ``sacct``."""
    job, sacct = place / "job", shutil.which("sacct")
    if not job.exists() or not sacct:
        return {}
    number = job.read_text().strip()
    done = subprocess.run(  # noqa: S603 - the scheduler's own program with a job's number
        [sacct, "-P", "-n", "-X", "-j", number, f"--format={','.join(SACCT_FIELDS)}"],
        capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    found: dict[int, tuple[str, str]] = {}
    for line in done.stdout.splitlines():
        cells = dict(zip(SACCT_FIELDS, line.split("|"), strict=False))
        for task in _tasks(cells["JobID"].partition("_")[2]):
            found[task] = (cells.get("State", "").split(" ")[0], cells.get("Reason", "").replace("None", ""))
    return found


def _tasks(text: str) -> list[int]:
    """The tasks of ``3`` or of what still waits together: ``[4-7,9%2]``."""
    tasks: list[int] = []
    for part in text.strip("[]").partition("%")[0].split(","):
        first, _, last = part.partition("-")
        if first.isdecimal():
            tasks += range(int(first), int(last if last.isdecimal() else first) + 1)
    return tasks


def _as_json(order: Order) -> dict[str, Any]:
    return {name: list(value) if isinstance(value, tuple) else value for name, value in vars(order).items()}


def _next_name(folder: Path) -> str:
    taken = [int(path.name) for path in folder.glob("[0-9]*")] if folder.is_dir() else []
    return f"{max(taken, default=0) + 1:04}"


def add_commands(commands: Any) -> None:
    """Commands of ``rlvram-host``: write and submit an array, run a task, tell and record what came of it."""
    write = commands.add_parser("slurm", help="write an sbatch array for a study's open slots, and submit it")
    write.add_argument("study", help="slug of the study")
    write.add_argument("--program", default="", help="which of --programs runs, if the protocol does not say")
    write.add_argument("--limit", type=int, default=0, metavar="N", help="only the first N open slots")
    write.add_argument("--at-most", type=int, default=0, metavar="N", help="tasks at once")
    write.add_argument(
        "--sbatch",
        action="append",
        default=[],
        metavar="OPTION",
        help="a further line, for example --partition=gpu",
    )
    write.add_argument(
        "--submit", action="store_true", help="hand it to sbatch; without, only its path is printed"
    )
    write.set_defaults(do=_write)
    task = commands.add_parser("slurm-task", help="run one task of such an array (its script calls this)")
    task.add_argument("place", type=Path, metavar="FOLDER")
    task.set_defaults(do=_task)
    add_manner(task)
    told = commands.add_parser("slurm-report", help="what became of the slots of an array, as JSON lines")
    told.add_argument("place", type=Path, metavar="FOLDER")
    told.add_argument("--dir", type=Path, default=Path("rlvram-host"), help="the shared folder")
    told.set_defaults(do=_report)
    never = commands.add_parser(
        "slurm-record", help="the same, and record at the site which slots were never launched"
    )
    never.add_argument("place", type=Path, metavar="FOLDER")
    never.set_defaults(do=_record)
    for parser in (write, task, never):
        add_site(parser)
    for parser in (write, task):
        parser.add_argument(
            "--programs", type=Path, required=True, help="JSON file of the programs that may run"
        )


def _write(options: argparse.Namespace) -> int:
    programs = Programs.read(options.programs)
    key_file = os.environ.get(KEY_FILE, "")  # the next line takes it out of the environment
    web = web_of(options)
    if options.submit and not key_file:
        raise BadInput(f"{KEY_FILE} is not set, expected the key's file on storage that the nodes share")
    orders = fetch_orders(web, options.study, options.program)[: options.limit or None]
    for order in orders:
        programs.command(order)  # refused here rather than in every task
    script = write_array(
        web, options.study, orders, options.dir.resolve(), programs=options.programs.resolve(),
        options=options.sbatch, at_most=options.at_most,
        key_file=str(Path(key_file).resolve()) if key_file else "",
    )  # fmt: skip
    print(script)
    if options.submit:
        print(f"submitted as {submit(script)}")
    return 0


def _task(options: argparse.Namespace) -> int:
    number = os.environ.get("SLURM_ARRAY_TASK_ID", "")
    if not number.isdecimal():
        raise BadInput("SLURM_ARRAY_TASK_ID is not set, expected to be called by an array's script")
    need_library()
    home = options.dir.resolve()
    programs = Programs.read(options.programs)
    return run_task(options.place, int(number), home, web_of(options), programs, manner_of(options))


def _report(options: argparse.Namespace) -> int:
    for row in report(options.place, options.dir.resolve()):
        print(json.dumps(row))
    return 0


def _record(options: argparse.Namespace) -> int:
    rows = report(options.place, options.dir.resolve())
    record(web_of(options), options.place, rows)
    for row in rows:
        print(json.dumps(row))
    return 1 if any("refused" in row for row in rows) else 0
