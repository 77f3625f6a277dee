"""``rlvram-upload``: collects what an invocation left behind and uploads it, from a GPU host or a CI job.

The files go first, by their sha256, so that an interrupted upload goes on where it ended; the record goes
last, so that the study sees the invocation whole or not at all. Sending again is harmless.

Exit codes: 0 recorded, now or before; 1 the site refused, with its reason; 2 wrong arguments or files; 3 the
site could not be reached; with --fail-on also 10 memory failure, 11 above the margin, 12 unresolved,
13 regression.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from host.errors import BadInput, Refused, Unreachable
from host.gather import MAX_MIB, gather
from host.keys import read_key
from host.terminal import guard_terminal
from host.uploading import send
from host.version import product_version
from host.web import RETRIES, Web, on_stderr, site_address

FAIL_ON = {"memory_failure": 10, "above_margin": 11, "unresolved": 12, "regression": 13}
"""Exit code of each finding, the gravest first."""

SHOWN = (
    "invocation_id", "status", "slot", "outcome", "diagnosis", "evidence_line", "peak_mib", "not_read",
    "page",
)  # fmt: skip
NAME = "{name}"


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; returns its exit code."""
    guard_terminal()
    options = _arguments().parse_args(argv)
    try:
        return _run(options)
    except BadInput as error:
        on_stderr(f"rlvram-upload: {error}")
        return 2
    except KeyboardInterrupt:
        on_stderr("rlvram-upload: interrupted; run it again to go on")
        return 130


def _arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="rlvram-upload",
        description="Upload what an invocation left behind: a run directory or single files.",
        epilog="The key stands in RLVRAM_KEY, or in a file of mode 600 that RLVRAM_KEY_FILE names.",
    )
    parser.add_argument("--version", action="version", version=f"%(prog)s {product_version()}")
    parser.add_argument("paths", nargs="+", type=Path, metavar="PATH", help="a run directory, or files")
    parser.add_argument("--url", required=True, help="the site, for example https://studies.example.org")
    parser.add_argument("--study", required=True, help="slug of the study")
    parser.add_argument("--invocation", metavar="ID", help="identifies the invocation for good")
    parser.add_argument(
        "--each", action="store_true",
        help="each PATH is the run directory of its own invocation; {name} in --invocation and --slot is "
        "its folder's name, and a record.json in it is its record",
    )  # fmt: skip
    parser.add_argument("--slot", help="the planned slot (experiment_id)")
    parser.add_argument(
        "--unplanned", action="store_true", help="record it although nobody planned that slot"
    )
    parser.add_argument("--exit-code", type=int, metavar="N")
    parser.add_argument("--signal", type=int, metavar="N")
    parser.add_argument("--commit", metavar="SHA", help="the commit that ran")
    parser.add_argument("--repository", metavar="URL", help="where the commit is, https://HOST/OWNER/NAME")
    parser.add_argument(
        "--pull-request", type=int, metavar="N", help="the pull or merge request it belongs to"
    )
    parser.add_argument("--supersedes", metavar="ID", help="the wrong entry that this one corrects")
    parser.add_argument("--reason", metavar="TEXT", help="what is wrong with the superseded entry")
    parser.add_argument("--record", type=Path, metavar="FILE", help="JSON with further fields of the record")
    parser.add_argument("--private", action="store_true", help="send only hashes of the files")
    parser.add_argument("--key-file", type=Path, metavar="FILE", help="holds the API key, mode 600")
    parser.add_argument(
        "--max-mib",
        type=float,
        default=MAX_MIB,
        help="of a larger log only its end is sent (default %(default)g)",
    )
    parser.add_argument(
        "--retries", type=int, default=RETRIES, metavar="N",
        help="how often to try again while the site does not answer (default %(default)s, about 7 minutes)",
    )  # fmt: skip
    parser.add_argument(
        "--fail-on", action="append", default=[], choices=FAIL_ON, metavar="WHAT",
        help=f"exit with a code for {', '.join(f'{n} ({c})' for n, c in FAIL_ON.items())}; repeatable",
    )  # fmt: skip
    parser.add_argument(
        "--dry-run", action="store_true", help="print what would go and what not; send nothing"
    )
    parser.add_argument("--quiet", action="store_true", help="no progress bar")
    return parser


def _run(options: argparse.Namespace) -> int:
    site_address(options.url)
    runs = _runs(options)
    if options.dry_run:
        for record, paths in runs:
            print(f"{record['invocation_id']}:")
            for line in gather(paths, options.max_mib).lines():
                print(f"  {line}")
        return 0
    web = Web(
        options.url, read_key(options.key_file), retries=options.retries,
        tell=lambda text: on_stderr(f"rlvram-upload: {text}"),
    )  # fmt: skip
    codes = []
    for record, paths in runs:
        code = _one(web, options, record, paths)
        codes.append(code)
        if code == 3:
            break  # whoever does not answer now does not answer for the next one either
    if options.each:
        done = sum(code not in (1, 2, 3) for code in codes)
        on_stderr(f"rlvram-upload: {done} of {len(runs)} runs are recorded; the same command again goes on")
    return max(codes, key=_gravity)


def _gravity(code: int) -> int:
    """What stopped an upload goes before what an upload showed."""
    return {0: 0, 13: 1, 12: 2, 11: 3, 10: 4, 1: 5, 2: 6, 3: 7}[code]


def _runs(options: argparse.Namespace) -> list[tuple[dict[str, Any], list[Path]]]:
    """The record and the paths of each invocation. Raises ``BadInput``."""
    if not options.each:
        if not options.invocation:
            raise BadInput("no --invocation, expected the id of this invocation (or --each)")
        if not options.slot and not options.unplanned:
            on_stderr("rlvram-upload: no --slot was given, so this invocation counts nowhere")
        return [(_record(options, options.record, options.invocation, options.slot), options.paths)]
    runs = []
    for path in options.paths:
        if not path.is_dir():
            raise BadInput(f"{path}: expected a run directory, because of --each")
        name = path.resolve().name
        own = path / "record.json"
        record = _record(
            options, own if own.is_file() and not own.is_symlink() else options.record,
            (options.invocation or NAME).replace(NAME, name),
            options.slot and options.slot.replace(NAME, name),
        )  # fmt: skip
        runs.append((record, [path]))
    ids = [record["invocation_id"] for record, _ in runs]
    if twice := sorted({name for name in ids if ids.count(name) > 1}):
        raise BadInput(
            f"two runs would be called {twice[0]}, expected {NAME} in --invocation, or other folders"
        )
    return runs


def _record(
    options: argparse.Namespace, file: Path | None, invocation: str, slot: str | None
) -> dict[str, Any]:
    record: dict[str, Any] = {}
    if file:
        try:
            record = json.loads(file.read_text(encoding="utf-8"))
        except (OSError, ValueError, RecursionError) as error:
            raise BadInput(f"--record {file}: {error}") from error
        if not isinstance(record, dict):
            raise BadInput(f"--record {file}: expected a JSON object")
    record["invocation_id"] = invocation
    given = {
        "slot": slot, "unplanned": options.unplanned or None, "exit_code": options.exit_code,
        "signal": options.signal, "supersedes": options.supersedes, "supersedes_reason": options.reason,
        "execution_commit": options.commit, "repository": options.repository,
        "pull_request": options.pull_request,
    }  # fmt: skip
    return record | {name: value for name, value in given.items() if value is not None}


def _one(web: Web, options: argparse.Namespace, record: dict[str, Any], paths: list[Path]) -> int:
    def tell(text: str) -> None:
        on_stderr(
            f"rlvram-upload: {record['invocation_id']}: {text}" if options.each else f"rlvram-upload: {text}"
        )

    try:
        gathered = gather(paths, options.max_mib)
        for line in gathered.warnings():
            tell(line)
        answer = send(web, options.study, record, gathered, private=options.private, quiet=options.quiet)
        told = {name: answer.get(name) for name in SHOWN}
        code = 0
        if options.fail_on:
            verdict = web.json(
                "GET", f"studies/{options.study}/attempts/by-id/{record['invocation_id']}/verdict/"
            )
            told["verdict"] = verdict
            found = [name for name in FAIL_ON if name in options.fail_on and name in verdict["findings"]]
            if found:
                code = FAIL_ON[found[0]]
                tell(f"{found[0]}: {verdict['sentence']}")
    except BadInput as error:
        tell(str(error))
        return 2
    except Refused as error:
        tell(f"refused: {error}")
        return 1
    except Unreachable as error:
        tell(str(error))
        return 3
    print(json.dumps(told), flush=True)
    return code


if __name__ == "__main__":
    sys.exit(main())
