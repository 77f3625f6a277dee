"""The page for the operator of a GPU host: its commands as they stand, from nothing to the first attempt."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

from studies.models import Attempt, Job, SeedSlot
from tests.conftest import ROOT
from tests.gpu_host.test_hosts import host_key, serving, staff  # noqa: F401
from tests.jobs.conftest import wait_for
from tests.processes import database_url


def test_every_command_works_in_its_order(serving, tmp_path):  # noqa: F811
    page = (ROOT / "docs" / "gpu-host.md").read_text()
    devices, serve, give, send, run = re.findall(r"^```bash\n(.*?)^```", page, re.DOTALL | re.MULTILINE)
    by_job, by_hand = SeedSlot.objects.select_related("study", "configuration").order_by("pk")[:2]
    program = "use(20000, 1000)\ncomplete()\n"
    serving.allow(program)
    (tmp_path / "manage.py").symlink_to(ROOT / "manage.py")
    serving.machine.order(by_hand, program).rename(tmp_path / "order.json")
    environment = {
        **os.environ, **serving.machine.environment,
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "DJANGO_SETTINGS_MODULE": "rlvram_site.settings", "DATABASE_URL": database_url(), 
        "RLVRAM_KEY": serving.key, "SITE": serving.site.url, "PROGRAMS": str(serving.programs),
        "HOST_DIR": str(serving.machine.home), "STUDY": "demo", "SLOT": by_job.experiment_id,
    }  # fmt: skip

    def bash(line: str) -> str:
        done = subprocess.run(
            ["bash", "-euc", line], cwd=tmp_path, env=environment, text=True, capture_output=True, check=False
        )
        assert done.returncode == 0, f"{line}\n{done.stdout}\n{done.stderr}"
        return done.stdout

    assert json.loads(bash(devices))["devices"][0]["uuid"] == "GPU-aa"
    log = tmp_path / "serve.log"
    with log.open("w") as output:
        worker = subprocess.Popen(
            ["bash", "-euc", f"exec {serve}"],
            cwd=tmp_path,
            env=environment,
            stdout=output,
            stderr=output,
            text=True,
        )
    serving.hosts.append(worker)
    wait_for(lambda: "gpu-1 waits for slots" in log.read_text(), "the host")
    assert "is queued" in bash(give)
    job = Job.objects.get()
    serving.wait_for_end(job)
    assert Attempt.objects.get().slot == by_job
    worker.terminate()
    assert worker.wait(timeout=60) == 0
    assert bash(send) == "0 sent\n"
    assert json.loads(bash(run))["outcome"] == "completed"
    assert Attempt.objects.filter(slot=by_hand, outcome="completed").exists()
