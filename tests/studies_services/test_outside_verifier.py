"""``rlvram-verify``: an exported ledger checked without its site, and what no tampering gets past it."""

from __future__ import annotations

import copy
import json
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from host import rlvram_verify
from rlvram_site.ledger.chain import head
from rlvram_site.ledger.export import export_lines
from rlvram_site.ledger.models import LedgerStream
from studies.models import Study
from studies.services.predictions.seals import seal_predictions
from tests.factories import make_attempt

pytestmark = pytest.mark.django_db
_kept: dict[str, list[dict]] = {}


def links_of(*names: str) -> list[dict]:
    """The links of these streams as an export has them."""
    streams = [LedgerStream.objects.get(name=name) for name in names]
    return [json.loads(line) for line in export_lines(streams)][1:]


@pytest.fixture
def real(sample_studies) -> list[dict]:
    """The published study's own stream, read once for the module."""
    if "real" not in _kept:
        _kept["real"] = links_of("study/estimation")
    return copy.deepcopy(_kept["real"])


@pytest.fixture
def own(unsealed) -> list[dict]:
    """A study that this site sealed, with its pool and parent; one outcome came after the seal."""
    if "own" not in _kept:
        seal_predictions(unsealed.predictionsets.get())
        make_attempt(unsealed.seedslots.first(), "memory_failure", started_at="2090-01-01T00:00:00Z")
        _kept["own"] = links_of(unsealed.stream, unsealed.pool.stream, unsealed.parent.stream)
    return copy.deepcopy(_kept["own"])


def verified(links: list[dict], heads=()) -> list[str]:
    """What the verifier says of these links; only the failures if there are any."""
    said: list[str] = []
    streams: dict[str, list[dict]] = {}
    for link in links:
        streams.setdefault(link["stream"], []).append(link)
    report = rlvram_verify.Report(said.append)
    rlvram_verify.verify(streams, heads, report)
    return [line for line in said if line.startswith("FAILED")] if report.failed else said


def rechained(links: list[dict]) -> list[dict]:
    """The links as somebody who owns the database would compute them anew."""
    ends: dict[str, tuple[int, str]] = {}
    for link in links:
        number, previous = ends.get(link["stream"], (0, ""))
        link.update(
            sequence=number + 1, previous_sha256=previous, payload_sha256=rlvram_verify.digest(link["row"])
        )
        link["sha256"] = rlvram_verify.digest({name: link[name] for name in rlvram_verify.LINK})
        ends[link["stream"]] = link["sequence"], link["sha256"]
    return links


def first(links: list[dict], kind: str) -> dict:
    return next(link for link in links if link["record_type"] == f"studies.{kind}")


def move(links: list[dict], kind: str, *, behind: str) -> list[dict]:
    """The first link of a kind behind the last of another."""
    link = first(links, kind)
    links.remove(link)
    last = max(number for number, item in enumerate(links) if item["record_type"] == f"studies.{behind}")
    links.insert(last + 1, link)
    return links


def test_both_published_studies_pass_and_their_published_counts_are_derived(real):
    said = verified(real)
    assert "ok      labels study/estimation: 6 of 12 configurations resolved: 6 memory_failure" in said
    approvals = [line for line in said if "approvals" in line]
    assert "donor_copy approves 12, 6 of them unscored; 0 of 6 resolved right" in approvals[0]
    assert "component_regression approves 3, 3 of them unscored" in approvals[1]
    assert "logistic approves 0" in approvals[2]
    assert any("number 1 is bound to the protocol and is called amendment" in line for line in said)
    follow_up = verified(links_of("study/host-capacity", "study/estimation"))
    assert "ok      labels study/host-capacity: 3 of 6 configurations resolved: 3 memory_failure" in follow_up
    assert any("host-capacity: donor_copy approves 6, 3 of them unscored" in line for line in follow_up)


def test_a_seal_made_here_is_checked_down_to_every_row_that_it_binds(own):
    said = verified(own)
    assert "ok      seal study/unsealed: its sha256 is that of what it says" in said
    assert "ok      seal study/unsealed: binds 18 rows of study/unsealed: slots and pairs" in said
    assert any("binds 4 rows" in line and "architectures" in line for line in said)
    alone = verified([link for link in own if link["stream"] == "study/unsealed"])
    assert "note    seal study/unsealed: study/estimation is not in this export" in alone


CHANGES = {
    "an outcome": ("attempt", "outcome", "completed"),
    "a peak": ("attempt", "observed_peak_mib", 1.5),
    "a clock": ("attempt", "ended_at", "2027-01-01T00:00:00.000000Z"),
    "a prediction": ("prediction", "label", "above_margin"),
    "a predicted peak": ("prediction", "peak_mib", 1.0),
    "a protocol's hash": ("protocol", "sha256", "ab" * 32),
    "a protocol's text": ("protocol", "document", {}),
    "a seal's time": ("seal", "sealed_at", "2020-01-01T00:00:00.000000Z"),
    "a seal's hash": ("seal", "sha256", "cd" * 32),
    "an amendment": ("amendment", "updates", {}),
    "a slot's seed": ("seedslot", "seed", 7),
    "a configuration": ("configuration", "gpu_count", 8),
    "a fit": ("fittedmodel", "parameters", {}),
    "an evaluation": ("evaluation", "result", {}),
}
LINK_CHANGES = {
    "actor": "somebody else", "recorded_at": "2020-01-01T00:00:00.000000Z", "record_id": 99999,
    "record_type": "studies.event", "sha256": "0" * 64, "previous_sha256": "0" * 64,
    "payload_sha256": "0" * 64, "sequence": 2, "stream": "study/estimation2",
}  # fmt: skip


@pytest.mark.parametrize("change", CHANGES)
def test_a_changed_row_breaks_the_chain(real, change):
    kind, field, value = CHANGES[change]
    link = first(real, kind)
    link["row"][field] = value
    (failure,) = verified(real)
    assert f"link {link['sequence']} names other content" in failure


@pytest.mark.parametrize("field", LINK_CHANGES)
def test_a_changed_link_breaks_the_chain(real, field):
    real[20][field] = LINK_CHANGES[field]
    assert any(line.startswith("FAILED  chain study/estimation") for line in verified(real))


@pytest.mark.parametrize("place", [0, 10, 100])
def test_a_link_that_is_taken_out_doubled_or_swapped_breaks_the_chain(real, place):
    for links in (
        real[:place] + real[place + 1 :],
        real[: place + 1] + real[place:],
        [*real[:place], real[place + 1], real[place], *real[place + 2 :]],
    ):
        assert verified(links)[0].startswith("FAILED  chain study/estimation: link")


COMPUTED_ANEW = {
    "the seal behind the outcomes": (
        lambda links: move(links, "seal", behind="attempt"), "comes after the first outcome"),
    "an earlier clock": (
        lambda links: _set(links, "attempt", ended_at="2020-01-01T00:00:00.000000Z"), "by its own clock"),
    "a protocol of another hash": (
        lambda links: _set(links, "protocol", sha256="ab" * 32), "names another protocol"),
    "an amendment that was not sealed": (
        lambda links: move(links, "amendment", behind="attempt"), "names other amendments"),
    "an amendment of another protocol": (
        lambda links: _set(links, "amendment", base_sha256="ab" * 32), "bound to another protocol"),
    "a prediction behind the seal": (lambda links: _late(links), "1 predictions were added"),
    "a second seal": (lambda links: _twice(links, "seal"), "there are 2 seals"),
    "an outcome made better": (
        lambda links: _set(links, "attempt", outcome="completed", peak_mib=1.0), "other counts"),
}  # fmt: skip


def _set(links: list[dict], kind: str, **values) -> list[dict]:
    for link in links:
        if link["record_type"] == f"studies.{kind}":
            link["row"].update(values)
    return links


def _twice(links: list[dict], kind: str) -> list[dict]:
    link = first(links, kind)
    place = links.index(link)
    return [*links[:place], {**copy.deepcopy(link), "record_id": link["record_id"] + 1000}, *links[place:]]


def _late(links: list[dict]) -> list[dict]:
    sealed = first(links, "seal")["row"]["prediction_set_id"]
    late = next(link for link in links if link["row"].get("prediction_set_id") == sealed)
    links.remove(late)
    return [*links, late]


@pytest.mark.parametrize("change", COMPUTED_ANEW)
def test_rules_find_what_a_chain_that_was_computed_anew_hides(real, change):
    tamper, expected = COMPUTED_ANEW[change]
    kept = [("study/estimation", real[-1]["sequence"], real[-1]["sha256"])]
    changed = rechained(tamper(real))
    assert any(expected in line for line in verified(changed))
    assert any("history was" in line for line in verified(changed, kept))


BOUND = {
    "configuration": {"gpu_count": 8}, "seedslot": {"seed": 7}, "prediction": {"label": "above_margin"},
    "modelarchitecture": {"hidden_size": 1}, "pooloutcome": {"max_completed_run_peak_mib": 1.0},
    "fittedmodel": {"parameters": {}}, "protocol": {"version": "other"}, "seal": {"sealed_at": "2020"},
}  # fmt: skip


@pytest.mark.parametrize("kind", BOUND)
def test_a_seal_made_here_shows_each_kind_of_row_that_was_changed_behind_it(own, kind):
    failures = verified(rechained(_set(own, kind, **BOUND[kind])))
    assert any(line.startswith("FAILED  not so: seal study/unsealed") for line in failures)


def test_cut_history_shows_against_a_kept_head(real):
    kept = [("study/estimation", real[-1]["sequence"], real[-1]["sha256"])]
    (failure,) = verified(real[:-1], kept)
    assert "history was cut" in failure


def test_the_commands_write_and_check_one_file(sample_studies, tmp_path, capsys):
    study = Study.objects.get(slug="host-capacity")
    path, heads = tmp_path / "ledger.jsonl", tmp_path / "heads.json"
    call_command("export_ledger", study.stream, output=path, stdout=StringIO())
    call_command("verify_ledger", export_heads=heads, stdout=StringIO())
    assert rlvram_verify.main([str(path), "--heads", str(heads)]) == 0
    assert f"{study.stream}: link {head(study.stream).sequence} is the kept one" in capsys.readouterr().out
    path.write_text(path.read_text().replace('"unresolved"', '"completed"', 1))
    assert rlvram_verify.main([str(path)]) == 1
    path.write_text("[]\n")
    assert rlvram_verify.main([str(path)]) == 2
    assert 'line 1: expected an object with "format": "rlvram-ledger/1"' in capsys.readouterr().err
    with pytest.raises(CommandError, match="exists already"):
        call_command("export_ledger", study.stream, output=path)
    with pytest.raises(CommandError, match="no stream is called 'study/none'"):
        call_command("export_ledger", "study/none", output=tmp_path / "other")


def test_the_site_hands_out_the_program_as_it_is(client):
    answer = client.get("/rlvram-verify.py")
    assert b"".join(answer.streaming_content) == Path(rlvram_verify.__file__).read_bytes()
    assert answer.headers["Content-Disposition"] == 'attachment; filename="rlvram_verify.py"'
