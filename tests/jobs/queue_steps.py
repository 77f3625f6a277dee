"""``python -m tests.jobs.queue_steps SLUG FOLDER``: queue a job of steps and print its number."""

import sys

import django

django.setup()

from studies.jobs.starting import start  # noqa: E402
from studies.models import Study  # noqa: E402
from tests.jobs import steps  # noqa: E402, F401

print(start("steps", Study.objects.get(slug=sys.argv[1]), {"folder": sys.argv[2]}).pk)
