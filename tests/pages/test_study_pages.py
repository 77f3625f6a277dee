"""Unscored approvals, protocol, pairs, costs and events of a study."""

from __future__ import annotations

import pytest

from rlvram_site.ledger.chain import record_all
from studies.models import Allocation, Attempt, Event, SeedSlot, Study
from tests.pages.reading import figure_of, sentence_of, text_of

pytestmark = pytest.mark.usefixtures("sample_studies")

PAGES = ("", "unscored/", "protocol/", "pairs/", "costs/", "events/")


@pytest.mark.parametrize("page", PAGES)
@pytest.mark.parametrize("slug", ["estimation", "host-capacity"])
def test_every_page_opens_with_a_sentence_and_marks_its_place(client, slug, page):
    response = client.get(f"/studies/{slug}/{page}")
    assert response.status_code == 200
    assert sentence_of(response)[-1] == "."
    assert response.content.decode().count('aria-current="page"') == 1


@pytest.mark.parametrize("page", PAGES)
def test_every_page_of_an_unknown_study_is_a_404(client, page):
    assert client.get(f"/studies/nowhere/{page}").status_code == 404


@pytest.mark.parametrize("page", PAGES)
def test_no_page_has_inline_style_or_script(client, page):
    source = client.get(f"/studies/estimation/{page}").content.decode()
    assert "style=" not in source
    assert "<style" not in source
    assert "onclick=" not in source
    assert source.count("<script") == source.count("<script src=") + source.count(
        '<script type="application/json"'
    )


@pytest.mark.parametrize("page", PAGES)
def test_more_records_need_no_more_queries(client, page, django_assert_max_num_queries):
    study = Study.objects.get(slug="estimation")
    address = f"/studies/estimation/{page}"
    with django_assert_max_num_queries(100) as few:
        client.get(address)
    slots = list(SeedSlot.objects.filter(study=study))
    more = [
        Attempt(
            study=study, slot=slots[number % len(slots)], invocation_id=f"more-{number}",
            outcome="unresolved", origin="declared", source="test",
        )
        for number in range(150)
    ]  # fmt: skip
    events = [Event(study=study, position=100 + n, kind="n", status="noted", title="n") for n in range(100)]
    allocations = [
        Allocation(study=study, pair_id=f"more-{n}", job_id=str(n), gpu_count=4, scheduler_state="COMPLETED")
        for n in range(100)
    ]
    record_all([*more, *events, *allocations])
    with django_assert_max_num_queries(100) as many:
        client.get(address)
    assert len(many) == len(few)


class TestUnscored:
    def test_the_sentence_counts_known_failures(self, client):
        assert sentence_of(client.get("/studies/estimation/unscored/")) == (
            "Donor copy has six unscored approvals; three already have a known failure. "
            "Component regression has three unscored approvals, none with a known failure."
        )

    def test_each_row_says_who_approved_what_is_missing_and_why(self, client):
        text = text_of(client.get("/studies/estimation/unscored/"))
        assert "6 of 12 planned configurations are approved by some method and unresolved." in text
        assert (
            "GSM8K mathematics, c2, 4 GPUs donor copy component regression nothing 151 ? 152 ? 153 ? "
            "151, 152, 153: host memory exhausted (scheduler kill) Nothing can resolve it any more: "
            "seeds 151, 152 and 153 have each used the one attempt that the protocol permits" in text
        )
        assert (
            "151 ✕ 152 ? 153 ✕ 152: never launched: the scheduler answered with another allocation "
            "Nothing can resolve it any more: seed 152 has used the one attempt that the protocol permits"
            in text
        )

    def test_the_follow_up_counts_its_own(self, client):
        assert sentence_of(client.get("/studies/host-capacity/unscored/")) == (
            "Donor copy has three unscored approvals, none with a known failure. "
            "Component regression has three unscored approvals, none with a known failure."
        )


class TestProtocol:
    def test_the_sentence_says_what_amended_it(self, client):
        assert sentence_of(client.get("/studies/estimation/protocol/")) == (
            "Protocol estimation-1.0 holds as amended: amendment 1 changed four keys."
        )
        assert sentence_of(client.get("/studies/host-capacity/protocol/")) == (
            "Protocol host-capacity-1.0 holds as it was frozen; nothing amended it."
        )

    def test_an_amendment_is_shown_as_what_it_took_and_gave(self, client):
        page = client.get("/studies/estimation/protocol/").content.decode()
        assert "<del>actor_parameter_offload</del>" in page
        assert "<ins>resident_actor_shards_gib</ins>" in page
        assert "<li>actor_shards_gib</li>" in page

    def test_the_word_for_it_is_derived(self, client):
        text = text_of(client.get("/studies/estimation/protocol/"))
        assert "It was recorded before anything was launched." in text

    def test_absent_files_are_reported_as_absent(self, client):
        text = text_of(client.get("/studies/estimation/protocol/"))
        assert text.count("named, not in the archive") == 22
        assert "benchmark/attempts.csv" in text


class TestPairs:
    def test_the_sentence_counts_both_sides(self, client):
        """The study's pairs table: eight pairs have an eligible outcome on both sides, none completed."""
        assert sentence_of(client.get("/studies/estimation/pairs/")) == (
            "18 matched pairs: eight with an eligible outcome on both sides, none completed on both sides, "
            "so there is no difference to report."
        )

    def test_an_unresolved_side_says_why(self, client):
        text = text_of(client.get("/studies/estimation/pairs/"))
        assert "est-qwen25-7b-math-c2-s153 math c2 153 2 GPUs" in text
        assert "unresolved: set-up error before the model was loaded" in text


class TestCosts:
    def test_the_three_scopes_stand_side_by_side(self, client):
        """The follow-up's published costs: 4.89 task-provisioned, 5.79 reserved, 0.08 preflight GPU-hours."""
        response = client.get("/studies/host-capacity/costs/")
        assert sentence_of(response) == (
            "The same work is 4.89 GPU-hours as task-provisioned GPU time, 5.61 GPU-hours as reservation "
            "during invocations, 5.79 GPU-hours as whole allocation: scopes that overlap and never add up. "
            "Preflights used 0.08 GPU-hours besides. Of the task-provisioned time 0.72 GPU-hours went to "
            "nine diagnosed memory failures and 4.17 GPU-hours went to nine attempts that established "
            "nothing."
        )
        [bars] = figure_of(response, "scopes")["data"]
        assert [round(hours, 2) for hours in bars["x"]] == [4.89, 5.61, 5.79]

    def test_an_unknown_record_is_counted_as_unknown(self, client):
        assert "17 known, 1 unknown" in text_of(client.get("/studies/estimation/costs/"))

    def test_the_evidence_is_counted_in_full_and_by_donors(self, client):
        text = text_of(client.get("/studies/estimation/costs/"))
        assert "Full fitting pool 90 270 308" in text
        assert "Distinct donors 10 30 34" in text

    def test_the_follow_up_leaves_the_evidence_to_its_parent(self, client):
        response = client.get("/studies/host-capacity/costs/")
        assert "Full fitting pool" not in text_of(response)
        assert 'href="/studies/estimation/costs/"' in response.content.decode()

    def test_every_allocation_is_listed(self, client):
        text = text_of(client.get("/studies/estimation/costs/"))
        assert "18 scheduler allocations." in text
        assert "2026-09-15 14:30:44 UTC 2026-09-15 14:32:15 UTC 364 364 364" in text


class TestEvents:
    def test_events_are_counted_by_how_they_ended(self, client):
        assert sentence_of(client.get("/studies/estimation/events/")) == (
            "Eleven events around the invocations: 5 completed, 2 failed, 2 cancelled and 2 noted."
        )

    def test_preflights_arrays_and_host_kills_are_there(self, client):
        text = text_of(client.get("/studies/estimation/events/"))
        assert "Preflight without training failed ✕ failed" in text
        assert "Array of 18 pairs cancelled, 2 had started" in text
        assert "The scheduler killed workers at the host limit of 196,608 MiB" in text
