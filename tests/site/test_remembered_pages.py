"""A page of a study is made once for each state of the ledger."""

from __future__ import annotations

import pytest
from django.core.cache import cache

from rlvram_site.shared_cache import SharedCache
from studies.models import Study
from tests.factories import make_attempt, make_study

PAGE = "/studies/estimation/"


@pytest.fixture(autouse=True)
def remembering(settings):
    settings.REMEMBER_PAGES = True
    cache.clear()
    yield
    cache.clear()


def test_the_second_reader_costs_a_look_at_the_ledger(client, sample_studies, django_assert_num_queries):
    first = client.get(PAGE)
    with django_assert_num_queries(1):
        second = client.get(PAGE)
    assert second.content == first.content
    assert second["ETag"] == first["ETag"]
    assert second["Content-Security-Policy"] == first["Content-Security-Policy"]


def test_a_browser_that_has_the_page_is_told_so(client, sample_studies):
    etag = client.get(PAGE)["ETag"]
    answer = client.get(PAGE, HTTP_IF_NONE_MATCH=etag)
    assert answer.status_code == 304
    assert answer.content == b""


def test_whatever_is_recorded_makes_the_page_anew(client, sample_studies):
    before = client.get(PAGE)
    study = Study.objects.get(slug="estimation")
    make_attempt(study.seedslots.first(), "memory_failure")
    after = client.get(PAGE, HTTP_IF_NONE_MATCH=before["ETag"])
    assert after.status_code == 200
    assert after["ETag"] != before["ETag"]


def test_another_page_of_a_list_is_another_page(client, sample_studies):
    assert client.get(f"{PAGE}?groups=2")["ETag"] != client.get(PAGE)["ETag"]


def test_somebody_who_is_logged_in_gets_a_page_of_their_own(client, admin_client, sample_studies):
    everybodys = client.get(PAGE)["ETag"]
    answer = admin_client.get(PAGE, HTTP_IF_NONE_MATCH=everybodys)
    assert answer.status_code == 200
    assert answer.get("ETag") != everybodys
    assert "Log out" in answer.content.decode()
    assert "Log out" not in client.get(PAGE).content.decode()


def test_a_page_that_says_which_files_are_there_is_made_each_time(client, sample_studies):
    assert "ETag" not in client.get(f"{PAGE}evidence/")


def test_a_page_that_is_not_there_is_not_remembered(client, sample_studies):
    assert client.get("/studies/nothing/").status_code == 404
    make_study(slug="nothing")
    assert client.get("/studies/nothing/").status_code == 200


def test_a_shared_cache_that_does_not_answer_is_an_empty_one():
    silent = SharedCache("redis://127.0.0.1:1/0", {})
    silent.set("a", 1)
    assert silent.get("a", "nothing") == "nothing"
    assert silent.get_many(["a"]) == {}
    assert silent.add("a", 1) is False
    with pytest.raises(ValueError, match="no 'a'"):
        silent.incr("a")
