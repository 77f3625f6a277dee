"""People are told when a study is sealed, amended after launch, resolved further, or contradicted."""

from __future__ import annotations

import pytest

from notices import studies
from notices.models import Notice
from notices.watching import watch
from studies.models import Amendment, Attempt, Exclusion, Seal, SeedSlot, Study
from tests.factories import make_attempt, make_prediction_set

pytestmark = pytest.mark.django_db
BASE = {
    "title": "Demo", "seal": "", "amendments": {}, "planned": 3, "labels": {}, "contradictions": {},
    "path": "/studies/demo/", "history": "/studies/demo/history/",
}  # fmt: skip


def told(**now):
    return [(d.kind, d.before, d.now, d.path) for d in studies.differences(BASE, {**BASE, **now})]


def test_sealed():
    words = "sealed before the first launch, at 2026-09-15 14:10:21 UTC, sha256 01234567"
    assert told(seal=words) == [("sealed", "not sealed", words, "/studies/demo/")]


def test_amended_after_launch():
    ((kind, before, now, path),) = told(amendments={"2": "amendment after launch: changed retries"})
    assert (kind, before, path) == ("amended_late", "0 amended after launch", "/studies/demo/history/")
    assert now == "amendment 2, amendment after launch: changed retries"


def test_resolved_further_and_back():
    ((kind, before, now, _),) = told(labels={"c1": "within margin"})
    assert kind == "resolved"
    assert before == "0 of 3 configurations resolved"
    assert now == "1 of 3 configurations resolved (c1: within margin)"
    (back,) = studies.differences({**BASE, "labels": {"c1": "within margin"}}, BASE)
    assert back.now == "0 of 3 configurations resolved (c1: unresolved again)"


def test_a_long_list_is_counted():
    ((_, _, now, _),) = told(labels={f"c{n}": "within margin" for n in range(9)})
    assert now.endswith("c5: within margin and 3 more)")


def test_contradicted():
    ((kind, before, now, _),) = told(contradictions={"i1": "i1 says so"})
    assert (kind, before, now) == ("contradicted", "no contradiction known", "i1 says so")


def test_a_real_study_has_a_state_and_its_growth_is_told(sample_studies):
    study = Study.objects.order_by("pk").first()
    state = studies.state_of(study)
    assert state["planned"] == 12
    assert len(state["labels"]) == 6
    assert state["seal"].startswith("sealed before the first launch, at 2026-09-15 14:10:21 UTC")
    assert watch() == 0
    assert not Notice.objects.exists()


def told_after(study: Study) -> list[tuple[str, str, str]]:
    watch()
    return list(Notice.objects.filter(study=study).order_by("pk").values_list("kind", "before", "now"))


@pytest.fixture
def real(sample_studies) -> Study:
    """The first bundled study, as everybody has seen it."""
    watch()
    return Study.objects.order_by("pk").first()


def test_an_excluded_attempt_unresolves_its_configuration(real):
    resolved = sorted(studies.state_of(real)["labels"])[0]
    attempt = Attempt.objects.filter(
        slot__configuration__configuration_id=resolved, outcome="memory_failure"
    ).first()
    Exclusion(study=real, attempt=attempt, reason="a test", author="test").save()
    ((kind, before, now),) = told_after(real)
    assert kind == "resolved"
    assert before == "6 of 12 configurations resolved"
    assert now == f"5 of 12 configurations resolved ({resolved}: unresolved again)"


def test_an_attempt_that_says_it_ran_before_the_seal_contradicts_the_study(real):
    slot = SeedSlot.objects.filter(study=real).first()
    make_attempt(slot, "unresolved", invocation_id="early", started_at="2026-09-15T14:00:00Z")
    notices = told_after(real)
    assert [kind for kind, _, _ in notices] == ["contradicted"]
    assert notices[0][2] == (
        "early says that it ran at 2026-09-15 14:00:00 UTC, before the seal of 2026-09-15 14:10:21 UTC, "
        "and was recorded after it"
    )


def test_an_amendment_after_the_first_outcome_is_told_with_its_derived_word(real):
    base = real.protocols.get()
    updates = {"collection_cell_max_attempts": 9}
    Amendment(
        study=real, protocol=base, number=99, base_sha256=base.sha256, sha256="b" * 64, updates=updates,
        amended_at="2026-09-01T00:00:00Z", reason="a test",
    ).save()  # fmt: skip
    assert told_after(real) == [
        (
            "amended_late",
            "0 amended after launch",
            "amendment 99, deviation: changed collection_cell_max_attempts",
        )
    ]


def test_a_seal_is_told(study):
    seal = Seal(
        study=study, prediction_set=make_prediction_set(study), sealed_at="2026-09-15T14:10:21Z",
        sha256="c" * 64, protocol_sha256="a" * 64,
    )  # fmt: skip
    seal.save()
    ((kind, before, now),) = told_after(study)
    assert (kind, before) == ("sealed", "not sealed")
    assert now == "sealed before the first launch, at 2026-09-15 14:10:21 UTC, sha256 cccccccc"


def test_a_study_without_a_plan_has_a_state(study):
    assert studies.state_of(study)["contradictions"] == {}
