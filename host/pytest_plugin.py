"""``pytest --rlvram-upload DIR``: what the tests of a training left in a folder becomes one invocation.

Off unless asked for. The session's exit status, its start and its end go along, and how many tests passed and
failed. A session whose upload fails ends with the exit code of ``rlvram-upload``, unless it failed already.
"""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("rlvram", "posting the run to a site of memory studies")
    group.addoption(
        "--rlvram-upload", metavar="DIR", help="upload this folder as one invocation when all has run"
    )
    for name, text in (
        ("url", "the site"), ("study", "slug of the study"), ("invocation", "identifies the run for good"),
        ("slot", "the planned slot; without one the run is unplanned"), ("commit", "the commit that ran"),
        ("repository", "where the commit is"), ("pull-request", "the pull request it belongs to"),
    ):  # fmt: skip
        group.addoption(f"--rlvram-{name}", metavar=name.upper(), help=text)


def pytest_configure(config: pytest.Config) -> None:
    if not config.getoption("--rlvram-upload"):
        return
    missing = [name for name in ("url", "study", "invocation") if not config.getoption(f"--rlvram-{name}")]
    if missing:
        raise pytest.UsageError(f"--rlvram-upload needs --rlvram-{missing[0]}, too")
    config.pluginmanager.register(_Poster(config), "rlvram-poster")


class _Poster:
    """Counts what the tests did, and uploads at the end."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._started = dt.datetime.now(dt.timezone.utc)  # noqa: UP017 - Python 3.10 has no dt.UTC
        self._counts = {"passed": 0, "failed": 0, "skipped": 0}
        self._said = ""

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "call" or report.failed or (report.when == "setup" and report.skipped):
            self._counts[report.outcome] += 1

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        from host.errors import BadInput, Refused, Unreachable
        from host.uploading import upload_run

        option = self._config.getoption
        record: dict[str, Any] = {
            "started_at": self._started.isoformat(),
            "ended_at": dt.datetime.now(dt.timezone.utc).isoformat(),  # noqa: UP017
            "facts": {"pytest": self._counts},
        }
        for field, name in (("execution_commit", "commit"), ("repository", "repository")):
            if option(f"--rlvram-{name}"):
                record[field] = option(f"--rlvram-{name}")
        if option("--rlvram-pull-request"):
            record["pull_request"] = int(option("--rlvram-pull-request"))
        try:
            answer = upload_run(
                Path(option("--rlvram-upload")), url=option("--rlvram-url"), study=option("--rlvram-study"),
                invocation=option("--rlvram-invocation"), slot=option("--rlvram-slot"),
                exit_code=int(exitstatus), record=record,
            )  # fmt: skip
        except (BadInput, Refused, Unreachable) as error:
            self._said = f"not uploaded: {error}"
            code = 2 if isinstance(error, BadInput) else 1 if isinstance(error, Refused) else 3
            session.exitstatus = session.exitstatus or code
        else:
            self._said = f"{answer['status']}: {answer['outcome']}, {answer['page']}"

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        from host.terminal import escaped

        terminalreporter.write_line(escaped(f"rlvram-upload: {self._said}"))
