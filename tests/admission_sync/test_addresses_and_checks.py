"""What a pasted address names, and what checks add up to, whatever comes."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from admission.sync.addresses import Address, parse_address, web_host
from admission.sync.errors import NotFollowable
from admission.sync.pulls import checks_of, read_pull, read_reviews

NAMES = st.text("abcXYZ019_-", min_size=1, max_size=30)
# A busy machine is slow and no error.
UNTIMED = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=10,
)
CONCLUSIONS = st.sampled_from(
    ["success", "neutral", "skipped", "failure", "cancelled", "timed_out", "action_required", "stale", None]
)


@UNTIMED
@given(NAMES, NAMES, st.integers(1, 2**31 - 1))
def test_every_form_of_an_address_names_the_same_issue(owner, name, number):
    wanted = Address("github.com", owner, name, number)
    for text in (
        f"{owner}/{name}#{number}",
        f"https://github.com/{owner}/{name}/issues/{number}",
        f" https://www.github.com/{owner}/{name}/issues/{number}/ ",
        f"http://GitHub.com/{owner}/{name}/pull/{number}/files?w=1#diff-1",
        f"github.com/{owner}/{name}/issues/{number}#issuecomment-5",
    ):
        assert parse_address(text, "github.com") == wanted
    assert parse_address(f"https://github.com/{owner}/{name}.git", "github.com").number == 0


@UNTIMED
@given(st.text())
def test_any_text_is_an_address_or_refused_in_words(text):
    with contextlib.suppress(NotFollowable):
        found = parse_address(text, "github.com")
        assert parse_address(str(found), "github.com") == found


@pytest.mark.parametrize(
    ("api", "host"),
    [("https://api.github.com", "github.com"), ("https://ghe.example.org/api/v3", "ghe.example.org"),
     ("http://127.0.0.1:8080", "127.0.0.1:8080")],
)  # fmt: skip
def test_the_host_of_a_forges_pages(api, host):
    assert web_host(api) == host


@UNTIMED
@given(st.lists(CONCLUSIONS))
def test_checks_add_up_however_they_are_ordered(conclusions):
    runs = [
        {"status": "completed" if one else "in_progress", "conclusion": one, "completed_at": None}
        for one in conclusions
    ]
    word, _ = checks_of(runs, None)
    assert checks_of(list(reversed(runs)), None)[0] == word
    failing = {"failure", "timed_out", "action_required"} & set(conclusions)
    assert (word == "failed") == bool(failing)
    assert (word == "unstated") == (conclusions == [])
    assert (word == "green") == (bool(conclusions) and set(conclusions) <= {"success", "neutral", "skipped"})
    assert (word == "running") == (None in conclusions and not failing)


@pytest.mark.parametrize(
    ("state", "word"),
    [("success", "green"), ("failure", "failed"), ("error", "failed"), ("pending", "running")],
)
def test_older_statuses_count_as_well(state, word):
    assert checks_of([], {"state": state, "total_count": 1, "statuses": []})[0] == word
    assert checks_of([], {"state": "pending", "total_count": 0}) == ("unstated", "")


@UNTIMED
@given(st.lists(JSON), JSON)
def test_nonsense_of_a_forge_is_no_crash(items, value):
    checks_of(items, value)
    assert read_reviews(items) == []
    from admission.sync.pulls import PullAddress

    assert read_pull(PullAddress("octo", "cat", 9), value) is None
