"""Three threads of a kind that is common in public, in our own words: long, edited, several changes each.

Nobody has written a dated status into any of them. Modelled on what happens to memory issues of large
projects:
a fix that closes the issue and is reverted; a merge that closes the wrong issue; fixes spread over projects.
"""

from __future__ import annotations

from typing import Any

from tests.admission.threads import comment, issue_object


def pull(number: int, title: str, at: str, *, merged: str = "", closed: str = "",
         repository: str = "octo/cat", created: str = "") -> dict[str, Any]:  # fmt: skip
    """A cross-reference from a pull request, as the timeline has it: no id of its own."""
    state = "closed" if merged or closed else "open"
    return {
        "event": "cross-referenced",
        "actor": {"login": "bo"},
        "created_at": at,
        "updated_at": at,
        "source": {
            "type": "issue",
            "issue": {
                "number": number,
                "title": title,
                "state": state,
                "html_url": f"https://github.com/{repository}/pull/{number}",
                "repository": {"full_name": repository},
                "created_at": created or at,
                "closed_at": merged or closed or None,
                "pull_request": {"merged_at": merged or None},
            },
        },
    }


def event(identity: int, name: str, at: str, **more: Any) -> dict[str, Any]:
    return {"event": name, "id": identity, "created_at": at, "actor": {"login": "ada"}, **more}


def _thread(body: str, items: list[dict], updated: str, **more: Any) -> tuple[dict, list[dict]]:
    comments = sum(1 for item in items if item["event"] == "commented")
    return issue_object(body, updated=updated, **{"comments": comments, **more}), items


def reverted_fix() -> tuple[dict, list[dict]]:
    """A merge closed the issue; the change was reverted, the issue reopened and closed by a second change."""
    return _thread(
        "Since the last release training needs 2.1 GiB more on each GPU and ends in CUDA out of memory. "
        "Tried to "
        "allocate 512.00 MiB.",
        [
            pull(31, "Free the workspace early", "2026-03-02T09:00:00Z", merged="2026-03-04T10:00:00Z"),
            event(
                9001, "closed", "2026-03-04T10:00:02Z", commit_id="1b2c3d4e5f60718293a4b5c6d7e8f90112233445"
            ),
            comment(1, "LGTM, memory is back to 11,811,160,064 bytes.", at="2026-03-04T11:00:00Z"),
            comment(2, "It corrupts results with two streams, we have to revert.", at="2026-03-06T08:00:00Z"),
            pull(33, "Revert the early free", "2026-03-06T09:00:00Z", merged="2026-03-06T12:00:00Z"),
            event(9002, "reopened", "2026-03-06T12:10:00Z"),
            pull(
                38,
                "Share the workspace between streams",
                "2026-03-10T09:00:00Z",
                merged="2026-03-15T16:30:00Z",
            ),
            event(
                9003, "closed", "2026-03-15T16:30:01Z", commit_id="c0ffee11c0ffee11c0ffee11c0ffee11c0ffee11"
            ),
        ],
        "2026-03-15T16:30:01Z",
        state="closed",
    )


def wrong_merge() -> tuple[dict, list[dict]]:
    """A change about something else closed the issue by its wording; nothing has merged since."""
    return _thread(
        "The planner admits a batch of 48 GiB on a card with 40 GiB.",
        [
            comment(
                1,
                "CHANGES REQUIRED on 0123abcd: the bound falls as packing grows.",
                at="2026-03-02T08:00:00Z",
            ),
            pull(50, "Report errors of all ranks", "2026-03-03T09:00:00Z", merged="2026-03-05T07:00:00Z"),
            event(9101, "closed", "2026-03-05T07:00:01Z", state_reason="completed"),
            comment(2, "This was not about memory, reopening.", at="2026-03-05T09:00:00Z"),
            event(9102, "reopened", "2026-03-05T09:00:10Z"),
            pull(52, "Price the packed rows", "2026-03-07T09:00:00Z"),
        ],
        "2026-03-20T09:00:00Z",
    )


def several_projects() -> tuple[dict, list[dict]]:
    """Fixes in two projects, one given up, and the issue is still open."""
    return _thread(
        "Loading a checkpoint twice keeps both copies: 70 GB of weights become 140 GB.",
        [
            pull(61, "Drop the first copy", "2026-03-02T09:00:00Z", closed="2026-03-03T10:00:00Z"),
            pull(7, "Load lazily", "2026-03-04T09:00:00Z", merged="2026-03-08T10:00:00Z",
                 repository="octo/loader"),
            pull(64, "Use the lazy loader", "2026-03-09T09:00:00Z"),
            comment(1, "Half of it is gone with the loader.", at="2026-03-09T10:00:00Z",
                    updated_at="2026-03-10T10:00:00Z"),
        ],
        "2026-03-10T10:00:00Z",
    )  # fmt: skip


THREADS = {"reverted fix": reverted_fix, "wrong merge": wrong_merge, "several projects": several_projects}
