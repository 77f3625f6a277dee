"""The client that ``openapi-python-client`` makes of the API's document: it imports whole, uploads and pages.

The generator comes from the package index into an environment of its own.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest
from django.core.management import call_command

from studies.models import Attempt, SeedSlot

USE = """
import hashlib, importlib, io, json, pkgutil, sys
sys.path.insert(0, "FOLDER")
import client
for module in pkgutil.walk_packages(client.__path__, "client."):
    importlib.import_module(module.name)
from client import AuthenticatedClient
from client.api.studies import (studies_attempts_create, studies_attempts_list, studies_evidence_update,
                                studies_slots_list)
from client.models import AttemptUploadRequest, Error, FileUploadRequest
from client.types import File

url, key = sys.argv[1:]
site = AuthenticatedClient(base_url=url, token=key, prefix="Api-Key")
log = b"Total training steps: 1\\n"
sha256 = hashlib.sha256(log).hexdigest()
stored = studies_evidence_update.sync("demo", sha256, client=site, body=File(payload=io.BytesIO(log)))
assert stored.sha256 == sha256, stored
slots = studies_slots_list.sync("demo", client=site).results
for number, slot in enumerate(slots[:3]):
    sent = AttemptUploadRequest(
        invocation_id=f"run-{number}", slot=slot.experiment_id, exit_code=1,
        files=[FileUploadRequest(name="training.log", sha256=sha256)],
    )
    receipt = studies_attempts_create.sync("demo", client=site, body=sent)
    assert (receipt.status, receipt.outcome) == ("recorded", "unresolved"), receipt
bad = AttemptUploadRequest(invocation_id="a b")
wrong = studies_attempts_create.sync_detailed("demo", client=site, body=bad)
assert (int(wrong.status_code), type(wrong.parsed)) == (400, Error), wrong
found, cursor, pages = [], None, 0
while True:
    more = {"cursor": cursor} if cursor else {}
    page = studies_attempts_list.sync("demo", client=site, page_size=2, **more)
    found += [row.invocation_id for row in page.results]
    pages += 1
    if not page.next_:
        break
    cursor = page.next_.partition("cursor=")[2].partition("&")[0]
    from urllib.parse import unquote
    cursor = unquote(cursor)
print(json.dumps([pages, found]))
"""


@pytest.fixture(scope="session")
def generator(tmp_path_factory) -> str:
    """Python of an environment with ``openapi-python-client``."""
    folder = tmp_path_factory.mktemp("generator")
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    python = folder / "bin" / "python"
    installed = subprocess.run(
        [python, "-m", "pip", "install", "-q", "openapi-python-client==0.29.1"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert installed.returncode == 0, f"the package index could not be reached: {installed.stderr[-500:]}"
    return str(python)


def test_a_generated_client_imports_whole_uploads_and_pages(site, key, generator, tmp_path):
    document = tmp_path / "schema.json"
    call_command("spectacular", file=str(document), format="openapi-json")
    made = subprocess.run(
        [generator, "-m", "openapi_python_client", "generate", "--path", document, "--meta", "none",
         "--output-path", tmp_path / "client"],
        capture_output=True, text=True, check=False, cwd=tmp_path,
        env={**os.environ, "PATH": f"{os.path.dirname(sys.executable)}:{os.environ['PATH']}"},
    )  # fmt: skip
    assert made.returncode == 0, made.stdout + made.stderr
    assert "WARNING" not in made.stdout + made.stderr, made.stdout
    used = subprocess.run(
        [generator, "-c", USE.replace("FOLDER", str(tmp_path)), site.url, key],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert used.returncode == 0, used.stderr[-3000:]
    assert json.loads(used.stdout) == [2, ["run-0", "run-1", "run-2"]]
    assert Attempt.objects.count() == 3
    assert SeedSlot.objects.filter(attempts__isnull=False).count() == 3


def test_the_document_says_what_is_refused(tmp_path):
    call_command("spectacular", file=str(tmp_path / "schema.json"), format="openapi-json")
    document = json.loads((tmp_path / "schema.json").read_text())
    parts = document["components"]["schemas"]
    upload = parts["AttemptUploadRequest"]
    assert upload["additionalProperties"] is False
    assert upload["required"] == ["invocation_id"]
    assert upload["properties"]["files"]["maxItems"] == 500
    assert parts["BatchUploadRequest"]["properties"]["attempts"]["minItems"] == 1
    assert parts["Receipt"]["properties"]["outcome"]["$ref"].endswith("/OutcomeEnum")
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            assert {"400", "401", "403", "429", "500", "503"} <= set(operation["responses"]), (path, method)
            body = operation.get("requestBody", {"content": {}})
            assert body.get("required") or len(body["content"]) != 1, (path, method)
    (size,) = [
        item
        for item in document["paths"]["/api/v1/studies/{study}/attempts/"]["get"]["parameters"]
        if item["name"] == "page_size"
    ]
    assert (size["schema"]["minimum"], size["schema"]["maximum"], size["schema"]["default"]) == (1, 1000, 100)
