"""Bundles: writing one, reading it into an empty database, and everything that is wrong with one."""

from __future__ import annotations

import json
import re
import shutil
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from rlvram_site.ledger.canonical import digest
from rlvram_site.ledger.models import LedgerEntry, LedgerStream
from rlvram_site.ledger.verify import verify_streams
from studies.archive.facts import facts_form
from studies.models import Attempt, Exclusion, Protocol, SeedSlot, Study
from studies.services.plan import protocols
from studies.services.scores.evaluation import evaluation_document
from tests.bypass import without_triggers
from tests.factories import make_attempt
from tests.studies_archive.archives import SAMPLE

pytestmark = pytest.mark.django_db


def empty_database() -> None:
    """As in a new place; only a test may do this to recorded rows."""
    with without_triggers():
        from django.apps import apps
        from django.db import connection

        with connection.constraint_checks_disabled(), connection.cursor() as cursor:
            for model in apps.get_models():
                if model._meta.app_label == "studies" or model in (LedgerEntry, LedgerStream):
                    cursor.execute(f'DELETE FROM "{model._meta.db_table}"')


@pytest.fixture
def bundle(tmp_path):
    """A copy of the bundled studies, the test's own to damage."""
    return Path(shutil.copy(SAMPLE, tmp_path / "bundle.json"))


@pytest.fixture
def whole(tmp_path, archive):
    """A bundle of both studies with their authors' texts, the numbers that they had, an empty database."""
    call_command("import_study", str(archive.root), verbosity=0)
    numbers = {study.slug: evaluation_document(study) for study in Study.objects.all()}
    path = tmp_path / "whole.json"
    call_command("export_study", "estimation", "host-capacity", "--output", str(path), verbosity=0)
    empty_database()
    return path, numbers


def change(path, edit) -> None:
    """Edit a bundle and give it a fitting sha256 again."""
    document = json.loads(path.read_text())
    edit(document["content"])
    document["sha256"] = digest(document["content"])
    path.write_text(json.dumps(document))


def run_of(content, kind, group="studies", index=0):
    return next(run for run in content[group][index]["runs"] if run["kind"] == kind)


def refusal(path) -> str:
    links = LedgerEntry.objects.count()
    with pytest.raises(CommandError) as caught:
        call_command("import_study", str(path), verbosity=0)
    assert LedgerEntry.objects.count() == links
    return str(caught.value)


def test_a_bundle_gives_the_same_numbers_in_an_empty_database(whole):
    path, numbers = whole
    call_command("import_study", str(path), verbosity=0)
    assert {study.slug: evaluation_document(study) for study in Study.objects.all()} == numbers
    assert all(report.ok for report in verify_streams())


def test_a_bundle_of_what_was_imported_from_a_bundle_is_the_same_file(whole, tmp_path):
    path, _ = whole
    call_command("import_study", str(path), verbosity=0)
    again = tmp_path / "again.json"
    call_command("export_study", "estimation", "host-capacity", "--output", str(again), verbosity=0)
    assert again.read_bytes() == path.read_bytes()


def test_exporting_a_follow_up_takes_its_parent_and_pool_along(bundle, tmp_path, run):
    path = bundle
    call_command("import_study", str(path), verbosity=0)
    out = run("export_study", "host-capacity", "--output", str(tmp_path / "one.json"))
    assert re.search(
        r"one\.json: rlvrambench, estimation, host-capacity; \d+ records, content sha256 \w{64}", out
    )


def test_facts_only_and_whole_documents_derive_the_same(source, db, tmp_path):
    """The rules, their digest and every number do not depend on having the authors' sentences."""
    call_command("import_study", source, verbosity=0)
    study = Study.objects.get(slug="estimation")
    before = protocols.effective_sha256(study), evaluation_document(study), protocols.rules(study)
    path = tmp_path / "facts.json"
    call_command("export_study", "estimation", "--facts-only", "--output", str(path), verbosity=0)
    empty_database()
    call_command("import_study", str(path), verbosity=0)
    study = Study.objects.get(slug="estimation")
    assert (protocols.effective_sha256(study), evaluation_document(study), protocols.rules(study)) == before
    call_command("import_study", source, "--study", "estimation", verbosity=0)


def test_facts_only_leaves_no_sentence_of_the_documents(source, db, tmp_path):
    call_command("import_study", source, verbosity=0)
    path = tmp_path / "facts.json"
    call_command("export_study", "host-capacity", "--facts-only", "--output", str(path), verbosity=0)
    text = path.read_text()
    for protocol in Protocol.objects.all():
        for value in protocol.document.values():
            if isinstance(value, str) and value.count(" ") > 2:
                assert value not in text
    kinds = ("protocol", "amendment")
    runs = [
        run
        for study in json.loads(text)["content"]["studies"]
        for run in study["runs"]
        if run["kind"] in kinds
    ]
    assert not [value for run in runs for row in run["rows"] for value in texts_in(row) if " " in value]


def texts_in(value):
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            yield from texts_in(item)


def test_the_bundled_sample_is_what_the_exporter_writes(db, tmp_path):
    call_command("import_study", str(SAMPLE), verbosity=0)
    path = tmp_path / "sample.json"
    slugs = ("estimation", "host-capacity")
    call_command("export_study", *slugs, "--facts-only", "--output", str(path), verbosity=0)
    assert json.loads(path.read_text())["content"] == json.loads(SAMPLE.read_text())["content"]


def test_the_bundled_sample_is_what_the_archive_gives(source, db):
    call_command("import_study", str(SAMPLE), verbosity=0)
    links = LedgerEntry.objects.count()
    call_command("import_study", source, verbosity=0)
    assert LedgerEntry.objects.count() == links


def test_an_output_file_that_exists_is_left_alone(imported, tmp_path):
    path = tmp_path / "there.json"
    path.write_text("mine")
    with pytest.raises(
        CommandError, match=r"there.json: exists already, expected a file that is not there yet"
    ):
        call_command("export_study", "estimation", "--output", str(path))
    assert path.read_text() == "mine"


def test_an_output_folder_that_is_not_there(imported, tmp_path):
    with pytest.raises(CommandError, match="cannot be written"):
        call_command("export_study", "estimation", "--output", str(tmp_path / "no" / "there.json"))


def test_exporting_an_unknown_study_names_the_known_ones(imported, tmp_path):
    with pytest.raises(
        CommandError, match="study 'x' is not recorded, expected one of: estimation, host-capacity"
    ):
        call_command("export_study", "x", "--output", str(tmp_path / "x.json"))


def test_one_study_of_a_bundle(bundle):
    path = bundle
    call_command("import_study", str(path), "--study", "estimation", verbosity=0)
    assert list(Study.objects.values_list("slug", flat=True)) == ["estimation"]
    with pytest.raises(CommandError, match="study 'x' is not in it"):
        call_command("import_study", str(path), "--study", "x")


def test_a_changed_bundle_without_a_fitting_sha256(bundle):
    path = bundle
    path.write_text(path.read_text().replace('"memory_failure"', '"within_margin"', 1))
    assert re.match(
        r"bundle.json: sha256 is '\w{64}', the content's is \w{64}: it was changed", refusal(path)
    )


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (
            lambda document: document.update(format="other"),
            "format is 'other', expected",
        ),
        (lambda document: document.update(version=2), "bundle.json: version is 2; this site reads 1"),
        (lambda document: document.update(content=[]), "bundle.json content: [], expected an object"),
        (lambda document: document.pop("sha256"), "bundle.json: sha256 is None, the content's is"),
    ],
)
def test_a_file_that_is_no_bundle_of_this_version(bundle, edit, message):
    path = bundle
    document = json.loads(path.read_text())
    edit(document)
    path.write_text(json.dumps(document))
    assert message in refusal(path)


def set_value(kind, field, value, row=0, group="studies", index=0):
    def edit(content):
        run = run_of(content, kind, group, index)
        run["rows"][row][run["fields"].index(field)] = value

    return edit


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (set_value("prediction", "label", "nearly"), "prediction 1 label: 'nearly'"),
        (set_value("attempt", "outcome", "fine"), "attempt 1 outcome: 'fine'"),
        (set_value("slot", "seed", "many"), "slot 1 seed: 'many'"),
        (set_value("slot", "seed", None), "slot 1 seed: null, expected a value"),
        (set_value("slot", "seed", True), "slot 1 seed: True, expected a whole number"),
        (set_value("slot", "configuration", "est-other"), "'est-other', expected a known configuration"),
        (set_value("configuration", "parameter_offload", ""), "configuration 1 parameter_offload: ''"),
        (set_value("configuration", "gpu_count", -1), "configuration 1 gpu_count: '-1'"),
        (set_value("configuration", "gpu_count", 10**30), "configuration 1 gpu_count: '1000"),
        (set_value("configuration", "model_name", 7), "configuration 1 model_name: 7, expected text"),
        (set_value("protocol", "sha256", "abc"), "expected 64 lower-case hexadecimal digits"),
        (
            set_value("prediction", "donor", "pool:cfg-none"),
            "'pool:cfg-none', expected a known configuration",
        ),
        (set_value("study", "pool", "other"), "'other', expected a pool that is already imported"),
        (set_value("seal", "sealed_at", "yesterday"), "seal 1 sealed_at: 'yesterday'"),
    ],
)
def test_a_record_that_cannot_be_taken(bundle, edit, message):
    path = bundle
    change(path, edit)
    assert message in refusal(path)


def test_a_failed_attempt_with_a_peak_is_refused(bundle):
    """What a failed process had used stands for no peak; the database refuses it as well."""
    path = bundle

    def edit(content):
        runs = [run for run in content["studies"][0]["runs"] if run["kind"] == "attempt"]
        run, row = next((run, row) for run in runs for row in run["rows"] if "memory_failure" in row)
        row[run["fields"].index("peak_mib")] = 100.0

    change(path, edit)
    assert "attempt: two records contradict each other" in refusal(path)


def test_a_record_twice(bundle):
    path = bundle

    def edit(content):
        rows = run_of(content, "slot")["rows"]
        rows.append(rows[0])

    change(path, edit)
    assert "slot: two records contradict each other" in refusal(path)


def test_a_missing_field_an_unknown_field_and_a_short_row(bundle):
    path = bundle
    change(path, lambda content: run_of(content, "slot")["rows"][0].pop())
    assert re.search(r"rows\[0\]: \[.*, expected a list of \d+ values, one for each field", refusal(path))


def test_an_unknown_kind_of_record(bundle):
    path = bundle
    change(path, lambda content: run_of(content, "slot").update(kind="mood"))
    assert "kind: 'mood', expected one of pool, " in refusal(path)


@pytest.mark.parametrize("family", ["absent", "", " "])
def test_an_architecture_without_a_family_is_refused_for_a_model_that_none_is_known_of(bundle, family):
    def edit(content):
        run = run_of(content, "architecture", group="pools")
        run["rows"][0][run["fields"].index("model_id")] = "acme/one"
        if family != "absent":
            run["fields"].append("family")
            for row in run["rows"]:
                row.append(family)

    change(bundle, edit)
    assert "expected the architecture family of acme/one" in refusal(bundle)


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        (r"(?P<step>\d+)(?=x)", "expected a regular expression"),
        (r"step \d+", "expected a group for the number"),
        (["a"], "expected a regular expression as a text"),
    ],
)
def test_a_pattern_that_no_log_could_be_read_by_is_refused_with_the_protocol(bundle, pattern, expected):
    def edit(content):
        run = run_of(content, "protocol")
        run["rows"][0][run["fields"].index("document")]["completion_pattern"] = pattern

    change(bundle, edit)
    said = refusal(bundle)
    assert "protocol 1 document: completion_pattern is" in said
    assert expected in said


def test_methods_in_development_are_exported_and_known_again(db, tmp_path):
    call_command("import_study", str(SAMPLE), "--study", "estimation", verbosity=0)
    call_command("record_development", "estimation", verbosity=0)
    path = tmp_path / "development.json"
    call_command("export_study", "estimation", "--output", str(path), verbosity=0)
    content = json.loads(path.read_text())["content"]
    runs = [run for run in content["studies"][0]["runs"] if "lower_peak_mib" in run["fields"]]
    assert {run["kind"] for run in runs} == {"prediction"}
    kinds = [
        dict(zip(run["fields"], row, strict=True))["kind"]
        for run in content["studies"][0]["runs"]
        if run["kind"] == "prediction_set"
        for row in run["rows"]
    ]
    assert kinds == ["fold"] * 3 + ["panel"] + ["development"] * 8
    out = StringIO()
    call_command("import_study", str(path), stdout=out)
    assert "no change" in out.getvalue()


def test_a_study_record_inside_a_pool(bundle):
    path = bundle
    change(path, lambda content: content["pools"][0]["runs"].append(run_of(content, "slot")))
    assert "pool rlvrambench: record 'slot', expected one of architecture, " in refusal(path)


def test_a_stream_without_its_own_head(bundle):
    path = bundle
    change(path, lambda content: content["studies"][0].update(slug="other"))
    assert "runs: 'other', expected the study other itself as the first record" in refusal(path)


@pytest.fixture
def corrected(db, tmp_path):
    """A bundle of a study with a wrong entry, two corrections of it, an exclusion and its lifting."""
    call_command("import_study", str(SAMPLE), "--study", "estimation", verbosity=0)
    slot = SeedSlot.objects.filter(study__slug="estimation")[0]
    wrong = make_attempt(slot, "memory_failure", invocation_id="wrong")
    for name in ("better:2", "right"):
        wrong = make_attempt(
            slot, "completed", 30000, invocation_id=name, supersedes=wrong, supersedes_reason="a typing error"
        )
    first = Exclusion(study=slot.study, attempt=wrong, reason="wrong driver", author="Ada")
    first.save()
    Exclusion(
        study=slot.study, attempt=wrong, reason="no", author="Ada", lifted=True, supersedes=first
    ).save()
    path = tmp_path / "corrected.json"
    call_command("export_study", "estimation", "--output", str(path), verbosity=0)
    empty_database()
    return path


def test_corrected_entries_and_lifted_exclusions_travel_in_a_bundle(corrected, tmp_path):
    call_command("import_study", str(corrected), verbosity=0)
    chain = Attempt.objects.order_by("pk").values_list("invocation_id", "supersedes__invocation_id")
    assert list(chain)[-3:] == [("wrong", None), ("better:2", "wrong"), ("right", "better:2")]
    assert set(Attempt.objects.values_list("supersedes_reason", flat=True)) == {None, "a typing error"}
    assert Exclusion.objects.get(lifted=True).supersedes == Exclusion.objects.get(lifted=False)
    call_command("export_study", "estimation", "--output", str(tmp_path / "again.json"), verbosity=0)
    assert (tmp_path / "again.json").read_bytes() == corrected.read_bytes()
    assert all(report.ok for report in verify_streams())


def corrections_in(content):
    return next(run for run in content["studies"][0]["runs"] if "supersedes_reason" in run["fields"])


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("supersedes", "nobody", "supersedes: 'nobody', expected a known attempt"),
        ("supersedes", "right", "supersedes: 'right', expected a known attempt"),
        ("supersedes", None, "supersedes_reason: expected none without supersedes"),
        ("supersedes_reason", " ", "supersedes_reason: expected what is wrong with 'wrong'"),
        ("slot", None, "supersedes: 'wrong' belongs to slot"),
    ],
)
def test_a_bundle_with_a_correction_of_nothing_is_refused(corrected, name, value, message):
    def edit(content):
        run = corrections_in(content)
        run["rows"][0][run["fields"].index(name)] = value

    change(corrected, edit)
    assert message in refusal(corrected)


def test_a_bundle_with_two_corrections_of_one_entry_is_refused(corrected):
    def edit(content):
        run = corrections_in(content)
        run["rows"][1][run["fields"].index("supersedes")] = "wrong"

    change(corrected, edit)
    assert "'wrong' is already superseded by 'better:2'" in refusal(corrected)


def test_a_pattern_with_blanks_is_no_prose_and_stays_in_a_bundle_of_facts_alone():
    document = {"completion_pattern": r"done (?P<step>\d+) of \d+", "note": "one of our sentences"}
    kept = facts_form(document)
    assert kept["completion_pattern"] == document["completion_pattern"]
    assert set(kept["note"]) == {"text_sha256"}
