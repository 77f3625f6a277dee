"""A study of models that no code knows: fitted, scored and shown by the families its pool records."""

from __future__ import annotations

import json
from io import StringIO

import pytest
from django.core.management import call_command

from rlvram_site.ledger.chain import record, record_all
from studies.estimation.refit_worker import refit
from studies.models import Configuration, ModelArchitecture, Pool, PoolOutcome, Protocol, SeedSlot, Study
from studies.services.plan import protocols
from studies.services.predictions.refits import refit_payload
from studies.services.predictions.seals import predict_and_seal
from tests.pages.reading import text_of

RENAMED = {
    "Qwen/Qwen2.5-3B-Instruct": ("acme/small", "Acme"),
    "Qwen/Qwen2.5-7B-Instruct": ("acme/large", "Acme"),
    "microsoft/Phi-4-mini-instruct": ("beta/one", "Beta"),
    "ibm-granite/granite-3.3-2b-instruct": ("gamma-2b", "Gamma"),
}


@pytest.fixture
def renamed(sample_studies):
    """The bundled study's measurements under other models' names, in families of other names."""
    original = Study.objects.get(slug="estimation")
    pool = Pool(slug="other-models", title="Other models")
    record(pool)
    ids = protocols.rules(original).require_fitting().source_configuration_ids
    rows = list(original.pool.configurations.filter(configuration_id__in=ids).order_by("pk"))
    outcomes = list(PoolOutcome.objects.filter(configuration__in=rows).order_by("configuration_id"))
    record_all(_copy(row, pool=pool, model_id=RENAMED[row.model_id][0]) for row in rows)
    copied = {row.configuration_id: row for row in pool.configurations.all()}
    record_all(_copy(item, configuration=copied[item.configuration.configuration_id]) for item in outcomes)
    record_all(
        _copy(row, pool=pool, model_id=RENAMED[row.model_id][0], family=RENAMED[row.model_id][1])
        for row in original.pool.architectures.order_by("pk")
    )
    study = Study(slug="other", title="Other", question="Which?", pool=pool)
    record(study)
    base = original.protocols.get()
    record(
        Protocol(
            study=study, version=base.version, sha256=base.sha256, source_path="other.json",
            frozen_at=base.frozen_at, document=protocols.effective_protocol(original),
        )
    )  # fmt: skip
    record_all(
        _copy(row, study=study, model_id=RENAMED[row.model_id][0])
        for row in list(Configuration.objects.filter(study=original).order_by("pk"))
    )
    planned = {row.configuration_id: row for row in study.configurations.all()}
    slots = SeedSlot.objects.filter(study=original).select_related("configuration").order_by("pk")
    record_all(
        _copy(slot, study=study, configuration=planned[slot.configuration.configuration_id])
        for slot in list(slots)
    )
    return study


def _copy(row, **changes):
    fields = {
        item.attname: getattr(row, item.attname)
        for item in row._meta.concrete_fields
        if item.name not in ("id", "recorded_at")
    }
    for name in changes:
        fields.pop(row._meta.get_field(name).attname)
    return type(row)(**fields, **changes)


def test_families_are_held_out_and_shown_as_they_are_named(renamed, client):
    predict_and_seal(renamed, refit(refit_payload(renamed)))
    out = StringIO()
    call_command("evaluate_study", "other", "--format", "json", stdout=out)
    folds = json.loads(out.getvalue())["folds"]
    useful = {
        family: fold["scores"]["donor_copy"]["approved_within_margin"] for family, fold in folds.items()
    }
    assert useful == {"Acme": 22, "Beta": 16, "Gamma": 22}
    overview = text_of(client.get("/studies/other/"))
    assert "Gamma · 30 held out: 22 usable, 4 above, 4 failing" in overview
    pool = text_of(client.get("/pools/other-models/"))
    assert "Acme" in pool
    assert "other" not in pool.split("Labels by family")[1].split("Held-out families")[0].split()
    sets = client.get("/api/v1/studies/other/prediction-sets/", {"kind": "fold"}).json()["results"]
    assert sorted(row["fold"] for row in sets) == ["Acme", "Beta", "Gamma"]


def test_models_without_a_known_family_stand_each_alone(sample_studies, client):
    """The bundled pool has a model whose architecture is not recorded: it is shown under its own id."""
    pool = Pool.objects.get(slug="rlvrambench")
    known = set(pool.architectures.values_list("model_id", flat=True))
    unknown = set(pool.configurations.values_list("model_id", flat=True)) - known
    assert unknown
    fresh = Pool(slug="bare", title="Bare")
    record(fresh)
    rows = [_copy(row, pool=fresh) for row in pool.configurations.filter(model_id__in=unknown)[:2]]
    rows[1].model_id = "acme/one"
    record_all(rows)
    recorded = list(fresh.configurations.order_by("pk"))
    outcome = PoolOutcome.objects.filter(configuration__model_id__in=unknown).first()
    record_all(_copy(outcome, configuration=row) for row in recorded)
    text = text_of(client.get("/pools/bare/"))
    for model in {row.model_id for row in recorded}:
        assert model in text
    assert ModelArchitecture.objects.filter(pool=fresh).count() == 0
