"""``transfer_inputs`` and ``score_transfer`` as a person runs them."""

from __future__ import annotations

import json

import pytest
from django.core.management import CommandError, call_command

from studies.models import TransferSubmission
from studies.transfer.inputs import inputs_document
from tests.transfer.test_scores import PUBLISHED, TOGETHER, counts
from tests.transfer.worlds import csv_file


@pytest.fixture
def predictions(copied, tmp_path):
    """A file with the reference's predictions for a track."""

    def make(selection: str = "all") -> str:
        path = tmp_path / f"{selection}.csv"
        path.write_bytes(copied(selection))
        return str(path)

    return make


def test_inputs_are_written_to_a_new_file(suite, tmp_path, capsys):
    path = tmp_path / "inputs.json"
    call_command("transfer_inputs", track="gpu_count_transfer", output=path)
    assert json.loads(path.read_text()) == inputs_document(suite, "gpu_count_transfer")
    assert "gpu_count_transfer, 12 tasks, 36 queries" in capsys.readouterr().out


def test_inputs_of_one_task(suite, tmp_path):
    path, task = tmp_path / "task.json", next(iter(suite.tasks))
    call_command("transfer_inputs", task=task, output=path, verbosity=0)
    assert [item["task_id"] for item in json.loads(path.read_text())["tasks"]] == [task]


def test_a_file_that_exists_stays_as_it_is(suite, tmp_path):
    path = tmp_path / "inputs.json"
    path.write_text("mine")
    with pytest.raises(CommandError, match="exists already, expected a file that is not there yet"):
        call_command("transfer_inputs", track="all", output=path)
    assert path.read_text() == "mine"


def test_a_task_that_does_not_exist(suite, tmp_path):
    with pytest.raises(CommandError, match="task is 'task-x', expected the id of a task of this suite"):
        call_command("transfer_inputs", task="task-x", output=tmp_path / "x.json")
    assert not (tmp_path / "x.json").exists()


def test_without_any_suite_the_command_says_so(db, tmp_path):
    with pytest.raises(CommandError, match="has no transfer suite, expected one of: none is recorded"):
        call_command("transfer_inputs", track="all", output=tmp_path / "x.json")


def test_scores_as_json_have_the_studys_keys(predictions, capsys):
    call_command("score_transfer", predictions(), track="all", format="json")
    document = json.loads(capsys.readouterr().out)
    assert counts(document["overall"]) == TOGETHER
    assert {track: counts(scores) for track, scores in document["per_track"].items()} == PUBLISHED
    assert len(document["per_task"]) == 52
    assert not TransferSubmission.objects.exists()


@pytest.mark.parametrize("track", PUBLISHED)
def test_one_track_alone(track, predictions, capsys):
    call_command("score_transfer", predictions(track), track=track, format="json")
    document = json.loads(capsys.readouterr().out)
    assert counts(document["per_track"][track]) == counts(document["overall"]) == PUBLISHED[track]


def test_scores_as_a_table(predictions, capsys):
    call_command("score_transfer", predictions("horizon_transfer"), track="horizon_transfer")
    assert "horizon_transfer  4 queries  4 correct_three_state  3 approved" in capsys.readouterr().out


def test_broken_rules_are_listed_and_nothing_is_scored(suite, tmp_path, capsys):
    path = tmp_path / "bad.csv"
    path.write_bytes(csv_file([("query-x", "maybe")]))
    with pytest.raises(CommandError) as caught:
        call_command("score_transfer", str(path), track="horizon_transfer", format="json")
    lines = str(caught.value).splitlines()
    assert lines[0].endswith("nothing was scored, these rules are broken:")
    assert [line.split(":")[0].strip() for line in lines[1:]] == ["missing", "unexpected", "invalid state"]
    assert capsys.readouterr().out == ""


def test_a_file_that_is_not_there(suite):
    with pytest.raises(CommandError, match=r"nowhere\.csv: cannot be read"):
        call_command("score_transfer", "nowhere.csv", track="all")


def test_recording_needs_every_text(predictions):
    with pytest.raises(CommandError, match="--record needs --declaration"):
        call_command(
            "score_transfer",
            predictions(),
            track="all",
            record=True,
            name="copy",
            submission_version="1",
            author="me",
        )


def test_recording_twice_is_one_submission(predictions, capsys):
    texts = {"name": "copy", "submission_version": "1", "declaration": "none", "author": "me"}
    path = predictions()
    for word in ("recorded:", "recorded before:"):
        call_command("score_transfer", path, track="all", record=True, **texts)
        assert capsys.readouterr().err.startswith(word)
    assert TransferSubmission.objects.get().author == "me"
    call_command("verify_ledger")
