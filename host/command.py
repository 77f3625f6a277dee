"""``rlvram-host``: runs planned slots on this machine and uploads what they leave behind.

Exit codes: 0 done; 1 the site or an order refused; 2 wrong arguments; 3 the site could not be reached.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

from host.devices import devices, driver_version
from host.errors import AlreadyLaunched, DeviceError, OrderError
from host.order import Order
from host.running import run_slot
from host.sending import send_run, unsent
from host.site import SiteClient
from host.upload import BadInput, Refused, Unreachable
from host.version import product_version


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; returns its exit code."""
    options = _arguments().parse_args(argv)
    # Asked to end, this process takes the run with it instead of leaving it unwatched.
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    try:
        return int(options.do(options))
    except (OrderError, BadInput) as error:
        print(f"rlvram-host: {error}", file=sys.stderr)
        return 2
    except (AlreadyLaunched, DeviceError, Refused) as error:
        print(f"rlvram-host: {error}", file=sys.stderr)
        return 1
    except Unreachable as error:
        print(f"rlvram-host: {error}; rlvram-host send tries again", file=sys.stderr)
        return 3


def _arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="rlvram-host", description=__doc__.partition("\n")[0] if __doc__ else ""
    )
    parser.add_argument("--version", action="version", version=f"%(prog)s {product_version()}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    show = commands.add_parser("devices", help="print this machine's devices as JSON")
    show.set_defaults(do=_devices)
    run = commands.add_parser("run", help="run one slot, whose order is a JSON file, and upload it")
    run.add_argument("order", type=Path, help="the order, a JSON file")
    serve = commands.add_parser("serve", help="register with the site and run the slots that it assigns")
    serve.add_argument("--name", required=True, help="how the site calls this host")
    serve.add_argument(
        "--broker", required=True, help="redis://…, or the folder of an embedded site's broker"
    )
    send = commands.add_parser("send", help="upload runs that the site does not have yet")
    for command, do in ((run, _run), (serve, _serve), (send, _send)):
        command.add_argument("--url", required=True, help="the site, for example https://studies.example.org")
        command.add_argument(
            "--dir", type=Path, default=Path("rlvram-host"), help="launch ledger and run directories"
        )
        command.set_defaults(do=do)
    return parser


def _key() -> str:
    key = os.environ.get("RLVRAM_KEY", "")
    if not key:
        raise BadInput("no key: set RLVRAM_KEY")
    return key


def _devices(options: argparse.Namespace) -> int:
    with devices() as found:
        rows = [
            {"uuid": item.uuid, "ordinal": item.ordinal, "name": item.name, "capacity_mib": item.capacity_mib,
             "used_mib": item.used_mib()}
            for item in found
        ]  # fmt: skip
        print(json.dumps({"driver": driver_version(), "devices": rows}, indent=2))
    return 0


def _run(options: argparse.Namespace) -> int:
    key = _key()
    try:
        sent = json.loads(options.order.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise BadInput(f"{options.order}: {error}") from error
    run = run_slot(Order.from_json(sent), options.dir.resolve())
    answer = send_run(run.folder, options.url, key)
    told = ("invocation_id", "slot", "outcome", "diagnosis", "evidence_line", "peak_mib")
    print(json.dumps({name: answer.get(name) for name in told}))
    return 0


def _serve(options: argparse.Namespace) -> int:
    from host.worker import serve  # only this command needs Celery

    key = _key()
    site = SiteClient(options.url, key, options.name)
    return serve(options.name, options.broker, options.dir.resolve(), site, key)


def _send(options: argparse.Namespace) -> int:
    key = _key()
    number = 0
    for folder in unsent(options.dir.resolve()):
        send_run(folder, options.url, key)
        number += 1
    print(f"{number} sent")
    return 0


if __name__ == "__main__":
    sys.exit(main())
