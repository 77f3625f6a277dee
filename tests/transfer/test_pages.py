"""What the pages of the suite say."""

from __future__ import annotations

import json

import pytest

from studies.estimation.labels import Label
from studies.services.transfer.submissions import submit
from studies.transfer.inputs import inputs_document
from studies.transfer.predictors import reference
from tests.transfer.conftest import HOME


@pytest.fixture
def submissions(pool, suite):
    """The reference itself for all tracks, and one that approves every GPU-count query."""
    copy, _ = submit(
        pool, "all", reference(suite), name="copy", version="1", declaration="none", author="anna"
    )
    approve, _ = submit(
        pool, "gpu_count_transfer",
        {query.query_id: Label.WITHIN_MARGIN for query in suite.queries_of("gpu_count_transfer")},
        name="approve", version="2", declaration="none", author="bert",
    )  # fmt: skip
    return copy, approve


def text(client, path: str, status: int = 200) -> str:
    page = client.get(path)
    assert page.status_code == status
    return page.content.decode()


def test_the_site_links_to_the_suite(client, suite):
    assert '<a href="/transfer/">Transfer suite</a>' in text(client, "/")
    assert client.get("/transfer/").url == HOME


def test_without_a_suite_the_page_says_how_to_get_one(client, db):
    page = text(client, "/transfer/")
    assert "No pool has a transfer suite yet." in page
    assert "manage.py load_samples" in page


def test_a_pool_without_a_suite_is_not_found(client, db):
    text(client, "/transfer/nothing/", 404)


def test_the_overview_gives_each_track_and_says_what_400_queries_are_not(client, suite):
    page = text(client, HOME)
    assert (
        "right for 112 of 144 queries to another model, 216 of 216 queries to another workload, "
        "20 of 36 queries to another GPU count and 4 of 4 queries to a longer horizon."
    ) in page
    assert "400 queries are not 400 independent experiments." in page
    assert "52 tasks about 94 distinct targets, with 98 configurations in all" in page
    assert "249, of which 2 failed and 12 were above the margin" in page


def test_the_figures_hold_the_references_counts(client, suite):
    shown = client.get(HOME).context["figures"]
    drawn = {
        table.track.value: {trace["meta"]["state"]: sum(filter(None, trace["x"])) for trace in figure["data"]}
        for table, figure in shown
    }
    assert drawn["gpu_count_transfer"] == {
        "useful": 20, "approved_above_margin": 4, "approved_failed": 2, "rejected_usable": -6,
    }  # fmt: skip
    assert drawn["workload_transfer"] == {"useful": 132}


@pytest.mark.parametrize("selection", ["model_transfer", "all"])
def test_inputs_can_be_downloaded(selection, client, suite):
    answer = client.get(f"{HOME}inputs/{selection}.json")
    assert json.loads(answer.content) == inputs_document(suite, selection)
    assert f'filename="rlvrambench-{selection}-inputs.json"' in answer["Content-Disposition"]


@pytest.mark.parametrize("path", ["inputs/size_transfer.json", "tasks/task-x/inputs.json"])
def test_inputs_that_do_not_exist(path, client, suite):
    text(client, HOME + path, 404)


def test_submissions_are_listed_by_track_newest_first(client, submissions):
    page = text(client, f"{HOME}submissions/?track=gpu_count_transfer")
    assert page.index("approve 2") < page.index("copy 1")
    assert "2 submissions, newest first." in page
    page = text(client, f"{HOME}submissions/?track=horizon_transfer")
    assert "approve 2" not in page


def test_there_is_no_list_over_all_tracks(client, submissions):
    page = text(client, f"{HOME}submissions/?track=all", 400)
    assert "track is &#x27;all&#x27;, expected one of model_transfer" in page


@pytest.mark.parametrize(
    ("wanted", "found"), [("anna", 1), ("appr", 1), ("nobody", 0), ("\x00", 2), ("%", 0)]
)
def test_the_list_can_be_narrowed(wanted, found, client, submissions):
    page = client.get(f"{HOME}submissions/", {"track": "gpu_count_transfer", "q": wanted})
    assert page.context["rows"].paginator.count == found


def test_a_comparison_shows_each_track_beside_the_reference(client, submissions):
    copy, approve = submissions
    page = client.get(f"{HOME}compare/", {"with": [copy.content_sha256, approve.content_sha256]})
    lines = {table.track.value: table.lines for table in page.context["tables"]}
    assert [line.name for line in lines["gpu_count_transfer"]] == ["reference", "copy 1", "approve 2"]
    approved = [line.scores["approved_memory_failure"] for line in lines["gpu_count_transfer"]]
    assert approved == [2, 2, 4]
    assert lines["horizon_transfer"][2].scores is None
    assert "does not answer this track" in page.content.decode()


def test_a_comparison_without_a_choice_shows_the_reference_alone(client, suite):
    assert "which stands here alone" in text(client, f"{HOME}compare/")


@pytest.mark.parametrize("key", ["x", "0" * 64, "\x00"])
def test_a_comparison_with_something_else(key, client, suite):
    assert "Nothing is shown: submission" in text(client, f"{HOME}compare/?with={key}", 400)


def test_too_many_to_compare(client, suite):
    page = text(client, f"{HOME}compare/?" + "&".join(f"with={n:064d}" for n in range(5)), 400)
    assert "5 submissions are chosen, expected at most 4" in page


def test_queries_have_donor_target_and_both_labels(client, submissions, suite):
    _, approve = submissions
    page = client.get(
        f"{HOME}queries/",
        {"track": "gpu_count_transfer", "state": "approved_failed", "with": approve.content_sha256},
    )
    shown = page.context["shown"]
    assert len(shown) == 4
    for row, known in shown:
        query = suite.by_id[row.query_id]
        assert (row.source.configuration_id, row.target.configuration_id) == (
            query.source_id,
            query.target_id,
        )
        assert known.observed is Label.MEMORY_FAILURE
        assert known.cells[1] == (Label.WITHIN_MARGIN, "approved_failed")
    text = page.content.decode()
    assert f'href="/pools/rlvrambench/configurations/{shown[0][0].source.configuration_id}/"' in text


def test_a_task_opens_its_queries(client, suite):
    task = suite.tasks_of("model_transfer")[0]
    page = client.get(f"{HOME}queries/", {"task": task.task_id})
    assert [row.query_id for row, _ in page.context["shown"]] == [query.query_id for query in task.queries]


def test_all_queries_come_in_pages(client, suite):
    page = client.get(f"{HOME}queries/", {"page": 8})
    assert "400 queries of 400." in page.content.decode()
    assert len(page.context["shown"]) == 50


@pytest.mark.parametrize("query", ["track=x", "task=x", "state=x"])
def test_a_filter_that_is_not_understood(query, client, suite):
    assert "Nothing is shown:" in text(client, f"{HOME}queries/?{query}", 400)


def test_a_submission_that_is_not_recorded(client, suite):
    text(client, f"{HOME}submissions/{'0' * 64}/", 404)


def test_home_links_what_was_submitted(client, submissions):
    page = text(client, "/")
    assert submissions[0].get_absolute_url() in page
