"""``rlvram-host``: runs planned slots on this machine and uploads what they leave behind.

Exit codes: 0 done; 1 the site or an order refused, or nothing could be launched; 2 wrong arguments; 3 the
site could not be reached.
"""

from __future__ import annotations

import argparse
import json
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

from host.devices import devices, driver_version
from host.errors import (
    AlreadyLaunched,
    BadInput,
    DeviceBusy,
    DeviceError,
    NotStarted,
    OrderError,
    Refused,
    Unreachable,
)
from host.options import add_manner, add_site, manner_of, web_of
from host.order import Order
from host.programs import Programs
from host.running import run_slot
from host.runs import end_leftovers
from host.sending import send_run, unsent
from host.site import SiteClient
from host.slurm import add_commands
from host.terminal import guard_terminal
from host.version import product_version
from host.worker import Host


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; returns its exit code."""
    guard_terminal()
    options = _arguments().parse_args(argv)
    # Asked to end, this process takes the run with it instead of leaving it unwatched.
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    try:
        return int(options.do(options))
    except (OrderError, BadInput) as error:
        print(f"rlvram-host: {error}", file=sys.stderr)
        return 2
    except (AlreadyLaunched, DeviceError, DeviceBusy, NotStarted, Refused) as error:
        print(f"rlvram-host: {error}", file=sys.stderr)
        return 1
    except Unreachable as error:
        print(f"rlvram-host: {error}; rlvram-host send tries again", file=sys.stderr)
        return 3


def _arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="rlvram-host", description=__doc__.partition("\n")[0] if __doc__ else "",
        epilog="The key stands in RLVRAM_KEY, or in a file of mode 600 that RLVRAM_KEY_FILE names.",
    )  # fmt: skip
    parser.add_argument("--version", action="version", version=f"%(prog)s {product_version()}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    show = commands.add_parser("devices", help="print this machine's devices as JSON")
    show.set_defaults(do=_devices)
    run = commands.add_parser("run", help="run one slot, whose order is a JSON file, and upload it")
    run.add_argument("order", type=Path, help="the order, a JSON file with its command")
    run.set_defaults(do=_run)
    serve = commands.add_parser("serve", help="register with the site and run the slots that it assigns")
    serve.add_argument("--name", required=True, help="how the site calls this host")
    serve.add_argument(
        "--programs", type=Path, required=True, help="JSON file of the programs that may run here"
    )
    serve.add_argument(
        "--at-a-time", type=int, default=1, metavar="N", help="slots at once, on devices of their own"
    )
    serve.add_argument(
        "--every", type=float, default=5.0, metavar="SECONDS", help="how often to ask for a job"
    )
    serve.add_argument("--once", action="store_true", help="end after one job")
    serve.set_defaults(do=_serve)
    send = commands.add_parser("send", help="upload runs that the site does not have yet")
    send.add_argument("--again", action="store_true", help="also those that were set aside")
    send.set_defaults(do=_send)
    for command in (run, serve):
        add_manner(command)
    for command in (run, serve, send):
        add_site(command)
    add_commands(commands)
    return parser


def _devices(options: argparse.Namespace) -> int:
    with devices() as found:
        rows = [
            {"uuid": item.uuid, "ordinal": item.ordinal, "name": item.name, "capacity_mib": item.capacity_mib,
             "used_mib": item.used_mib(), "mig": item.mig}
            for item in found
        ]  # fmt: skip
        print(json.dumps({"driver": driver_version(), "devices": rows}, indent=2))
    return 0


def _run(options: argparse.Namespace) -> int:
    web = web_of(options)
    try:
        sent = json.loads(options.order.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise BadInput(f"{options.order}: {error}") from error
    order = Order.from_json(sent)
    if not order.command:
        raise OrderError("command", "", "the words of the command")
    home = options.dir.resolve()
    end_leftovers(home)
    run = run_slot(order, order.command, home, manner_of(options))
    answer = send_run(run, web)
    told = ("invocation_id", "slot", "outcome", "diagnosis", "evidence_line", "peak_mib", "page")
    print(json.dumps({name: answer.get(name) for name in told}))
    return 0


def _serve(options: argparse.Namespace) -> int:
    web = web_of(options)
    if options.at_a_time < 1:
        raise BadInput(f"--at-a-time is {options.at_a_time}, expected at least 1")
    host = Host(
        SiteClient(web, options.name), options.dir.resolve(), Programs.read(options.programs),
        manner_of(options), options.at_a_time, options.every,
    )  # fmt: skip
    # The job at hand is finished first; a second request ends it.
    signal.signal(signal.SIGTERM, lambda number, frame: _stop(host, number))
    return host.serve(options.name, once=options.once)


def _stop(host: Host, number: int) -> None:
    if host.stopping.is_set():
        sys.exit(128 + number)
    host.stopping.set()


def _send(options: argparse.Namespace) -> int:
    web = web_of(options)
    home = options.dir.resolve()
    end_leftovers(home)
    sent, kept = 0, 0
    for run in unsent(home, again=options.again):
        try:
            send_run(run, web)
            sent += 1
        except (BadInput, Refused) as error:
            if not run.not_sent:
                raise
            kept += 1
            print(f"rlvram-host: {run.invocation} was set aside: {error}", file=sys.stderr)
    print(f"{sent} sent" + (f", {kept} set aside" if kept else ""))
    return 1 if kept else 0


if __name__ == "__main__":
    sys.exit(main())
