"""The suite adds nothing to the two real studies and takes nothing from them."""

from __future__ import annotations

import pytest
from django.core.management import call_command

from studies.archive.bundle import read_bundle, to_bundle, write_bundle
from studies.archive.records import SUITE_KINDS, Stream
from studies.models import Study, TransferTask
from studies.services.scores.evaluation import evaluation_document
from studies.services.transfer.submissions import submit
from studies.transfer.predictors import reference
from tests.studies_archive.archives import SAMPLE

STUDIES = ("estimation", "host-capacity")
PAGES = ("", "unscored/", "protocol/", "pairs/", "costs/", "events/", "configurations/")


def evaluations() -> dict:
    return {slug: evaluation_document(Study.objects.get(slug=slug)) for slug in STUDIES}


def contents(client) -> dict[str, bytes]:
    return {
        f"{slug}/{page}": client.get(f"/studies/{slug}/{page}").content.split(b"<main", 1)[1]
        for slug in STUDIES
        for page in PAGES
    }


@pytest.mark.django_db
def test_scores_and_pages_of_the_studies_are_the_same_before_and_after(client, tmp_path):
    pool, *studies = read_bundle(SAMPLE)
    bare = Stream(pool.slug, [record for record in pool.records if record.kind not in SUITE_KINDS])
    write_bundle(to_bundle([bare, *studies], facts_only=True), tmp_path / "bare.json")
    call_command("import_study", str(tmp_path / "bare.json"), verbosity=0)
    scores, pages = evaluations(), contents(client)
    call_command("import_study", str(SAMPLE), verbosity=0)
    assert TransferTask.objects.count() == 52
    assert evaluations() == scores
    assert contents(client) == pages


def test_a_submission_changes_no_study(client, pool, suite):
    scores, pages = evaluations(), contents(client)
    submit(pool, "all", reference(suite), name="copy", version="1", declaration="none", author="anna")
    assert evaluations() == scores
    assert contents(client) == pages
