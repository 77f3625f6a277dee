"""Arguments that several commands of ``rlvram-host`` share, and what they mean."""

from __future__ import annotations

import argparse
import pwd
from pathlib import Path

from host.errors import BadInput
from host.pool import DevicePool
from host.running import Manner
from host.secrecy import key_of_this_process
from host.web import RETRIES, Web, on_stderr


def add_site(parser: argparse.ArgumentParser) -> None:
    """Where to upload, and where the ledger and the runs are."""
    parser.add_argument("--url", required=True, help="the site, for example https://studies.example.org")
    parser.add_argument(
        "--dir", type=Path, default=Path("rlvram-host"), help="launch ledger and run directories"
    )
    parser.add_argument(
        "--retries", type=int, default=RETRIES, help="how often to try while the site does not answer"
    )


def add_manner(parser: argparse.ArgumentParser) -> None:
    """How programs run here."""
    parser.add_argument("--devices", default="", metavar="UUID,…", help="use only these devices")
    parser.add_argument(
        "--wait-idle", type=float, default=600.0, metavar="SECONDS",
        help="how long a slot waits for devices that are in use (default %(default)g)",
    )  # fmt: skip
    parser.add_argument(
        "--visible-devices", choices=("uuid", "ordinal"), default="uuid",
        help="what CUDA_VISIBLE_DEVICES holds; some engines break on UUIDs",
    )  # fmt: skip
    parser.add_argument("--run-as", default="", metavar="USER", help="run programs as this user; needs root")


def manner_of(options: argparse.Namespace) -> Manner:
    """How programs run here, from ``add_manner``'s arguments. Raises ``BadInput`` for an unknown user."""
    if options.run_as:
        try:
            pwd.getpwnam(options.run_as)
        except KeyError:
            raise BadInput(f"--run-as is {options.run_as!r}, expected a user of this machine") from None
    only = [uuid for uuid in options.devices.split(",") if uuid]
    return Manner(DevicePool(only, options.wait_idle), options.visible_devices == "ordinal", options.run_as)


def web_of(options: argparse.Namespace) -> Web:
    """The site, with the key of this process, which nothing of it shows from then on."""
    return Web(
        options.url, key_of_this_process(), retries=options.retries,
        tell=lambda text: on_stderr(f"rlvram-host: {text}"),
    )  # fmt: skip
