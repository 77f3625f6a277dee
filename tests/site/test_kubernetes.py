"""The manifests: what Kubernetes would take, and what the site would make of it."""

from __future__ import annotations

import re
from typing import Any

import kubernetes_validate
import pytest
import yaml

from tests.conftest import ROOT

FOLDER = ROOT / "deploy" / "kubernetes"
DOCUMENTS: list[dict[str, Any]] = [
    document for path in sorted(FOLDER.glob("*.yaml")) for document in yaml.safe_load_all(path.read_text())
]
NAMED = {
    (document["kind"], document["metadata"].get("name") or document["metadata"]["generateName"]): document
    for document in DOCUMENTS
}
PODS = {
    name: document["spec"]["template"]["spec"]
    for (_, name), document in NAMED.items()
    if "template" in document.get("spec", {})
}
# The store's own variables are read by its library.
OF_THE_STORE = {"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"}
OF_THE_OWNER = {"SITE_DATABASE_PASSWORD"}


def documented() -> set[str]:
    return set(re.findall(r"^\| `([A-Z_]+)` ", (ROOT / "docs/settings.md").read_text(), re.MULTILINE))


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda document: document["kind"])
@pytest.mark.parametrize("version", ["1.29", kubernetes_validate.latest_version()])
def test_the_schema_takes_it(document, version):
    kubernetes_validate.validate(document, version, strict=True)


def test_there_is_what_the_site_is_made_of():
    assert set(PODS) == {"rlvram-web", "rlvram-worker", "rlvram-beat", "rlvram-migrate-"}
    assert NAMED["Deployment", "rlvram-web"]["spec"]["replicas"] >= 2
    assert NAMED["Deployment", "rlvram-worker"]["spec"]["replicas"] >= 2
    assert NAMED["Deployment", "rlvram-beat"]["spec"]["replicas"] == 1
    assert NAMED["Deployment", "rlvram-beat"]["spec"]["strategy"] == {"type": "Recreate"}


def test_variables_are_those_of_the_settings():
    given = set(NAMED["ConfigMap", "rlvram"]["data"]) | set(NAMED["Secret", "rlvram"]["stringData"])
    assert given - OF_THE_STORE - {"EVIDENCE_STORAGE_URL"} <= documented()
    owner = set(NAMED["Secret", "rlvram-owner"]["stringData"])
    assert owner - OF_THE_OWNER <= documented()
    assert {"SECRET_KEY", "ALLOWED_HOSTS", "DATABASE_URL", "BROKER_URL", "RLVRAM_MODE"} <= given


def test_secrets_stand_in_secrets_and_are_nobodys():
    for document in DOCUMENTS:
        if document["kind"] != "Secret":
            assert not re.search(r"(SECRET_KEY|PASSWORD|_URL): \S", yaml.safe_dump(document))
    for name in ("rlvram", "rlvram-owner"):
        for value in NAMED["Secret", name]["stringData"].values():
            assert re.search(r"[A-Z]{3,}", value), "a placeholder in capitals"


def test_the_site_is_no_owner_and_the_job_is():
    for name, pod in PODS.items():
        sources = [
            source["secretRef"]["name"] for source in pod["containers"][0]["envFrom"] if "secretRef" in source
        ]
        assert ("rlvram-owner" in sources) is (name == "rlvram-migrate-")
    assert NAMED["Secret", "rlvram"]["stringData"]["DATABASE_URL"].startswith("postgresql://rlvram_site:")


def test_no_pod_shares_a_disk_or_can_do_more_than_its_work():
    for pod in PODS.values():
        assert all(set(volume) == {"name", "emptyDir"} for volume in pod["volumes"])
        assert pod["automountServiceAccountToken"] is False
        assert pod["securityContext"]["runAsNonRoot"] is True
        for container in pod["containers"]:
            assert container["securityContext"] == {
                "allowPrivilegeEscalation": False,
                "readOnlyRootFilesystem": True,
                "capabilities": {"drop": ["ALL"]},
            }
            assert "memory" in container["resources"]["limits"]


def test_commands_are_those_of_the_compose_file():
    services = yaml.safe_load((ROOT / "docker-compose.yml").read_text())["services"]
    migrate = PODS["rlvram-migrate-"]["containers"][0]["command"][-1]
    assert migrate.split(" && ") == re.findall(
        r"python manage\.py (?:migrate|grant)[^&\"]*[^&\" ]", services["prepare"]["command"]
    )
    worker = PODS["rlvram-worker"]["containers"][0]["command"]
    assert " ".join(worker) == services["worker"]["command"]
    image = re.search(r"^CMD \[(.+)\]", (ROOT / "Dockerfile").read_text(), re.MULTILINE)[1]
    assert PODS["rlvram-web"]["containers"][0]["command"] == re.findall(r'"([^"]+)"', image)
