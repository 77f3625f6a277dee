"""The benchmark compares the product with a plain script that computes the same."""

import subprocess
import sys

import pytest

from benchmarks.refit import measure, plain_refit, plain_rows, product_refit, same
from tests.estimation.facts import ROOT


def test_product_and_plain_script_agree(archive):
    plain = plain_refit(*plain_rows(archive.pool, archive.targets))
    product = product_refit(archive.pool, archive.rules, archive.targets)
    assert len(product) == 3 * 90 + 36
    assert same(product, plain)


def test_without_an_archive_it_times_the_bundled_study():
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.refit", "--runs", "1"],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("pool 90 configurations, targets 12, runs 1, one core, one thread")


@pytest.mark.parametrize("changed", [("a", "m", "x", 1.0), ("a", "m", "l", 1.1), ("a", "m", "l", None)])
def test_a_different_result_is_noticed(changed):
    assert same([("a", "m", "l", 1.0)], [("a", "m", "l", 1.0)])
    assert not same([("a", "m", "l", 1.0)], [changed])


def test_every_candidate_runs_once_more_than_it_is_timed():
    calls = []
    times = measure(3, first=lambda: calls.append("first"), second=lambda: calls.append("second"))
    assert calls == ["first", "second"] * 4
    assert all(0 <= found["best_s"] <= found["median_s"] for found in times.values())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--archive", "no-such-folder"], "--archive is no-such-folder, expected a study archive"),
        (["--archive", "x", "--runs", "0"], "--runs is 0, expected at least 1"),
    ],
)
def test_bad_arguments_are_explained(arguments, message):
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.refit", *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert message in done.stderr
