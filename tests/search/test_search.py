"""Whatever is recorded is found by its words, on both engines alike."""

from __future__ import annotations

import pytest
from django.test import Client
from django.urls import reverse
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.django import TestCase as HypothesisCase

from rlvram_site.ledger.models import LedgerStream
from search.documents import kinds
from search.finding import MOST_READ, Query, find, find_of_kind
from search.indexing import follow, is_behind, rebuild
from search.models import SearchDocument, SearchPosition
from search.snippets import marked
from studies.models import Event
from tests.factories import make_study


def labels(text: str) -> set[str]:
    return {row.label for group in find(Query.of(text)).groups for row in group.documents}


def test_every_kind_of_record_is_found_and_leads_to_its_page(client, sample_studies, art_848):
    follow()
    assert set(SearchDocument.objects.values_list("kind", flat=True)) >= {
        "study", "pool", "configuration", "slot", "attempt", "never-launched", "event", "allocation", "seal",
        "protocol", "amendment", "source", "model", "issue", "change", "head", "review", "witness",
        "measurement", "receipt", "statement", "correction", "question", "related", "comment",
    }  # fmt: skip
    for kind in kinds():
        row = SearchDocument.objects.filter(kind=kind).last()
        if row is not None:
            address, _, place = row.address.partition("#")
            answer = client.get(address)
            assert answer.status_code == 200, row.address
            assert not place or f'id="{place}"' in answer.content.decode(), row.address


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("math c2 2gpu seed", "est-qwen25-7b-math-c2-s152-2gpu"),
        ("MATH-C2-S152-2", "est-qwen25-7b-math-c2-s152-2gpu"),
        ("120e29a146294722", "host-qwen25-7b-math-c2-s161-2gpu-j5055864"),
        ("888", "#888"),
        ("mccarthy #877 clear", "McCarthy on #877: clear"),
    ],
)
def test_names_hashes_numbers_people_and_words(client, sample_studies, art_848, words, found):
    follow()
    answer = client.get("/search/", {"q": words}).content.decode()
    assert any(label.startswith(found) for label in labels(words))
    assert 'class="result"' in answer


def test_a_page_of_results_marks_the_words_and_says_how_many(client, sample_studies):
    follow()
    answer = client.get("/search/", {"q": "granite"}).content.decode()
    assert "<mark>granite</mark>" in answer
    assert "All 58 configurations" in answer
    more = client.get("/search/", {"q": "granite", "kind": "configuration"}).content.decode()
    assert more.count('class="result"') == 50
    assert 'rel="next"' in more


def test_pages_of_one_kind_follow_each_other_without_gap(db, sample_studies):
    follow()
    query, before, seen = Query.of("granite"), None, []
    while True:
        page = find_of_kind(query, "configuration", before)
        seen += [row.pk for row in page.documents]
        before = page.next_before
        if before is None:
            break
    assert len(seen) == len(set(seen)) == 58


def test_what_was_recorded_a_moment_ago_is_found(client, db):
    study = make_study(slug="panel")
    client.get("/search/", {"q": "panel"})
    Event(study=study, position=0, kind="repair", status="noted", title="A drive was replaced").save()
    assert "A <mark>drive</mark> was replaced" in client.get("/search/", {"q": "drive"}).content.decode()


def test_an_index_that_lags_says_so(client, db, monkeypatch):
    study = make_study(slug="panel")
    for position in range(4):
        Event(study=study, position=position, kind="x", status="noted", title=f"event {position}").save()
    monkeypatch.setattr("search.views.FOLLOWED_AT_ONCE", 2)
    assert "newest records are not found yet" in client.get("/search/", {"q": "event"}).content.decode()
    follow()
    assert "not found yet" not in client.get("/search/", {"q": "event"}).content.decode()


def test_a_rebuild_gives_the_same_rows(db, sample_studies):
    def rows():
        return list(
            SearchDocument.objects.order_by("record_type", "record_id").values_list(
                "record_type", "record_id", "kind", "label", "haystack", "address"
            )
        )

    follow(300)
    follow()
    before = rows()
    assert not is_behind()
    assert rebuild() == sum(SearchPosition.objects.values_list("sequence", flat=True))
    assert rows() == before


def test_a_stream_without_records_is_not_behind(db):
    LedgerStream.objects.create(name="study/nothing")
    assert not is_behind()
    assert follow() == 0


@pytest.mark.parametrize(
    "words",
    ["", "   ", "%", "_", '"', "'", "\\", "a\x00b", "x" * 5000, '" OR haystack:*', "NEAR(a b)", "c2 %%", "é́"],
)
def test_no_query_breaks_the_page(client, sample_studies, words):
    assert client.get("/search/", {"q": words}).status_code == 200
    assert client.get("/search/", {"q": words, "kind": "slot", "before": "9" * 30}).status_code == 200


def test_hostile_words_stay_words(client, db):
    study = make_study(slug="panel")
    Event(study=study, position=0, kind="x", status="noted", title="<script>alert(1)</script> drive").save()
    answer = client.get("/search/", {"q": "drive <script>"}).content.decode()
    assert "<script>alert" not in answer
    assert "<mark>&lt;script&gt;</mark>alert(1)" in answer


def test_a_private_site_lets_nobody_search_without_a_login(client, db, private_site):
    make_study(slug="panel")
    assert client.get("/search/", {"q": "panel"}).status_code == 302
    assert client.get("/api/v1/search/", {"q": "panel"}).status_code == 401


def test_programs_search_too(client, sample_studies):
    follow()
    answer = client.get("/api/v1/search/", {"q": "amendment 1"}).json()
    first = answer["results"][0]
    assert (first["kind"], first["label"]) == ("amendment", "amendment 1")
    assert first["address"] == reverse("protocol", args=["estimation"]) + "#amendment-1"
    page = client.get("/api/v1/search/", {"q": "granite", "kind": "configuration"}).json()
    assert (len(page["results"]), page["more"]) == (50, True)
    rest = {"q": "granite", "kind": "configuration", "before": page["next_before"]}
    assert len(client.get("/api/v1/search/", rest).json()["results"]) == 8


@pytest.mark.parametrize(
    ("asked", "field"),
    [
        ({}, "q"),
        ({"q": " "}, "q"),
        ({"q": "a", "kind": "cat"}, "kind"),
        ({"q": "a", "before": "x"}, "before"),
    ],
)
def test_a_wrong_question_of_a_program_is_named(client, db, asked, field):
    answer = client.get("/api/v1/search/", asked)
    assert answer.status_code == 400
    assert field in str(answer.json())


class AnyWords(HypothesisCase):
    """The index finds what Python finds by looking at every row."""

    @classmethod
    def setUpTestData(cls) -> None:
        study = make_study(slug="panel")
        titles = [
            "Größe 143,771 MiB",
            "OOM in rank-7",
            "a%b_c",
            "İstanbul",
            "naïve “quotes” it's",
            "c2 c3",
            "日本語の題",
        ]
        for position, title in enumerate(titles):
            Event(
                study=study, position=position, kind="x", status="noted", title=title, detail="drive"
            ).save()
        follow()

    @settings(max_examples=60)
    @given(st.data())
    def test_any_words(self, data) -> None:
        haystacks = {row.pk: row.haystack for row in SearchDocument.objects.all()}
        source = data.draw(st.sampled_from(sorted(haystacks.values())))
        begin = data.draw(st.integers(0, len(source) - 1))
        piece = source[begin : begin + data.draw(st.integers(1, 12))]
        query = Query.of(piece)
        wanted = {
            pk
            for pk, text in haystacks.items()
            if query.words and not query.by_name_only and all(word in text for word in query.words)
        }
        found = {
            row.pk
            for row in (find_of_kind(query, "event").documents + find_of_kind(query, "study").documents)
        }
        assert query.by_name_only or found == wanted


@given(st.text(max_size=300), st.lists(st.text(min_size=1, max_size=5), max_size=4))
def test_marking_changes_no_character(text: str, words: list[str]) -> None:
    import html

    shown = str(marked(text, [word.lower() for word in words]))
    plain = html.unescape(shown.replace("<mark>", "").replace("</mark>", ""))
    plain = plain.removeprefix("… ").removesuffix(" …")
    assert plain in text or text.startswith("… ") or text.endswith(" …")


def test_a_query_is_bounded() -> None:
    query = Query.of("word " * 500)
    assert len(query.text) <= 300
    assert query.words == ("word",)
    assert MOST_READ >= 1000


def test_the_search_is_on_every_page(client: Client, db) -> None:
    assert 'role="search"' in client.get("/").content.decode()
