"""A matrix of models, workloads, levels and GPU counts becomes configurations, within the plan's caps."""

from __future__ import annotations

from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from studies.directory.matrix import NAME, read_matrix
from studies.directory.problems import Problems
from studies.directory.reading import Known, read_directory


def problems_of(folder) -> list[str]:
    return [str(item) for item in read_directory(folder, Known())[1].all]


def test_the_examples_matrix_is_the_examples_table(folder):
    table = folder / "configurations.csv"
    published = table.read_text()
    with pytest.raises(CommandError, match="exists; --replace writes over it"):
        call_command("make_matrix", folder, stdout=StringIO())
    table.unlink()
    out = StringIO()
    call_command("make_matrix", folder, stdout=out)
    assert table.read_text() == published
    assert "has 16 configurations" in out.getvalue()


@pytest.mark.parametrize(
    ("before", "after", "says"),
    [
        (
            "gpu_counts: [1, 2, 4, 8]",
            "gpu_counts: [1, 1]",
            "gpu_counts is [1, 1], expected a list of different",
        ),
        ("gpu_counts: [1, 2, 4, 8]", "gpu_counts: [0]", "whole numbers above zero"),
        ("gpu_counts: [1, 2, 4, 8]", "gpus: [1]", "gpus is 'gpus', expected one of models"),
        ("models: [qwen25-14b, llama31-8b]", "models: []", "a list of different texts"),
        ("  train_batch_size: 64", "", "shared.train_batch_size is missing"),
        ("    max_prompt_length: 1024", "    max_promt_length: 1024", "workloads.math.max_promt_length"),
        ("    max_prompt_length: 1024", "    max_prompt_length: [1]", "expected one value"),
        ("levels:", "levels: 3\nother:", "names, each with the columns that it sets"),
        ("id_ending: -target ", "id_ending: 3 ", "a text that each configuration_id ends with"),
    ],
)
def test_what_is_wrong_with_a_matrix_is_named_with_its_line(folder, before, after, says):
    path = folder / NAME
    text = path.read_text()
    assert before in text
    path.write_text(text.replace(before, after, 1))
    problems = Problems()
    assert read_matrix(folder, problems) == ""
    assert any(says in str(item) for item in problems.all)
    with pytest.raises(CommandError, match="nothing was written"):
        call_command("make_matrix", folder, "--replace", stderr=StringIO())


@pytest.mark.parametrize(
    ("cap", "says"),
    [
        ("most_slots: 79", "schedule.most_slots is 79, expected at least 80"),
        ("most_gpu_hours: 299", "schedule.most_gpu_hours is 299, expected at least 300"),
        ("most_slots: 80", ""),
        ("most_gpu_hours: 300", ""),
    ],
)
def test_a_plan_beyond_its_caps_is_refused(folder, cap, says):
    path = folder / "study.yaml"
    path.write_text(path.read_text().replace("  timeout_seconds: 3600", f"  {cap}\n  timeout_seconds: 3600"))
    found = problems_of(folder)
    assert found == [] if not says else says in found[0]
    if "hours" in cap:
        path.write_text(path.read_text().replace("  timeout_seconds: 3600", "  #"))
        assert "or nobody knows the cost" in problems_of(folder)[0]
