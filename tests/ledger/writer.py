"""A process that records events in given streams; started several times at once by the concurrency test."""

from __future__ import annotations

import sys

import django


def main(slugs: list[str], writer: int, count: int) -> None:
    from rlvram_site.ledger.chain import acting, record_all
    from studies.models import Event, Study

    studies = [Study.objects.get(slug=slug) for slug in slugs]
    if writer % 2:
        studies.reverse()  # half of the writers name the streams in the other order
    with acting(f"writer {writer}"):
        for n in range(count):
            position = writer * count + n
            record_all(
                Event(study=study, position=position, kind="x", status="noted", title=f"{writer}.{n}")
                for study in studies
            )


if __name__ == "__main__":
    django.setup()
    main(sys.argv[3:], int(sys.argv[1]), int(sys.argv[2]))
