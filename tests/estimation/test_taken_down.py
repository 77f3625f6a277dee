"""The figures that stand in for the archive are the archive's."""

import json

from tests.estimation.facts import ARCHIVE, TAKEN_DOWN, facts_of_archive, figures_of, published_facts


def test_the_figures_taken_down_are_those_of_the_facts_in_use():
    """Beside the archive this compares with its files; without it, the file must survive its own reader."""
    taken = json.loads(TAKEN_DOWN.read_text(encoding="utf-8"))
    source = facts_of_archive(ARCHIVE) if ARCHIVE.is_dir() else published_facts()
    assert figures_of(source) == taken


def texts(tree):
    """Every text value of a JSON tree."""
    if isinstance(tree, str):
        yield tree
    elif isinstance(tree, dict | list):
        for item in tree.values() if isinstance(tree, dict) else tree:
            yield from texts(item)


def test_no_sentence_of_the_archive_was_taken_down():
    documents = json.loads(TAKEN_DOWN.read_text(encoding="utf-8"))["documents"]
    assert [text for text in texts(documents) if text.count(" ") > 4] == []
