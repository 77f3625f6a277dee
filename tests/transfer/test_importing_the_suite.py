"""The suite comes with its pool, from an archive or a bundle, whole or not at all."""

from __future__ import annotations

import pytest
from django.core.management import CommandError, call_command

from rlvram_site.ledger.models import LedgerEntry
from studies.archive import columns
from studies.archive.bundle import read_bundle, to_bundle, write_bundle
from studies.archive.layout import QUERIES, QUERIES_SHA256
from studies.archive.records import SUITE_KINDS, Record, Stream, dump_stream
from studies.models import Pool, TransferQuery, TransferTask
from studies.services.transfer.submissions import load_suite
from tests.studies_archive.archives import SAMPLE, Archive, write_archive

pytestmark = pytest.mark.django_db


def queries_table() -> bytes:
    """The archive's table of queries, from the bundled facts."""
    pool = read_bundle(SAMPLE)[0]
    cases = {
        r.fields["configuration_id"]: r.fields["case_id"] for r in pool.records if r.kind == "configuration"
    }
    tracks = {r.fields["task_id"]: r.fields["track"] for r in pool.records if r.kind == "transfer_task"}
    rows = [",".join(columns.QUERIES)]
    for record in pool.records:
        if record.kind == "transfer_query":
            query, task, source, target = (
                record.fields[name] for name in ("query_id", "task", "source", "target")
            )
            rows.append(",".join([query, task, tracks[task], source, target, cases[source], cases[target]]))
    return ("\n".join(rows) + "\n").encode()


@pytest.fixture(scope="module")
def _template(tmp_path_factory) -> Archive:
    return write_archive(tmp_path_factory.mktemp("suite") / "archive")


@pytest.fixture
def archive(_template) -> Archive:
    """An archive with the suite's table in it."""
    _template.path(QUERIES).write_bytes(queries_table())
    return _template


def without_suite(stream: Stream) -> Stream:
    return Stream(stream.slug, [record for record in stream.records if record.kind not in SUITE_KINDS])


def bundle_file(path, streams):
    write_bundle(to_bundle(streams, facts_only=True), path)
    return str(path)


def refused(*arguments: str) -> str:
    with pytest.raises(CommandError) as caught:
        call_command("import_study", *arguments, verbosity=0)
    return str(caught.value)


def test_an_archive_brings_52_tasks_and_400_queries(archive, capsys):
    assert archive.sha256(QUERIES) == QUERIES_SHA256
    call_command("import_study", str(archive.root))
    assert "52 transfer tasks, 400 transfer queries" in capsys.readouterr().out
    assert (TransferTask.objects.count(), TransferQuery.objects.count()) == (52, 400)
    call_command("import_study", str(archive.root))
    assert "pool rlvrambench: no change" in capsys.readouterr().out


def suite_records(stream: Stream) -> list[Record]:
    return [record for record in stream.records if record.kind in SUITE_KINDS]


def test_an_archive_and_the_bundle_bring_the_same_suite(archive):
    call_command("import_study", str(archive.root), verbosity=0)
    bundled = suite_records(read_bundle(SAMPLE)[0])
    assert suite_records(dump_stream(Pool.objects.get())) == bundled
    assert len(bundled) == 452


def test_another_table_of_queries_is_refused(archive):
    archive.path(QUERIES).write_bytes(queries_table().replace(b"model_transfer", b"size_transfer", 1))
    message = refused(str(archive.root))
    assert message == (
        f"{QUERIES}: sha256 is {archive.sha256(QUERIES)}, expected {QUERIES_SHA256} as published for the "
        "transfer suite"
    )
    assert not Pool.objects.exists()
    assert not LedgerEntry.objects.exists()


def test_an_archive_without_the_table_has_a_pool_without_a_suite(archive):
    archive.path(QUERIES).unlink()
    call_command("import_study", str(archive.root), verbosity=0)
    assert load_suite(Pool.objects.get()).queries == ()


def test_a_pool_recorded_earlier_gets_its_suite_later(tmp_path, capsys):
    streams = read_bundle(SAMPLE)
    older = bundle_file(tmp_path / "older.json", [without_suite(streams[0]), *streams[1:]])
    call_command("import_study", older, verbosity=0)
    assert not TransferTask.objects.exists()
    call_command("import_study", str(SAMPLE))
    assert "pool rlvrambench: imported" in capsys.readouterr().out
    assert len(load_suite(Pool.objects.get()).queries) == 400
    call_command("verify_ledger")


def test_a_suite_survives_export_and_import(tmp_path, sample_studies):
    call_command("export_study", "estimation", output=tmp_path / "again.json", verbosity=0)
    first, again = read_bundle(SAMPLE)[0], read_bundle(tmp_path / "again.json")[0]
    assert suite_records(again) == suite_records(first)


def damaged(tmp_path, change) -> str:
    streams = read_bundle(SAMPLE)
    for record in streams[0].records:
        change(record)
    return bundle_file(tmp_path / "damaged.json", streams)


def test_a_query_about_a_configuration_that_is_not_there(tmp_path):
    def change(record):
        if record.kind == "transfer_query":
            record.fields["target"] = "cfg-nowhere"

    assert "transfer_query 1 target: 'cfg-nowhere', expected a known configuration" in refused(
        damaged(tmp_path, change)
    )
    assert not Pool.objects.exists()


def test_queries_that_contradict_each_other_are_refused_as_a_whole(tmp_path):
    def change(record):
        if record.kind == "transfer_query":
            record.fields["target"] = record.fields["source"]

    assert "expected another case than the donor's" in refused(damaged(tmp_path, change))
    assert not Pool.objects.exists()
    assert not LedgerEntry.objects.exists()


def test_a_query_about_a_configuration_without_outcome(tmp_path):
    pool, *studies = read_bundle(SAMPLE)
    donor = next(record.fields["source"] for record in pool.records if record.kind == "transfer_query")
    records = [record for record in pool.records if record.fields.get("configuration") != donor]
    path = bundle_file(tmp_path / "x.json", [Stream(pool.slug, records), *studies])
    assert f"{donor}: outcome is None, expected a recorded outcome" in refused(path)
    assert not LedgerEntry.objects.exists()


def test_a_track_that_does_not_exist(tmp_path):
    def change(record):
        if record.kind == "transfer_task":
            record.fields["track"] = "size_transfer"

    assert "transfer_task 1 track: 'size_transfer'" in refused(damaged(tmp_path, change))


def test_a_study_cannot_hold_queries(tmp_path):
    streams = read_bundle(SAMPLE)
    task = next(record for record in streams[0].records if record.kind == "transfer_task")
    streams[1].records.append(task)
    assert "record 'transfer_task', expected one of" in refused(bundle_file(tmp_path / "x.json", streams))
