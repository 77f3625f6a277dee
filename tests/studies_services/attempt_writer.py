"""A process that records attempts and exclusions of one study's slots; started several times at once."""

from __future__ import annotations

import sys

import django


def main(slug: str, writer: int, count: int) -> None:
    from studies.models import Attempt, Exclusion, SeedSlot, Study

    study = Study.objects.get(slug=slug)
    slots = list(SeedSlot.objects.filter(study=study).order_by("position"))
    outcomes = ("memory_failure", "completed", "unresolved")
    for number in range(count):
        outcome = outcomes[(writer + number) % 3]
        attempt = Attempt(
            study=study, slot=slots[number % 6], invocation_id=f"{writer}-{number}", outcome=outcome,
            origin="declared", source="test", reason="cancelled" if outcome == "unresolved" else "",
            peak_mib=30_000.0 + 100 * writer if outcome == "completed" else None,
        )  # fmt: skip
        attempt.save()
        if number % 4 == 0:
            Exclusion(study=study, attempt=attempt, reason="wrong device", author="someone").save()


if __name__ == "__main__":
    django.setup()
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
