"""A process that records events one by one until it is killed; it says each number once it is recorded."""

from __future__ import annotations

import sys
from itertools import count

import django


def main(slug: str) -> None:
    from studies.models import Event, Study

    study = Study.objects.get(slug=slug)
    for number in count(1):  # the study has an event already
        Event(study=study, position=number, kind="x", status="noted", title=f"event {number}").save()
        print(number, flush=True)


if __name__ == "__main__":
    django.setup()
    main(sys.argv[1])
