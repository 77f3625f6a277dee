"""Who may do what: every endpoint for every kind of caller."""

from __future__ import annotations

import datetime as dt
import hashlib

import pytest
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver
from django.utils import timezone

from rlvram_site.api.keys import ApiKey, ApiKeyRevocation, issue_key
from rlvram_site.owners import OwnerGrant
from studies.models import SeedSlot
from tests.api.conftest import Api, key_for, make_person
from tests.conftest import ROOT
from tests.factories import SETTINGS, make_attempt, make_prediction_set, make_small_study, make_study

FOLDER = ROOT / "studies" / "samples" / "new-study"
EXAMPLE = {
    path.relative_to(FOLDER).as_posix(): path.read_text()
    for path in FOLDER.rglob("*")
    if path.is_file() and path.name != "README.md"
}
DATA = b"a log"
SHA256 = hashlib.sha256(DATA).hexdigest()
READS = [
    "",
    "studies/",
    "studies/demo/",
    "studies/demo/head/",
    "studies/demo/protocol/",
    "studies/demo/amendments/",
    "studies/demo/configurations/",
    "studies/demo/configurations/{configuration}/",
    "studies/demo/slots/",
    "studies/demo/slots/{slot}/",
    "studies/demo/attempts/",
    "studies/demo/attempts/by-id/known/",
    "studies/demo/attempts/by-id/known/files/",
    "studies/demo/attempts/by-id/known/verdict/",
    "studies/demo/orders/?program=train",
    "studies/demo/exclusions/",
    "studies/demo/events/",
    "studies/demo/evidence/",
    "studies/demo/prediction-sets/",
    "studies/demo/predictions/",
    "studies/demo/refusals/",
    "studies/demo/seals/",
    "studies/demo/evaluations/",
    "studies/demo/allocations/",
    "studies/demo/non-launches/",
    "studies/demo/configurations-flat/",
    "studies/demo/confusion/",
    "studies/demo/fits/",
    "studies/demo/pairs/",
    "studies/demo/costs/",
    "pools/",
    "schema/",
]
COMPUTED = ("protocol/", "confusion/", "pairs/", "configurations-flat/")
"""What the smallest world may have nothing of: it has no complete protocol."""
WRITES = {
    "studies": ["study", "study check"],
    "plan": ["configurations", "slots"],
    "attempts": [
        "attempts",
        "batch",
        "files",
        "evidence",
        "events",
        "allocations",
        "non-launches",
    ],
    "declare": ["declared"],
    "exclusions": ["exclusions"],
    "evaluations": ["evaluations"],
}
CALLERS = [
    "nobody",
    "reviewer",
    "uploader",
    "staff",
    "owner of studies",
    "reading key",
    "studies key",
    "attempts key",
    "declaring key",
    "plan key",
    "exclusions key",
    "evaluations key",
    "key of another study",
    "revoked key",
    "expired key",
    "wrong key",
    "uploading key of a reviewer",
]
MAY_WRITE = {
    "uploader": {"plan", "attempts", "evaluations"},
    "staff": set(WRITES),
    "owner of studies": {"studies"},
    "studies key": {"studies"},
    "attempts key": {"attempts"},
    "declaring key": {"attempts", "declare"},
    "plan key": {"plan"},
    "exclusions key": {"exclusions"},
    "evaluations key": {"evaluations"},
}
REFUSED = {"nobody": 401, "revoked key": 401, "expired key": 401, "wrong key": 401}


@pytest.fixture
def world(private_site, db):
    """A study with an attempt, and a draft that plans can be added to."""
    study = make_small_study(slug="demo")
    slot = SeedSlot.objects.filter(study=study)[0]
    make_attempt(slot, "completed", 30000, invocation_id="known")
    make_small_study(slug="draft")
    make_study(slug="other")
    return {
        "configuration": slot.configuration.configuration_id, "slot": slot.experiment_id,
        "set": make_prediction_set(study).pk, "study": study,
    }  # fmt: skip


def caller(name: str) -> Api:
    """The caller of that name, newly made."""
    if name == "nobody":
        return Api(Client(), {})
    if name in ("reviewer", "uploader", "staff"):
        client = Client()
        client.force_login(make_person(name, *([] if name == "staff" else [name]), is_staff=name == "staff"))
        return Api(client, {})
    if name == "owner of studies":
        person, client = make_person("owner", "reviewer"), Client()
        OwnerGrant(person=person, reason="runs a cluster").save()
        client.force_login(person)
        return Api(client, {})
    if name == "wrong key":
        return Api(Client(), {"Authorization": "Api-Key abcdefgh.not-a-key"})
    if name == "key of another study":
        from studies.models import Study

        return key_for("read", *WRITES, study=Study.objects.get(slug="other"))
    if name == "uploading key of a reviewer":
        return key_for("read", "attempts", owner=make_person("r", "reviewer"))
    if name in ("revoked key", "expired key"):
        staff = make_person("s", is_staff=True)
        soon = timezone.now() + dt.timedelta(days=1)
        key, secret = issue_key(name="x", owner=staff, scopes=["read", *WRITES], expires_at=soon)
        if name == "revoked key":
            ApiKeyRevocation(key=key, reason="lost").save()
        else:
            issued = timezone.now() - dt.timedelta(seconds=1)
            expired = ApiKey(
                name="y",
                prefix="expired1",
                hashed_key="",
                owner=staff,
                scopes=["read", *WRITES],
                expires_at=issued,
            )
            from rlvram_site.api.keys import _generator

            secret, expired.prefix, expired.hashed_key = _generator.generate()
            expired.save()
        return Api(Client(), {"Authorization": f"Api-Key {secret}"})
    scope = name.partition(" ")[0]
    return key_for(
        "read", *(["attempts", "declare"] if scope == "declaring" else [] if scope == "reading" else [scope])
    )


def write(api: Api, what: str, world: dict):
    """One correct write of that kind."""
    match what:
        case "study":
            return api.post("studies/", {"files": EXAMPLE})
        case "study check":
            return api.post("study-check/", {"files": {}})
        case "events":
            event = {"position": 0, "kind": "repair", "status": "noted", "title": "A new driver"}
            return api.post("studies/demo/events/", {"events": [event]})
        case "allocations":
            row = {"pair_id": "all", "job_id": "1", "gpu_count": 8, "scheduler_state": "COMPLETED"}
            return api.post("studies/demo/allocations/", {"allocations": [row]})
        case "non-launches":
            slot = SeedSlot.objects.filter(study__slug="draft").first().experiment_id
            row = {"slot": slot, "diagnosis": "cancelled", "reason": "the array was cancelled"}
            return api.post("studies/draft/non-launches/", {"non_launches": [row]})
        case "configurations":
            row = {"configuration_id": "new", "case_id": "new", **SETTINGS}
            return api.post("studies/draft/configurations/", {"configurations": [row]})
        case "slots":
            configuration = world["study"].__class__.objects.get(slug="draft").configurations.first()
            row = {"experiment_id": configuration.slots.first().experiment_id, "seed": 1, "position": 0,
                   "configuration": configuration.configuration_id}  # fmt: skip
            return api.post("studies/draft/slots/", {"slots": [row]})
        case "attempts":
            return api.post("studies/demo/attempts/", {"invocation_id": "new", "exit_code": 1})
        case "batch":
            return api.post(
                "studies/demo/attempts/batch/", {"attempts": [{"invocation_id": "b", "exit_code": 1}]}
            )
        case "files":
            files = [{"name": "a.log", "sha256": "0" * 64, "private": True}]
            return api.post("studies/demo/attempts/by-id/known/files/", {"files": files})
        case "evidence":
            return api.put(f"studies/demo/evidence/{SHA256}/", DATA)
        case "declared":
            declared = {"outcome": "unresolved", "reason": "not known", "source": "the operator"}
            return api.post("studies/demo/attempts/", {"invocation_id": "d", "declared": declared})
        case "exclusions":
            return api.post("studies/demo/exclusions/", {"attempt": "known", "reason": "wrong driver"})
        case "evaluations":
            return api.post("studies/demo/evaluations/", {"prediction_set": world["set"]})
    raise AssertionError(what)


@pytest.mark.parametrize("name", CALLERS)
def test_who_may_read(world, name):
    api = caller(name)
    for path in READS:
        path = path.format(**world)
        expected = REFUSED.get(name, 200)
        if name == "key of another study" and path.startswith("studies/demo/"):
            expected = 403
        # The smallest world has no complete protocol; who may ask for it is the question here.
        allowed = (expected, 404) if expected == 200 and path.endswith(COMPUTED) else (expected,)
        assert api.get(path).status_code in allowed, f"{name}: {path}"


@pytest.mark.parametrize("name", CALLERS)
def test_who_may_write(world, name):
    api = caller(name)
    for scope, kinds in WRITES.items():
        for what in kinds:
            answer = write(api, what, world)
            if scope in MAY_WRITE.get(name, ()):
                # 409: allowed to ask, and the record itself does not allow it (yet).
                assert answer.status_code in (200, 201, 409), f"{name}: {what}: {answer.content}"
            else:
                assert answer.status_code == REFUSED.get(name, 403), f"{name}: {what}: {answer.content}"
                assert set(answer.json()) == {"error"}


def test_a_browser_session_needs_the_forgery_token(world):
    client = Client(enforce_csrf_checks=True)
    client.force_login(make_person("staff", is_staff=True))
    assert write(Api(client, {}), "exclusions", world).status_code == 403


def _paths(patterns, prefix=""):
    for item in patterns:
        path = prefix + str(item.pattern)
        if isinstance(item, URLResolver):
            yield from _paths(item.url_patterns, path)
        elif isinstance(item, URLPattern):
            yield path


def test_every_address_of_the_studies_is_in_the_tables_above():
    written = {"attempts/batch/", "evidence/<sha256:sha256>/"}
    names = {"<slug:study>": "demo", "<str:configuration>": "{configuration}", "<str:slot>": "{slot}",
             "<str:invocation>": "known"}  # fmt: skip
    root = next(item for item in get_resolver().url_patterns if str(item.pattern) == "api/v1/")
    for path in _paths(root.url_patterns):
        if path not in ("", "pools/", "schema/") and not path.startswith("studies/"):
            continue
        for pattern, value in names.items():
            path = path.replace(pattern, value)
        assert (
            path in {read.partition("?")[0] for read in READS}
            or path.removeprefix("studies/demo/") in written
        ), path
