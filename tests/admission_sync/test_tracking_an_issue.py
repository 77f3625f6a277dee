"""“Track this issue”: an address is pasted, a job reads it, and its page says how far it is."""

from __future__ import annotations

import pytest
from django.contrib.auth import get_user_model

from admission.models import Followed, TrackedIssue
from rlvram_site.api.keys import issue_key
from studies.jobs.running import run_job
from studies.models import Job
from tests.admission.conftest import reader_client, staff_client  # noqa: F401
from tests.admission_sync.forge import refuses

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _jobs_run_here(monkeypatch, settings):
    """No broker; and no heartbeat, whose own connection sees nothing of a test's transaction."""
    monkeypatch.setattr("studies.jobs.claims.send", lambda job: "")
    monkeypatch.setattr("studies.jobs.work.TICK_SECONDS", 3600)
    settings.JOB_LEASE_SECONDS = 6 * 3600


def paste(client, address: str, **more):
    return client.post("/admission/followed/", {"address": address, **more})


def test_from_the_pasted_address_to_the_issue(forge, staff_client):  # noqa: F811
    assert "Track this issue" in staff_client.get("/admission/").content.decode()
    answer = paste(staff_client, f" https://{forge.host}/octo/cat/issues/7#issuecomment-1 ")
    job = Job.objects.get()
    assert answer["Location"] == job.get_absolute_url()
    page = staff_client.get(job.get_absolute_url()).content.decode()
    assert "Waiting for a worker" in page
    assert "octo/cat#7" in page
    run_job(job.pk)
    page = staff_client.get(job.get_absolute_url()).content.decode()
    assert 'href="/admission/octo/cat/7/">octo/cat#7</a>' in page
    assert Followed.objects.get().created_by == "sam"
    listed = staff_client.get("/admission/followed/").content.decode()
    assert "1 issue of" in listed
    assert "is followed." in listed
    assert "✓ octo/cat#7:" in listed


def test_pasted_twice_it_is_read_once(forge, staff_client):  # noqa: F811
    paste(staff_client, "octo/cat#7")
    paste(staff_client, f"https://{forge.host}/Octo/cat/issues/7")
    assert Followed.objects.count() == 1
    run_job(Job.objects.get().pk)
    assert TrackedIssue.objects.count() == 1


@pytest.mark.parametrize(
    ("trouble", "words"),
    [
        (refuses(404), "was not found on"),
        (refuses(429, "Slow", retry_after="1800"), "is used up until"),
        (refuses(401), "refuses the token"),
    ],
)
def test_what_goes_wrong_is_said_on_the_jobs_page_and_in_the_list(forge, staff_client, trouble, words):  # noqa: F811
    forge.trouble("/issues/7", trouble)
    paste(staff_client, "octo/cat#7")
    job = Job.objects.get()
    run_job(job.pk)
    job.refresh_from_db()
    assert job.state == Job.State.FAILED
    assert words in job.error
    for page in (job.get_absolute_url(), "/admission/followed/"):
        assert words in staff_client.get(page).content.decode()


def test_without_a_network_it_says_so(forge, staff_client, settings):  # noqa: F811
    settings.FORGE_API_URL = "http://127.0.0.1:9"
    paste(staff_client, "octo/cat#7")
    run_job(Job.objects.get().pk)
    assert "github.com cannot be reached: no network" in Job.objects.get().error


@pytest.mark.parametrize(
    "address",
    ["", "nonsense", "https://elsewhere.org/a/b/issues/1", "a/b#99999999999", "\x00", "ftp://x/a/b"],
)
def test_a_wrong_address_is_said_at_the_field_and_kept(forge, staff_client, address):  # noqa: F811
    answer = paste(staff_client, address)
    assert answer.status_code == 400
    page = answer.content.decode()
    assert "expected something like" in page or "while this site follows" in page or "is empty" in page
    assert not Followed.objects.exists()
    assert not Job.objects.exists()


def test_hostile_text_stays_text(forge, staff_client):  # noqa: F811
    page = paste(staff_client, '"><script>alert(1)</script>').content.decode()
    assert "<script>alert" not in page


def test_readers_see_the_list_and_change_nothing(forge, reader_client):  # noqa: F811
    assert "Track this issue" not in reader_client.get("/admission/").content.decode()
    assert "Track this issue" not in reader_client.get("/admission/followed/").content.decode()
    assert paste(reader_client, "octo/cat#7").status_code == 403


def test_pause_resume_and_stop(forge, staff_client):  # noqa: F811
    paste(staff_client, "octo/cat#7")
    pk = Followed.objects.get().pk
    staff_client.post(f"/admission/followed/{pk}/pause/")
    assert Followed.objects.get().paused
    assert "1 paused" in staff_client.get("/admission/followed/").content.decode()
    staff_client.post(f"/admission/followed/{pk}/resume/")
    assert not Followed.objects.get().paused
    staff_client.post(f"/admission/followed/{pk}/stop/")
    assert not Followed.objects.exists()
    assert staff_client.post(f"/admission/followed/{pk}/stop/").status_code == 404


def test_the_lists_queries_do_not_grow(forge, staff_client, django_assert_max_num_queries):  # noqa: F811
    for number in range(1, 60):
        Followed.objects.create(host="h", owner="octo", name="cat", number=number, created_by="x")
    with django_assert_max_num_queries(8):
        assert "Next" in staff_client.get("/admission/followed/").content.decode()


@pytest.fixture
def call(client, db):
    """The API with a key of these scopes."""

    def caller(*scopes: str):
        owner = get_user_model().objects.create_user("olga", password="x", is_staff=True)
        _, secret = issue_key(name="ci", owner=owner, scopes=["read", *scopes])
        headers = {"Authorization": f"Api-Key {secret}"}

        def send(method: str, path: str, value=None):
            return getattr(client, method)(
                f"/api/v1/admission/followed/{path}", value, content_type="application/json", headers=headers
            )

        return send

    return caller


def test_through_the_api(forge, call):
    send = call("jobs")
    answer = send("post", "", {"address": "octo/cat#7"})
    assert answer.status_code == 201
    document = answer.json()
    assert (document["owner"], document["number"], document["issue"]) == ("octo", 7, None)
    run_job(document["job"])
    listed = send("get", "").json()["results"]
    assert [(row["issue"], row["problem"]) for row in listed] == [("octo/cat#7", "")]
    assert send("get", f"{document['id']}/").json()["synced_at"]
    assert send("delete", f"{document['id']}/").status_code == 204
    assert send("get", f"{document['id']}/").status_code == 404


def test_the_api_says_what_is_wrong_with_an_address(forge, call):
    send = call("jobs")
    for value in ({"address": "nonsense"}, {"address": 5}, {}, {"address": "octo/cat", "label": "a" * 101}):
        assert send("post", "", value).status_code == 400, value
    fields = send("post", "", {"address": "nonsense"}).json()["error"]["fields"]
    assert fields[0]["field"] == "address"


def test_the_api_needs_the_scope(forge, call):
    assert call()("post", "", {"address": "octo/cat#7"}).status_code == 403
