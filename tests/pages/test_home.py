"""The first page: what changed, the studies, and how to begin when there is nothing."""

from __future__ import annotations

import datetime as dt

import pytest
from django.contrib.auth.models import User
from django.template import Context, Template
from django.utils import timezone

from rlvram_site.ledger.chain import acting, record_all
from studies.models import Event, Study
from tests.factories import make_study
from tests.pages.reading import sentence_of, text_of


def changes(response) -> list[str]:
    """The listed changes as text, the newest first."""
    items = response.content.decode().split('<ul class="changes">')[1:]
    lines = [line for part in items for line in part.split("</ul>")[0].split("<li>")[1:]]
    return [" ".join(text_of(type("R", (), {"content": line.encode()})).split()) for line in lines]


def visited(client, ago: dt.timedelta) -> None:
    """This browser was here that long ago."""
    session = client.session
    session["visit"] = {"latest": (timezone.now() - ago).isoformat(), "since": None}
    session.save()


def make_event(study: Study, position: int) -> Event:
    return Event(study=study, position=position, kind="note", status="noted", title=f"Event {position}")


@pytest.mark.usefixtures("sample_studies")
class TestWithStudies:
    def test_each_study_has_its_state_in_one_line(self, client):
        text = text_of(client.get("/"))
        assert "6 of 12 resolved · sealed 2026-09-15 14:10:21 UTC · 1 amendment before launch" in text
        assert "3 of 6 resolved · sealed 2026-09-15 18:52:11 UTC · no amendment" in text

    def test_a_small_panel_has_one_mark_for_each_configuration_and_method(self, client):
        page = client.get("/").content.decode()
        assert page.count('class="cell ') == (12 + 6) * 3
        assert page.count('class="cell state-approved-failed"') == 6 + 3
        assert page.count('class="cell state-approved-unscored-known-failure"') == 3

    def test_a_whole_import_is_one_line(self, client):
        lines = changes(client.get("/"))
        shown = [item for item in lines if "study Memory estimation, seven-billion panel :" in item]
        [line] = [item for item in shown if item.endswith("by import")]
        assert "306 predictions, 53 source files, 36 seed slots and" in line
        assert line.endswith("by import")

    def test_the_first_visit_says_how_many_studies_there_are(self, client):
        assert sentence_of(client.get("/")) == "Two studies recorded here, each counted on its own."

    def test_a_later_visit_says_what_is_new(self, client):
        visited(client, dt.timedelta(hours=1))
        study = Study.objects.get(slug="estimation")
        with acting("reviewer"):
            record_all([make_event(study, 100)])
        response = client.get("/")
        assert sentence_of(response).endswith("since your last visit.")
        assert changes(response)[0].endswith(
            "event study Memory estimation, seven-billion panel : 1 event by reviewer"
        )

    def test_a_reload_does_not_hide_what_is_new(self, client):
        visited(client, dt.timedelta(hours=1))
        record_all([make_event(Study.objects.get(slug="estimation"), 100)])
        first, second = client.get("/"), client.get("/")
        assert sentence_of(first) == sentence_of(second)

    def test_nothing_new_is_said_and_earlier_changes_stay_in_reach(self, client):
        visited(client, dt.timedelta(hours=1))
        session = client.session
        session["visit"] = {
            "latest": timezone.now().isoformat(),
            "since": (timezone.now() + dt.timedelta(seconds=1)).isoformat(),
        }
        session.save()
        response = client.get("/")
        assert sentence_of(response) == "Nothing was recorded since your last visit."
        assert any("study Expanded host memory, follow-up :" in line for line in changes(response))

    def test_a_card_follows_what_is_recorded_after_it_was_first_shown(self, client):
        client.get("/")
        make_study(slug="second", title="A second question")
        assert "Study second has no protocol yet." in text_of(client.get("/"))

    def test_more_records_need_no_more_queries(self, client, django_assert_max_num_queries):
        study = Study.objects.get(slug="estimation")
        client.get("/")
        with django_assert_max_num_queries(100) as few:
            client.get("/")
        for start in range(200, 500, 100):
            record_all([make_event(study, position) for position in range(start, start + 100)])
        client.get("/")
        with django_assert_max_num_queries(100) as many:
            client.get("/")
        assert len(many) <= len(few)


@pytest.mark.django_db
class TestEmptySite:
    def test_there_are_three_ways_to_begin(self, client):
        response = client.get("/")
        text = text_of(response)
        assert sentence_of(response) == "Nothing is recorded on this site yet."
        for command in ("load_samples", "import_study PATH", "new_study my-study", "create_study my-study"):
            assert f"python manage.py {command}" in text
        assert "Begin a study of your own" in text
        assert "Log in as staff to load them here" in text

    def test_staff_load_the_samples_with_a_button(self, client):
        client.force_login(User.objects.create_user("staff", is_staff=True))
        assert "Load the sample studies" in text_of(client.get("/"))
        response = client.post("/begin/samples/", follow=True)
        assert "The sample studies are loaded." in text_of(response)
        assert sorted(Study.objects.values_list("slug", flat=True)) == ["estimation", "host-capacity"]

    def test_nobody_else_may_load_the_samples(self, client):
        response = client.post("/begin/samples/")
        assert response.status_code == 403
        assert "Only staff may load the sample studies." in text_of(response)
        assert not Study.objects.exists()

    def test_asking_for_the_samples_without_the_button_does_nothing(self, client):
        assert client.get("/begin/samples/").status_code == 405


@pytest.mark.django_db
def test_many_studies_come_page_by_page(client):
    for number in range(30):
        make_study(title=f"Study number {number}")
    first = client.get("/").content.decode()
    assert (first.count('<li class="card">'), "1–24 of 30 studies" in first) == (24, True)
    second = client.get("/?page=2").content.decode()
    assert second.count("Study number") >= 6
    assert "25–30 of 30 studies" in second
    assert client.get("/?page=none").status_code == 200


def test_a_part_that_another_app_does_not_have_is_left_out():
    template = Template('{% load navigation %}[{% part_if_there "nobody/_home.html" %}]')
    assert template.render(Context({})) == "[]"


def test_the_navigation_links_to_no_page_that_is_not_there():
    template = Template('{% load navigation %}[{% page_address "no-such-page" 1 %}]')
    assert template.render(Context({})) == "[]"
