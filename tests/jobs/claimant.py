"""``python -m tests.jobs.claimant JOB FOLDER``: be ready, wait for the others, try to claim, say whether."""

import os
import sys
import time
from pathlib import Path

import django

django.setup()

from studies.jobs import claims  # noqa: E402

job, folder = int(sys.argv[1]), Path(sys.argv[2])
(folder / f"ready-{os.getpid()}").touch()
while not (folder / "now").exists():
    time.sleep(0.001)
claim = claims.claim(job, f"claimant {os.getpid()}")
print("nothing" if claim is None else claim.fence)
