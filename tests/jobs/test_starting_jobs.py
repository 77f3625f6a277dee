"""Starting, cancelling, retrying and rerunning through the API and the pages, and who may."""

from __future__ import annotations

import pytest
from django.test import Client

from rlvram_site.ledger.models import AppendOnlyError
from studies.jobs import claims, kinds
from studies.jobs.values import JobOutput, Progress
from studies.models import Job
from tests.api.conftest import key_for, make_person
from tests.factories import make_small_study, make_study


@pytest.fixture
def study(db):
    return make_small_study(slug="demo")


@pytest.fixture
def starter(study):
    return key_for("read", "jobs")


def page_for(*groups: str, **fields) -> Client:
    client = Client()
    client.force_login(make_person("person", *groups, **fields))
    return client


def finish(job: Job) -> None:
    claim = claims.claim(job.pk, "a worker")
    assert claim
    claims.succeed(
        claim, lambda: JobOutput("Done.", [], {"answer": 42}), progress=Progress(1, 1, "done"),
        input_sha256="a" * 64, environment={"python": "3.11"},
    )  # fmt: skip


def test_a_job_is_started_and_read_through_the_api(starter):
    answer = starter.post("jobs/", {"kind": "refit", "study": "demo"})
    assert answer.status_code == 201, answer.content
    job = answer.json()
    assert (job["state"], job["queue"], job["parameters"]) == (
        "queued", "numerics", {"recorded_environment": False}
    )  # fmt: skip
    assert [row["id"] for row in starter.get("jobs/?study=demo&state=queued").json()["results"]] == [
        job["id"]
    ]
    events = starter.get(f"jobs/{job['id']}/").json()["events"]
    assert [event["what"] for event in events] == ["queued"]
    assert events[0]["actor"].startswith("key ")
    assert starter.get(f"jobs/{job['id']}/result/").status_code == 404
    finish(Job.objects.get())
    result = starter.get(f"jobs/{job['id']}/result/").json()
    assert (result["sentence"], result["document"]) == ("Done.", {"answer": 42})


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"kind": "refit"}, "study"),
        ({"kind": "refit", "study": "unknown"}, "study"),
        ({"kind": "nothing", "study": "demo"}, "kind"),
        ({"study": "demo"}, "kind"),
        ({"kind": "refit", "study": "demo", "parameters": {"fast": True}}, "parameters.fast"),
        (
            {"kind": "refit", "study": "demo", "parameters": {"recorded_environment": "yes"}},
            "parameters.recorded_environment",
        ),
        ({"kind": "verify", "study": "demo", "parameters": {}}, "parameters.archive"),
        ({"kind": "import", "study": "demo"}, "study"),
        ({"kind": "import"}, "parameters.source"),
        ({"kind": "import", "parameters": {"source": "../site.sqlite3"}}, "parameters.source"),
        ({"kind": "import", "parameters": {"source": "/etc/passwd"}}, "parameters.source"),
        ({"kind": "import", "parameters": {"source": "a\u0000b"}}, "parameters"),
        ({"kind": "refit", "study": "demo", "colour": "red"}, "colour"),
    ],
)
def test_wrong_requests_name_the_field_and_queue_nothing(starter, body, field):
    answer = starter.post("jobs/", body)
    assert answer.status_code == 400, answer.content
    assert [item["field"] for item in answer.json()["error"]["fields"]] == [field]
    assert not Job.objects.exists()


def test_a_job_is_cancelled_retried_and_run_anew_through_the_api(starter):
    number = starter.post("jobs/", {"kind": "evaluate", "study": "demo"}).json()["id"]
    assert starter.post(f"jobs/{number}/retry/", {}).status_code == 409
    assert starter.post(f"jobs/{number}/rerun/", {}).status_code == 409
    assert starter.post(f"jobs/{number}/cancel/", {}).json()["state"] == "cancelled"
    assert starter.post(f"jobs/{number}/cancel/", {}).status_code == 409
    assert starter.post(f"jobs/{number}/retry/", {}).json()["state"] == "queued"
    finish(Job.objects.get())
    anew = starter.post(f"jobs/{number}/rerun/", {"afresh": True})
    assert (anew.status_code, anew.json()["rerun_of"], anew.json()["afresh"]) == (201, number, True)
    assert starter.get("jobs/999/").status_code == 404


@pytest.mark.parametrize(
    ("caller", "refit", "importing"),
    [
        ("nobody", 401, 401),
        ("a reviewer", 403, 403),
        ("an uploader", 201, 403),
        ("staff", 201, 400),
        ("a key without the scope", 403, 403),
        ("a key of another study", 403, 403),
    ],
)
def test_who_may_start_what(private_site, study, caller, refit, importing):
    match caller:
        case "nobody":
            post = Client().post
        case "a reviewer":
            post = page_for("reviewer").post
        case "an uploader":
            post = page_for("uploader").post
        case "staff":
            post = page_for(is_staff=True).post
        case "a key without the scope":
            key = key_for("read", "attempts")
            post = Client(headers=key.headers).post
        case _:
            key = key_for("read", "jobs", study=make_study(slug="other"))
            post = Client(headers=key.headers).post
    for body, status in (({"kind": "refit", "study": "demo"}, refit), ({"kind": "import"}, importing)):
        # 400: staff may ask; the archive is what is missing.
        assert post("/api/v1/jobs/", body, content_type="application/json").status_code == status, body


def test_a_key_of_one_study_sees_no_other_jobs(starter, study):
    starter.post("jobs/", {"kind": "evaluate", "study": "demo"})
    other = key_for("read", "jobs", study=make_study(slug="other"))
    assert other.get("jobs/").json()["results"] == []
    assert other.get(f"jobs/{Job.objects.get().pk}/").status_code == 403


def test_the_button_on_a_study_starts_a_job(study):
    staff = page_for(is_staff=True)
    assert b"job-start" not in Client().get("/studies/demo/").content
    answer = staff.post("/jobs/start/", {"kind": "evaluate", "study": "demo"}, follow=True)
    job = Job.objects.get()
    assert answer.redirect_chain == [(f"/jobs/{job.pk}/", 302)]
    assert "Waiting for a worker of the queue default." in answer.content.decode()
    assert job.created_by == "person"


def test_the_page_asks_for_the_forgery_token_and_for_permission(study):
    form = {"kind": "evaluate", "study": "demo"}
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(make_person("staff", is_staff=True))
    assert strict.post("/jobs/start/", form).status_code == 403
    assert page_for("reviewer").post("/jobs/start/", form).status_code == 403
    assert Client().post("/jobs/start/", form).status_code == 403
    assert Client().get("/jobs/start/").status_code == 405
    assert not Job.objects.exists()


def test_a_page_lists_jobs_and_narrows_them(starter, client):
    assert "Nothing was started yet" in client.get("/jobs/").content.decode()
    first = starter.post("jobs/", {"kind": "evaluate", "study": "demo"}).json()["id"]
    starter.post("jobs/", {"kind": "refit", "study": "demo"})
    finish(Job.objects.get(pk=first))
    page = client.get("/jobs/").content.decode()
    assert "0 running, 1 waiting." in page
    narrowed = client.get("/jobs/?state=succeeded&kind=evaluate&study=demo").content.decode()
    assert f'href="/jobs/{first}/"' in narrowed
    assert "1 job, newest first" in narrowed
    wrong = client.get("/jobs/?state=asleep")
    assert wrong.status_code == 400
    assert "state is &#x27;asleep&#x27;, expected one of queued" in wrong.content.decode()


def test_the_page_of_a_failed_job_says_why_and_offers_a_retry(starter):
    number = starter.post("jobs/", {"kind": "evaluate", "study": "demo"}).json()["id"]
    claim = claims.claim(number, "host process 1")
    assert claim
    claims.fail(claim, "The pool lacks <three> rows.", Progress(1, 3, "reading", "a line"), {})
    staff = page_for(is_staff=True)
    page = staff.get(f"/jobs/{number}/").content.decode()
    assert '<p class="sentence">The pool lacks &lt;three&gt; rows.</p>' in page
    assert ">Retry<" in page
    assert ">Retry<" not in Client().get(f"/jobs/{number}/").content.decode()
    staff.post(f"/jobs/{number}/retry/")
    page = staff.get(f"/jobs/{number}/").content.decode()
    assert "Waiting for a worker" in page
    assert "The pool lacks &lt;three&gt; rows." in page, "the history keeps it"
    assert staff.post(f"/jobs/{number}/cancel/", follow=True).status_code == 200
    refused = staff.post(f"/jobs/{number}/cancel/", follow=True).content.decode()
    assert "has ended; there is nothing to cancel" in refused
    assert Client().get("/jobs/99/").status_code == 404


def test_history_and_result_are_never_changed(starter):
    starter.post("jobs/", {"kind": "evaluate", "study": "demo"})
    job = Job.objects.get()
    finish(job)
    for row in (job.events.first(), job.outcome):
        with pytest.raises(AppendOnlyError):
            row.delete()
        with pytest.raises(AppendOnlyError):
            type(row).objects.filter(pk=row.pk).update(job=job)


def test_whatever_can_be_computed_is_done_by_workers():
    elsewhere = {kind.name for kind in kinds.all_kinds() if kinds.is_done_elsewhere(kind.name)}
    assert elsewhere == {kind.name for kind in kinds.all_kinds() if not hasattr(kind, "compute")}
    assert elsewhere == {"run-slots"}
