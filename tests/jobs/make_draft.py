"""``python -m tests.jobs.make_draft``: the real study's plan once more as a study that has not run yet."""

import django

django.setup()

from rlvram_site.ledger.chain import record, record_all  # noqa: E402
from studies.models import Amendment, Configuration, Protocol, SeedSlot, Study  # noqa: E402

original = Study.objects.get(slug="estimation")
draft = Study(slug="draft", title="Draft", question="Again?", pool=original.pool)
record(draft)


def copies(model, **changes):
    for row in model.objects.filter(study=original).order_by("pk"):
        row.pk, row._state.adding, row.study = None, True, draft
        for name, value in changes.items():
            setattr(row, name, value)
        yield row


record_all(copies(Protocol))
record_all(copies(Amendment, protocol=draft.protocols.get()))
record_all(copies(Configuration))
planned = {row.configuration_id: row for row in draft.configurations.all()}
slots = list(copies(SeedSlot))
for slot in slots:
    slot.configuration = planned[slot.configuration.configuration_id]
record_all(slots)
