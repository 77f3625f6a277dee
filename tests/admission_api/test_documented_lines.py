"""The command lines of the documentation, run as they stand there against a running server."""

from __future__ import annotations

import json
import os
import re
import subprocess
import urllib.request
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.contrib.auth import get_user_model

from admission.models import Measurement, Witness
from rlvram_site.api.keys import issue_key
from tests.admission_api.conftest import ISSUE
from tests.conftest import ROOT


@pytest.fixture
def key(live_server, art_848) -> str:
    owner = get_user_model().objects.create_user("ci", is_staff=True)
    return issue_key(name="ci", owner=owner, scopes=["read", "witnesses"])[1]


def test_every_line_works_and_can_be_repeated(live_server, key, tmp_path):
    page = (ROOT / "docs" / "admission-api.md").read_text()
    lines = re.findall(r"^```bash\n(.*?)^```", page, re.DOTALL | re.MULTILINE)
    assert len(lines) == 5
    environment = {**os.environ, "SITE": live_server.url, "ISSUE": "OpenPipe/ART/848", "RLVRAM_KEY": key}
    printed = []
    for line in lines + lines:
        done = subprocess.run(
            ["bash", "-euc", line], cwd=tmp_path, env=environment, text=True, capture_output=True, check=False
        )
        assert done.returncode == 0, f"{line}\n{done.stdout}\n{done.stderr}"
        printed.append(done.stdout)
    assert Witness.objects.filter(key="nightly-5054339").count() == 1
    assert Measurement.objects.filter(witness__key="nightly-5054339").count() == 1
    assert json.loads(printed[2])["witness_class"] == "safe_admission"
    # The page's two prices: OpenPipe/ART #848 gives the first.
    assert json.loads(printed[3])["prices"][0]["required_bytes"] == 4_092_810_444
    assert [row["ours"] for row in json.loads(printed[4])["rows"]] == [11_508_960_460]


def test_eight_clients_with_the_same_witness_record_it_once(live_server, key):
    body = {"key": "w", "title": "t", "decision": "refused", "outcome": "not_executed"}

    def post(_: int) -> int:
        request = urllib.request.Request(
            f"{live_server.url}/api/v1/{ISSUE}witnesses/", json.dumps(body).encode(),
            {"Authorization": f"Api-Key {key}", "Content-Type": "application/json"},
        )  # fmt: skip
        with urllib.request.urlopen(request) as answer:
            return answer.status

    with ThreadPoolExecutor(8) as clients:
        statuses = sorted(clients.map(post, range(8)))
    assert statuses == [200] * 7 + [201]
    assert Witness.objects.filter(key="w").count() == 1
