"""The refit worker reads one JSON object and writes one, in a process of its own."""

import json
import subprocess
import sys

import pytest

from studies.estimation.compare import compare
from studies.estimation.errors import EstimationError
from studies.estimation.payload import from_payload, to_payload
from studies.estimation.protocol import parse_rules
from studies.estimation.study import fit_final, retrospective
from tests.estimation.facts import ROOT
from tests.estimation.world import follow_up_document, rules, small_pool, targets


def payload():
    return json.loads(json.dumps(to_payload(small_pool(), rules(), targets())))


def run(text):
    return subprocess.run(
        [sys.executable, "-m", "studies.estimation.refit_worker"],
        input=text,
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_worker_computes_what_the_functions_compute():
    done = run(json.dumps(payload()))
    assert (done.returncode, done.stderr) == (0, "")
    result = json.loads(done.stdout)
    final = fit_final(small_pool(), rules(), targets())
    expected = {
        "retrospective": retrospective(small_pool(), rules()),
        "fitted_model": final.model_record(),
        "predictions": [item.to_record() for item in final.predictions],
    }
    assert compare(expected, result, ignore=("numerical_environment",)).passed
    assert result["numerical_environment"]["fit_thread_limit"] == 1


def test_the_published_study_survives_the_payload(archive):
    sent = json.loads(json.dumps(to_payload(archive.pool, archive.rules, archive.targets)))
    assert from_payload(sent) == (archive.pool, archive.rules, archive.targets)


def test_text_that_is_no_json_is_refused():
    done = run("not json")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("refit payload: not JSON")


def test_a_refused_fit_says_why_in_one_line():
    broken = payload()
    broken["targets"][0]["configuration_id"] = broken["pool"][0]["settings"]["configuration_id"]
    done = run(json.dumps(broken))
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.count("\n") == 1
    assert "expected a target of the protocol" in done.stderr


def spoil(change):
    broken = payload()
    change(broken)
    return broken


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda p: p.update(version=1), "refit payload: version is 1, expected 2"),
        (lambda p: p.pop("pool"), "refit payload: pool is None, expected the key in the payload"),
        (lambda p: p.update(extra=1), "refit payload: extra is 1, expected no other key than"),
        (lambda p: p["pool"].append(p["pool"][0]), "expected each configuration once"),
        (
            lambda p: p["pool"][0].update(label="unresolved"),
            "label is 'unresolved', expected one of within_margin",
        ),
        (
            lambda p: p["pool"][0]["settings"].update(parameter_offload=None),
            "parameter_offload is None, expected true",
        ),
        (
            lambda p: p["pool"][0]["settings"].pop("gpu_count"),
            "gpu_count is None, expected the key in the payload",
        ),
        (lambda p: p["pool"][0].pop("label"), "label is None, expected the key in the payload"),
        (lambda p: p["architectures"].pop(), "expected one of"),
        (lambda p: p["rules"].pop("fitting"), "fitting is None, expected the key in the payload"),
        (lambda p: p["rules"].update(fitting=None), "expected an object"),
        (lambda p: p.update(targets={}), "targets is {}, expected a list"),
    ],
)
def test_a_damaged_payload_is_refused(change, message):
    with pytest.raises(EstimationError) as refusal:
        from_payload(spoil(change))
    assert message in str(refusal.value)


@pytest.mark.parametrize("text", ["[]", "null", "3", '"x"'])
def test_a_payload_that_is_no_object_is_refused(text):
    done = run(text)
    assert done.returncode == 2
    assert done.stderr.startswith("refit payload: version is")


def test_a_study_that_inherits_has_nothing_to_refit():
    with pytest.raises(EstimationError, match="this one inherits predictions"):
        to_payload(small_pool(), parse_rules(follow_up_document()), targets())
