"""What a changed value lost and gained: nothing is invented and nothing gets lost."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from studies.text.diffs import DiffPiece, list_diff, text_diff, value_diff

words = st.lists(st.text("abcdé", min_size=1, max_size=4), max_size=12).map(" ".join)
items = st.lists(st.text(min_size=1, max_size=5), max_size=8)


def without(pieces: list[DiffPiece], kind: str) -> list[str]:
    return [piece.text for piece in pieces if piece.kind != kind]


@given(words, words)
def test_both_texts_can_be_read_from_their_diff(before, after):
    pieces = text_diff(before, after)
    assert "".join(without(pieces, "added")) == before
    assert "".join(without(pieces, "removed")) == after


@given(items, items)
def test_both_lists_can_be_read_from_their_diff(before, after):
    pieces = list_diff(before, after)
    assert without(pieces, "added") == before
    assert without(pieces, "removed") == after


@given(words)
def test_an_unchanged_text_has_no_change(text):
    assert {piece.kind for piece in text_diff(text, text)} <= {"same"}


def test_a_replaced_item_stands_between_those_that_stayed():
    assert list_diff(["a", "b", "c"], ["a", "x", "c"]) == [
        DiffPiece("same", "a"), DiffPiece("removed", "b"), DiffPiece("added", "x"), DiffPiece("same", "c"),
    ]  # fmt: skip


def test_values_of_two_kinds_are_replaced_whole():
    assert value_diff({"limit": 1}, "none") == [
        DiffPiece("removed", '{"limit": 1}'),
        DiffPiece("added", "none"),
    ]
    assert value_diff(None, 3) == [DiffPiece("added", "3")]
