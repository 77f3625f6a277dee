"""The ready files of the documentation, parsed and run; pytest's option; the package alone."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import venv
from pathlib import Path

import pytest
import yaml

from host.command import _arguments
from studies.models import Attempt
from tests.conftest import ROOT
from tests.upload.conftest import slot

READY = ROOT / "docs" / "ready"
COMMIT = "0123abcd" * 5


@pytest.fixture
def workplace(site, key, run_directory, tmp_path):
    """A checkout with a run, and the variables that a CI service would set; the uploader is on the path."""
    tools = tmp_path / "tools"
    tools.mkdir()
    (tools / "rlvram-upload").write_text(f'#!/bin/sh\nexec {sys.executable} -m host.upload "$@"\n')
    (tools / "sacct").write_text(
        "#!/bin/sh\necho '7|7|train|COMPLETED|0:0|2026-09-15T10:00:00|2026-09-15T10:05:00|300||n1|None'\n"
    )
    for tool in tools.iterdir():
        tool.chmod(0o755)
    environment = {
        **os.environ, "PATH": f"{tools}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT), "RLVRAM_KEY": key,
        "RLVRAM_URL": site.url, "RLVRAM_STUDY": "demo", "RLVRAM_SLOT": slot(),
    }  # fmt: skip

    def run(script: str, **variables: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["bash", "-euc", script], cwd=run_directory.parent, env={**environment, **variables},
            capture_output=True, text=True, check=False,
        )  # fmt: skip

    return run


def test_github_actions(workplace):
    (job,) = yaml.safe_load((READY / "github-actions.yml").read_text())["jobs"].values()
    (step,) = [step for step in job["steps"] if step.get("name") == "Upload"]
    assert set(step["env"]) == {"RLVRAM_KEY", "RLVRAM_URL", "RLVRAM_STUDY", "RLVRAM_SLOT", "PULL_REQUEST"}
    done = workplace(
        step["run"], GITHUB_RUN_ID="1", GITHUB_RUN_ATTEMPT="2", GITHUB_SHA=COMMIT, PULL_REQUEST="5",
        GITHUB_SERVER_URL="https://github.com", GITHUB_REPOSITORY="o/n",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    attempt = Attempt.objects.get()
    assert (attempt.invocation_id, attempt.execution_commit) == ("gha-1-2", COMMIT)
    assert attempt.facts == {"repository": "https://github.com/o/n", "pull_request": 5}


def test_gitlab_ci(workplace):
    job = yaml.safe_load((READY / "gitlab-ci.yml").read_text())["memory"]
    done = workplace(
        job["after_script"][1], CI_JOB_ID="77", CI_COMMIT_SHA=COMMIT, CI_PROJECT_URL="https://gitlab.com/o/n"
    )
    assert done.returncode == 0, done.stderr
    assert Attempt.objects.get().facts == {"repository": "https://gitlab.com/o/n"}


def test_slurm_epilog(workplace):
    done = workplace(
        f'source {READY / "slurm-epilog.sh"} run "$RLVRAM_SLOT" 0',
        SLURM_JOB_ID="7", SLURM_ARRAY_JOB_ID="7", SLURM_ARRAY_TASK_ID="3",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    attempt = Attempt.objects.get()
    assert (attempt.invocation_id, attempt.outcome) == ("slurm-7-3", "completed")
    assert "scheduler" in attempt.files.values_list("kind", flat=True)
    # A site that is away does not fail the job.
    away = workplace(f"source {READY / 'slurm-epilog.sh'} run s 0", SLURM_JOB_ID="8", RLVRAM_URL="nonsense")
    assert (away.returncode, "expected https://HOST" in away.stderr) == (0, True)


def test_kubernetes_job():
    document = yaml.safe_load((READY / "kubernetes-job.yaml").read_text())
    assert (document["apiVersion"], document["kind"]) == ("batch/v1", "Job")
    pod = document["spec"]["template"]["spec"]
    assert pod["restartPolicy"] == "Never"
    (container,) = pod["containers"]
    assert container["command"][0] == "rlvram-host"
    options = _arguments().parse_args(container["command"][1:])
    assert options.once
    mounted = {mount["name"]: mount["mountPath"] for mount in container["volumeMounts"]}
    assert set(mounted) == {volume["name"] for volume in pod["volumes"]}
    assert str(options.programs).startswith(mounted["programs"])
    assert str(options.dir) == mounted["ledger"]
    assert container["env"][0]["value"].startswith(mounted["key"])
    assert not any("KEY" in word for word in container["command"])


def test_pytest_posts_its_run(workplace, tmp_path):
    (tmp_path / "test_training.py").write_text("def test_it_fits(): pass\ndef test_it_is_quick(): assert 0\n")
    options = (
        "python -m pytest -q -p no:cacheprovider -p host.pytest_plugin --rootdir . -c /dev/null "
        "test_training.py "
        '--rlvram-upload run --rlvram-url "$RLVRAM_URL" --rlvram-study demo --rlvram-slot "$RLVRAM_SLOT"'
    ).replace("python", sys.executable, 1)
    # Named by hand here: installed, pytest finds the plugin under another name, too.
    options = f"export PYTEST_DISABLE_PLUGIN_AUTOLOAD=1; {options}"
    lacking = workplace(options)
    assert (lacking.returncode, "needs --rlvram-invocation" in lacking.stderr) == (4, True)
    done = workplace(f"{options} --rlvram-invocation run-1")
    assert done.returncode == 1, done.stdout
    attempt = Attempt.objects.get()
    assert f"/studies/demo/attempts/{attempt.invocation_id}/" in done.stdout
    assert attempt.facts["pytest"] == {"passed": 1, "failed": 1, "skipped": 0}
    assert (attempt.exit_code, attempt.started_at < attempt.ended_at) == (1, True)
    wrong = workplace(f"{options} --rlvram-invocation 'run 1' -k fits")
    assert (wrong.returncode, "not uploaded: 400" in wrong.stdout) == (1, True)


def test_the_host_package_needs_nothing_of_the_site(tmp_path):
    """Copied alone, with only its own dependencies importable, every module of it imports."""
    venv.create(tmp_path / "alone", with_pip=False)
    python = tmp_path / "alone" / "bin" / "python"
    packages = next((tmp_path / "alone" / "lib").glob("python*/site-packages"))
    shutil.copytree(ROOT / "host", packages / "host")
    import certifi
    import charset_normalizer
    import idna
    import psutil
    import pynvml
    import requests
    import urllib3

    for module in (certifi, charset_normalizer, idna, psutil, requests, urllib3):
        folder = Path(module.__file__).parent
        (packages / folder.name).symlink_to(folder)
    (packages / "pynvml.py").symlink_to(pynvml.__file__)
    names = sorted(path.stem for path in (ROOT / "host").glob("*.py") if path.stem != "pytest_plugin")
    code = "; ".join(f"import host.{name}" for name in names if name != "__init__")
    done = subprocess.run(
        [python, "-I", "-c", code], capture_output=True, text=True, check=False, cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
