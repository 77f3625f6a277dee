"""What `import_study` does with a whole archive, and with the same one again."""

from __future__ import annotations

import pytest
from django.core.management import CommandError, call_command

from rlvram_site.ledger.models import LedgerEntry
from rlvram_site.ledger.verify import unchained, verify_streams
from studies.models import Attempt, Configuration, Evaluation, NonLaunch, Pool, Prediction, SeedSlot, Study

pytestmark = pytest.mark.django_db


def test_counts_are_printed_for_pool_and_studies(source, run):
    out = run("import_study", source).splitlines()
    assert out[0].startswith("pool rlvrambench: imported (212 configurations, 212 outcomes, 4 architectures")
    assert out[1].startswith(
        "study estimation: imported (12 configurations, 36 slots, 1 amendments, 4 fits, 306 predictions, "
        "34 attempts, 2 never launched, 11 events, 18 allocations"
    )
    assert out[2].startswith(
        "study host-capacity: imported (6 configurations, 18 slots, 18 predictions, 18 attempts, 4 events, "
        "9 allocations"
    )


def test_everything_planned_and_recorded_is_there(imported):
    assert Pool.objects.get().configurations.count() == 212
    estimation, follow_up = Study.objects.order_by("slug")
    assert (estimation.slug, follow_up.slug, follow_up.parent) == ("estimation", "host-capacity", estimation)
    assert SeedSlot.objects.filter(study=estimation).count() == 36
    assert Attempt.objects.filter(study=estimation).count() == 34
    assert NonLaunch.objects.filter(study=estimation).count() == 2
    assert Prediction.objects.filter(study=estimation, prediction_set__kind="panel").count() == 36
    assert Prediction.objects.filter(study=estimation, prediction_set__kind="fold").count() == 270
    assert Configuration.objects.filter(study=follow_up).count() == 6


def test_the_files_that_are_named_and_not_there_are_counted_apart(archive, run):
    out = run("import_study", str(archive.root), "--study", "estimation")
    assert "named files: 25 verified, 17 absent, 1 superseded" in out


def test_the_ledger_of_an_import_verifies(imported):
    reports = list(verify_streams())
    assert [report.head.stream for report in reports] == [
        "pool/rlvrambench", "study/estimation", "study/host-capacity",
    ]  # fmt: skip
    assert [report.problem for report in reports] == ["", "", ""]
    assert list(unchained()) == []


def test_importing_again_changes_nothing(source, imported, run):
    links = LedgerEntry.objects.count()
    out = run("import_study", source).splitlines()
    assert [line.split(" (")[0] for line in out] == [
        "pool rlvrambench: no change", "study estimation: no change", "study host-capacity: no change",
    ]  # fmt: skip
    assert LedgerEntry.objects.count() == links


def test_one_study_alone(archive):
    call_command("import_study", str(archive.root), "--study", "estimation", verbosity=0)
    assert list(Study.objects.values_list("slug", flat=True)) == ["estimation"]
    call_command("import_study", str(archive.root), "--study", "host-capacity", verbosity=0)
    assert Study.objects.count() == 2


def test_a_follow_up_waits_for_its_parent(archive):
    with pytest.raises(CommandError, match="host-capacity follows estimation, which is not imported yet"):
        call_command("import_study", str(archive.root), "--study", "host-capacity", verbosity=0)
    assert Pool.objects.count() == 0


def test_a_changed_archive_of_a_recorded_study_is_refused(archive):
    call_command("import_study", str(archive.root), verbosity=0)
    links = LedgerEntry.objects.count()
    archive.edit_table("benchmark/estimation/results/processes.csv", lambda rows: rows[5].update(job_id="17"))
    archive.rehash()
    message = r"estimation is already recorded and this one differs: attempt \S+ job_id: '17', recorded '\d+'"
    with pytest.raises(CommandError, match=message):
        call_command("import_study", str(archive.root), verbosity=0)
    assert LedgerEntry.objects.count() == links


def test_a_study_that_has_not_run_yet_is_imported_without_outcomes(archive):
    for name in ("execution_history.json", "execution_commits.json"):
        archive.path(f"benchmark/estimation/{name}").unlink()
    for path in archive.path("benchmark/estimation/results").iterdir():
        path.unlink()
    call_command("import_study", str(archive.root), "--study", "estimation", verbosity=0)
    assert Attempt.objects.count() == 0
    evaluation = Evaluation.objects.get(prediction_set__kind="panel")
    assert evaluation.result["resolved_configurations"] == 0
    assert evaluation.result["resolved_subset_metrics"]["donor_copy"]["three_state_accuracy"] is None


def test_a_path_that_holds_no_archive(tmp_path):
    with pytest.raises(
        CommandError, match="no folder 'benchmark' in it, expected the root of a study archive"
    ):
        call_command("import_study", str(tmp_path))
    with pytest.raises(
        CommandError, match="not there, expected the root folder of an archive or a bundle file"
    ):
        call_command("import_study", str(tmp_path / "nothing.json"))


def test_an_unknown_study_is_named_with_the_known_ones(archive):
    with pytest.raises(
        CommandError, match="study 'other' is not in it, expected one of estimation, host-capacity"
    ):
        call_command("import_study", str(archive.root), "--study", "other")
