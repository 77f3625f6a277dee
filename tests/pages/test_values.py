"""How a recorded JSON value is written on a page."""

import pytest

from rlvram_site.templatetags.display import NOTHING, value


@pytest.mark.parametrize(
    ("item", "expected"),
    [
        (None, NOTHING),
        ("", NOTHING),
        (0, "0"),
        (False, "no"),
        (True, "yes"),
        ([1, 2], "1, 2"),
        ([], ""),
        ({"a": 1}, '<ul class="diff-list"><li>a: 1</li></ul>'),
        (
            [{"a": 1}, {"b": None}],
            f'<ul class="diff-list"><li>a: 1</li></ul><ul class="diff-list"><li>b: {NOTHING}</li></ul>',
        ),
        ("<script>", "<script>"),
        (["<script>"], "&lt;script&gt;"),
    ],
)
def test_a_value_is_written_plainly(item, expected):
    assert str(value(item)) == expected


def test_a_hash_can_be_copied_whole():
    digest = "0123456789abcdef" * 4
    assert f'data-copy="{digest}"' in str(value(digest))
    assert f'data-copy="{digest}"' in str(value({"text_sha256": digest}))
