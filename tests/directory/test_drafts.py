"""A study written step by step on pages: kept whatever it says, frozen when it is whole."""

from __future__ import annotations

import io
import json
import zipfile

import pytest

from rlvram_site.ledger.models import LedgerEntry
from rlvram_site.owners import OwnerGrant, OwnerGrantEnd
from studies.models import SourceFile, Study, StudyDraft
from studies.services.plan.study_drafts import example_files
from tests.api.conftest import Api, make_person
from tests.checkpoints.published import config_of


@pytest.fixture
def owner(db, client):
    """Signed in as somebody whom staff made an owner of studies."""
    person = make_person("ada", "reviewer")
    OwnerGrant(person=person, reason="runs a cluster").save()
    client.force_login(person)
    return person


@pytest.fixture
def draft(owner, client):
    """The example as a draft."""
    client.post("/drafts/", {"example": "1"})
    return StudyDraft.objects.get()


def text_of(answer) -> str:
    return answer.content.decode().replace("&#x27;", "'")


def zipped(files) -> io.BytesIO:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for path, content in files.items():
            archive.writestr(path, content)
    out.seek(0)
    out.name = "study.zip"
    return out


def test_the_example_is_whole_and_freezing_it_records_a_study(client, draft):
    assert draft.title == "Does a 14-billion model fit on 80 GB devices?"
    page = text_of(client.get(f"/drafts/{draft.pk}/"))
    assert "Nothing is missing" in page
    assert "slots: 80" in page
    assert not Study.objects.exists()
    answer = client.post(f"/drafts/{draft.pk}/freeze/", {"version": draft.version})
    study = Study.objects.get()
    assert answer["Location"] == study.get_absolute_url()
    assert LedgerEntry.objects.filter(stream__name=study.stream).first().actor == "ada"
    paths = SourceFile.objects.filter(study=study).values_list("path", flat=True)
    assert {"study.yaml", "pool.csv", "models/qwen25-14b/config.json"} <= set(paths)
    again = client.post(f"/drafts/{draft.pk}/freeze/", {"version": draft.version}, follow=True)
    assert "recorded already" in text_of(again)
    changed = client.post(f"/drafts/{draft.pk}/protocol/", {"version": 0, "protocol.yaml": "x: 1"})
    assert (changed.status_code, Study.objects.count()) == (422, 1)


def test_a_broken_text_is_kept_and_every_problem_is_listed_in_its_step(client, draft):
    text = example_files()["protocol.yaml"].decode().replace("memory_margin_limit_mib: 70000", "")
    address = f"/drafts/{draft.pk}/protocol/"
    assert client.post(address, {"version": 0, "protocol.yaml": text}).status_code == 302
    page = text_of(client.get(address))
    assert "memory_margin_limit_mib" in page
    assert "1. Study</a>" in page
    assert "4. Protocol (" in page
    assert "to mend before this can be recorded" in text_of(client.get(f"/drafts/{draft.pk}/"))
    refused = client.post(f"/drafts/{draft.pk}/freeze/", {"version": 1}, follow=True)
    assert "Nothing was recorded" in text_of(refused)
    assert not Study.objects.exists()


def test_a_second_window_does_not_undo_what_the_first_one_saved(client, draft):
    address = f"/drafts/{draft.pk}/study/"
    client.post(address, {"version": 0, "study.yaml": "title: First"})
    answer = client.post(address, {"version": 0, "study.yaml": "title: Second"})
    assert answer.status_code == 422
    assert "somebody saved this draft" in text_of(answer).lower()
    assert "title: Second" in text_of(answer)
    draft.refresh_from_db()
    assert draft.title == "First"


def test_a_model_is_added_and_taken_away(client, draft):
    address = f"/drafts/{draft.pk}/models/"
    config = json.dumps(config_of("Qwen/Qwen2.5-32B"))
    client.post(address, {"version": 0, "name": "qwen25-32b", "text": config})
    assert "models/qwen25-32b/config.json" in text_of(client.get(address))
    client.post(address, {"version": 1, "remove": "models/qwen25-14b/config.json"})
    assert "models/qwen25-14b/config.json" in text_of(client.get(address))  # the problem names it
    assert "to mend" in text_of(client.get(address))
    for wrong in (
        {"name": "../x", "text": config},
        {"name": "a"},
        {"name": "a", "text": config, "version": "x"},
    ):
        assert client.post(address, {"version": 2} | wrong).status_code == 422


def test_a_matrix_is_written_out_as_configurations(client, draft):
    address = f"/drafts/{draft.pk}/configurations/"
    texts = {path: content.decode() for path, content in example_files().items() if "/" not in path}
    sent = texts | {"version": 0, "configurations.csv": "", "expand": "1"}
    assert client.post(address, sent).status_code == 302
    assert "Nothing is missing" in text_of(client.get(f"/drafts/{draft.pk}/"))
    wrong = client.post(address, sent | {"version": 1, "matrix.yaml": "models: []"})
    assert wrong.status_code == 422
    assert "matrix.yaml:1: models is []" in text_of(wrong)


def test_an_uploaded_folder_becomes_a_draft_and_a_wrong_one_is_refused(client, owner):
    answer = client.post("/drafts/", {"archive": zipped(example_files())})
    assert "Nothing is missing" in text_of(client.get(answer["Location"]))
    for sent in ({}, {"archive": zipped({"setup.py": b""})}, {"archive": io.BytesIO(b"no archive")}):
        assert client.post("/drafts/", sent).status_code == 422
    assert StudyDraft.objects.count() == 1


def test_who_has_no_login_is_offered_one(client, db):
    answer = client.get("/drafts/")
    assert answer.status_code == 403
    assert 'href="/login/?next=%2Fdrafts%2F"' in answer.content.decode()


def test_only_the_owner_and_staff_see_a_draft(client, draft):
    address = f"/drafts/{draft.pk}/"
    client.force_login(make_person("eve", "uploader"))
    assert client.get(address).status_code == 403
    other = make_person("bob", "reviewer")
    grant = OwnerGrant(person=other, reason="too")
    grant.save()
    client.force_login(other)
    assert client.get(address).status_code == 404
    assert draft.title not in text_of(client.get("/drafts/"))
    assert client.post(f"{address}away/").status_code == 404
    OwnerGrantEnd(grant=grant, reason="left").save()
    assert client.get("/drafts/").status_code == 403
    client.force_login(make_person("staff", is_staff=True))
    assert client.get(address).status_code == 200
    client.post(f"{address}away/")
    assert not StudyDraft.objects.exists()


def test_the_same_files_through_the_api_find_the_same_study(client, owner):
    api = Api(client, {})
    files = {path: content.decode() for path, content in example_files().items()}
    checked = api.post("study-check/", {"files": files}).json()
    assert (checked["accepted"], checked["problems"]) == (True, [])
    first = api.post("studies/", {"files": files})
    assert first.status_code == 201, first.content
    again = api.form("studies/", {"archive": zipped(example_files())})
    assert (again.status_code, again.json()["slug"]) == (200, first.json()["slug"])
    changed = api.post("studies/", {"files": files | {"study.yaml": files["study.yaml"] + "\n# other\n"}})
    assert changed.status_code == 400
    assert "study.yaml" in changed.json()["error"]["fields"][0]["field"]
    assert Study.objects.count() == 1
    for wrong in ({}, {"files": {"../x": ""}}, {"files": {"study.yaml": "a: ["}}):
        assert api.post("studies/", wrong).status_code == 400
    broken = api.post("study-check/", {"files": {"study.yaml": "slug: A B"}}).json()
    assert not broken["accepted"]
    assert {"study.yaml", "protocol.yaml", "configurations.csv"} <= {
        item["file"] for item in broken["problems"]
    }


def test_a_model_is_added_to_a_pool_that_is_there(client, owner):
    api = Api(client, {})
    api.post("studies/", {"files": {path: content.decode() for path, content in example_files().items()}})
    address = "pools/example-earlier-runs/architectures/"
    sent = {"model_id": "Qwen/Qwen2.5-32B", "family": "qwen25", "lora_rank": 64,
            "config": config_of("Qwen/Qwen2.5-32B")}  # fmt: skip
    first = api.post(address, sent)
    assert (first.status_code, first.json()["floating_checkpoint_elements"]) == (201, 32_763_876_352)
    assert api.post(address, sent).status_code == 200
    assert api.post(address, sent | {"lora_rank": 32}).status_code == 409
    assert api.post(address, sent | {"model_id": "x", "config": {"model_type": "mamba"}}).status_code == 400
    assert len(api.get(address).json()["results"]) == 3
