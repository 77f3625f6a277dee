"""Who may import whom: a forbidden import makes ``lint-imports`` fail and is named."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.site.prepared import shell_environment

FILES = (
    "studies/estimation/labels.py", "studies/evidence/outcome.py", "studies/transfer/suite.py",
    "studies/archive/bundle.py", "studies/models/plan.py", "studies/services/outcomes.py",
    "studies/services/plan.py", "studies/views/costs.py", "studies/api/urls.py", "studies/jobs/claims.py",
    "studies/management/verify.py", "studies/admin.py", "studies/admin_forms.py", "studies/figures.py",
    "studies/tasks.py", "studies/text.py", "studies/urls.py",
    "admission/estimator/pricing.py", "admission/thread/reading.py", "admission/models.py",
    "admission/services.py", "admission/views.py", "admission/api.py", "admission/forms.py",
    "admission/figures.py", "admission/management.py", "admission/admin.py", "admission/urls.py",
    "studies/checkpoints/counts.py", "studies/directory/reading.py", "operating/state.py",
    "notices/sending.py", "search/finding.py",
    "rlvram_site/access.py", "rlvram_site/strict_json.py", "host/running.py",
)  # fmt: skip

ALLOWED = {
    "studies/views/costs.py": "from studies.services import outcomes",
    "studies/services/outcomes.py": "from studies.estimation import labels\nfrom studies.models import plan",
    "host/running.py": "import json",
}


@pytest.fixture
def tree(tmp_path) -> Path:
    """A tiny project with this one's rooms and contracts, in which everything is allowed."""
    (tmp_path / "pyproject.toml").write_text((ROOT / "pyproject.toml").read_text())
    for name in FILES:
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        for folder in file.relative_to(tmp_path).parents[:-1]:
            (tmp_path / folder / "__init__.py").touch()
        file.write_text(ALLOWED.get(name, ""))
    return tmp_path


def lint(tree: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [
            sys.executable,
            "-c",
            "from importlinter.cli import lint_imports_command as lint; lint()",
            "--no-cache",
        ],
        cwd=tree,
        env=shell_environment(PYTHONPATH=str(tree)),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )


def test_what_is_allowed_passes(tree):
    done = lint(tree)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("file", "line", "said"),
    [
        (
            "studies/estimation/labels.py",
            "import django",
            "studies.estimation is not allowed to import django",
        ),
        ("studies/evidence/outcome.py", "from studies.models import plan", "studies.evidence is not allowed"),
        ("admission/thread/reading.py", "from rlvram_site import access", "admission.thread is not allowed"),
        ("admission/estimator/pricing.py", "import rest_framework", "admission.estimator is not allowed"),
        ("host/running.py", "from studies.evidence import outcome", "host is not allowed to import studies"),
        ("studies/archive/bundle.py", "from studies.services import plan", "studies.archive is not allowed"),
        ("studies/models/plan.py", "from studies.services import plan", "studies.models is not allowed"),
        ("studies/services/plan.py", "from studies.views import costs", "studies.services is not allowed"),
        ("studies/services/plan.py", "from studies.jobs import claims", "studies.services is not allowed"),
        ("studies/views/costs.py", "from studies.api import urls", "studies.views is not allowed"),
        ("admission/models.py", "from admission import services", "admission.models is not allowed"),
    ],
)
def test_a_forbidden_import_is_named(tree, file, line, said):
    (tree / file).write_text(line + "\n")
    done = lint(tree)
    assert done.returncode == 1, done.stdout + done.stderr
    assert said in " ".join(done.stdout.split())


def test_two_parts_that_import_each_other_are_named(tree):
    (tree / "studies/services/plan.py").write_text("from studies.services import outcomes\n")
    (tree / "studies/services/outcomes.py").write_text("from studies.services import plan\n")
    done = lint(tree)
    assert done.returncode == 1
    assert "No cycles are allowed in studies.services" in done.stdout
