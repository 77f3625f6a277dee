"""Health checks for a process manager."""


def test_alive_answers_without_a_database(client):
    answer = client.get("/health/live/")
    assert answer.status_code == 200
    assert answer.json() == {"status": "alive"}


def test_ready_answers_when_the_database_does(client, db):
    answer = client.get("/health/ready/")
    assert answer.status_code == 200
    assert answer.json()["status"] == "ready"
    assert "no-store" in answer["Cache-Control"]
