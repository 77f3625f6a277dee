"""Pages of studies that are empty, half written or very large, and what all pages have in common."""

from __future__ import annotations

import pytest

from tests.factories import make_small_study, make_study
from tests.pages.reading import sentence_of, text_of
from tests.pages.worlds import make_large_study

PAGES = ("configurations/", "outcomes/", "history/", "methods/")
REAL = (
    *(f"/studies/{slug}/{page}" for slug in ("estimation", "host-capacity") for page in PAGES),
    "/studies/estimation/configurations/est-qwen25-7b-gsm8k-c2-2gpu/",
    "/studies/estimation/slots/est-qwen25-7b-math-c2-s153-2gpu/",
    "/studies/estimation/attempts/est-qwen25-7b-math-c2-s153-2gpu-j5054339/",
    "/pools/rlvrambench/",
    "/pools/rlvrambench/configurations/",
    "/pools/rlvrambench/configurations/cfg-338d9224eb9d2f3a/",
)


@pytest.mark.parametrize("address", REAL)
def test_every_page_opens_with_a_sentence_and_has_nothing_inline(client, sample_studies, address):
    response = client.get(address)
    assert response.status_code == 200
    assert sentence_of(response)
    source = response.content.decode()
    assert "style=" not in source
    assert "<style" not in source
    data = source.count('<script type="application/json"')
    assert source.count("<script") == source.count("<script src=") + data


@pytest.mark.parametrize("page", PAGES)
def test_an_empty_study_says_what_is_missing(client, db, page):
    make_study(slug="empty")
    response = client.get(f"/studies/empty/{page}")
    assert response.status_code == 200
    assert sentence_of(response)


@pytest.mark.parametrize("page", PAGES)
def test_a_study_whose_protocol_is_not_complete_says_so(client, db, page):
    make_small_study(slug="draft")
    response = client.get(f"/studies/draft/{page}")
    assert response.status_code == 200
    assert "yet" in sentence_of(response) or "none has predicted anything" in sentence_of(response)


def test_a_draft_cannot_be_downloaded_and_says_why(client, db):
    make_study(slug="empty")
    response = client.get("/studies/empty/configurations.csv")
    assert response.status_code == 409
    assert "no protocol yet" in response.content.decode()


ADDRESSES = (
    "/studies/{}/configurations/",
    "/studies/{}/configurations/?state=unresolved&sort=-label",
    "/studies/{}/configurations/{}-0000/",
    "/studies/{}/outcomes/",
    "/studies/{}/history/",
    "/studies/{}/history/?as_of=2026-09-15T16:00:00",
    "/studies/{}/methods/",
    "/studies/{}/slots/{}-0000-s151/",
)


def test_more_configurations_need_no_more_queries(client, sample_studies, django_assert_max_num_queries):
    few, many = make_large_study(8, "few"), make_large_study(120, "many")
    for address in ADDRESSES:
        counts = []
        for study in (few, many):
            with django_assert_max_num_queries(60) as captured:
                assert client.get(address.format(study.slug, study.slug)).status_code == 200
            counts.append(len(captured))
        assert counts[1] <= counts[0], address


def test_a_panel_of_five_hundred_is_paged(client, sample_studies):
    make_large_study(500, "large")
    configurations = client.get("/studies/large/configurations/")
    assert sentence_of(configurations) == "334 of 500 planned configurations have a label."
    assert "1–50 of 500" in text_of(configurations)
    assert configurations.content.decode().count("<tr") < 60
    outcomes = client.get("/studies/large/outcomes/?page=10")
    assert "451–500 of 500" in text_of(outcomes)
    history = client.get("/studies/large/history/?page=2")
    assert "201–400 of 1501" in text_of(history)
    methods = client.get("/studies/large/methods/?page=5")
    assert "401–500 of 500" in text_of(methods)
