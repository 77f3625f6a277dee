"""An attempt's verdict in words, and where its commit can be looked at."""

from __future__ import annotations

from urllib.parse import urlsplit

from studies.services.outcomes.verdict import Verdict
from studies.text.words import label_words, method_words


def verdict_sentence(verdict: Verdict) -> str:
    """``above margin, with a peak of 39,001 MiB against a margin of 38,912 MiB; worse than …``."""
    words = [label_words(verdict.state)]
    peak, margin = verdict.attempt.peak_mib, verdict.margin_mib
    if margin is None:
        words.append("nobody planned it, so it counts nowhere")
    elif peak is not None:
        words[0] += f", with a peak of {peak:,.0f} MiB against a margin of {margin:,.0f} MiB"
    if verdict.worse_than_predicted:
        said = ", ".join(
            f"{method_words(name)}: {label_words(label)}" for name, label in verdict.predicted.items()
        )
        words.append(f"worse than every sealed prediction ({said})")
    if verdict.worse_than_before and verdict.before is not None:
        state, invocation = verdict.before
        words.append(f"worse than {invocation}, which was {label_words(state)}")
    return "; ".join(words)


def commit_address(repository: str, commit: str) -> str:
    """The page of a commit, as its forge addresses it; empty without both."""
    if not repository or not commit:
        return ""
    return f"{repository}{_dash(repository)}/commit/{commit}"


def pull_request_address(repository: str, number: int | None) -> str:
    """The page of a pull or merge request; empty without both."""
    if not repository or not number:
        return ""
    return f"{repository}/-/merge_requests/{number}" if _dash(repository) else f"{repository}/pull/{number}"


def _dash(repository: str) -> str:
    """GitLab puts a dash before its own pages."""
    return "/-" if "gitlab" in (urlsplit(repository).hostname or "") else ""
