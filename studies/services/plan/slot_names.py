"""What a person may have meant by a slot that nobody planned."""

from __future__ import annotations

import difflib

from django.db.models import Q

from studies.models import SeedSlot, Study

LOOKED_AT = 300
"""Names that are compared; they share the start, the end or the middle with the one that was sent."""
OFFERED = 3


def nearest_slots(study: Study, name: str) -> list[str]:
    """Up to three planned slots whose names are most like ``name``, the nearest first."""
    third = max(1, len(name) // 3)
    near = Q(experiment_id__istartswith=name[:third]) | Q(experiment_id__iendswith=name[-third:])
    near |= Q(experiment_id__icontains=name[third : 2 * third])
    found = SeedSlot.objects.filter(near, study=study).order_by("position", "pk")
    names = list(found.values_list("experiment_id", flat=True)[:LOOKED_AT])
    return difflib.get_close_matches(name, names, n=OFFERED, cutoff=0.5)


def unknown_slot(study: Study, name: str) -> str:
    """Why an upload under that slot is refused, with the names it may have meant."""
    near = nearest_slots(study, name)
    meant = f"; the nearest: {', '.join(near)}" if near else ""
    return (
        f"{name!r} is no planned slot of {study.slug}{meant}. "
        "Expected a planned one, or unplanned: true to record it where it counts nowhere"
    )
