"""Something is in the queue that no part of the site has put there. The worker goes on."""

from __future__ import annotations

import base64
import json

import redis

from studies.models import Job

BODY = base64.b64encode(b"not json at all").decode()
HEADERS = {"task": "jobs.run", "id": "x", "lang": "py"}
PROPERTIES = {
    "body_encoding": "base64",
    "delivery_tag": "t",
    "delivery_info": {"exchange": "", "routing_key": "default"},
}
MESSAGES = [
    b"\x80\x04\x95pickled", b"", b"{", b"[]", b"7", b"null", b"\xff\xfe", b'{"body": 1}',
    b"9" * 5000,
    b"[" * 100_000,
    json.dumps({"body": BODY, "headers": HEADERS, "properties": PROPERTIES}).encode(),
    json.dumps({"body": BODY, "content-type": "application/json", "content-encoding": "utf-8",
                "headers": HEADERS, "properties": PROPERTIES}).encode(),
    json.dumps({"body": BODY, "content-type": "application/x-python-serialize", "content-encoding": "binary",
                "headers": HEADERS, "properties": PROPERTIES}).encode(),
    json.dumps({"body": BODY, "content-type": "application/json", "content-encoding": "utf-8",
                "headers": {"task": "os.system", "id": "y"}, "properties": PROPERTIES}).encode(),
]  # fmt: skip


def test_a_worker_drops_what_is_no_message_and_goes_on(cluster):
    worker = cluster.start_worker()
    broker = redis.Redis(port=cluster.redis.port)
    for message in MESSAGES:
        broker.lpush("default", message)
    job = cluster.queue()
    cluster.let_end()
    cluster.wait_until_ended(job)
    assert job.state == Job.State.SUCCEEDED
    assert worker.poll() is None
    said = (cluster.folder / "worker-0.log").read_text()
    assert "is no message and was dropped" in said
