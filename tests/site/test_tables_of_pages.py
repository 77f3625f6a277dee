"""Every table of a page: arranged as the address asks, labelled for a phone, and handed out as a file."""

from __future__ import annotations

import csv
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlvram_site.tables.arrangement import Arrangement, arrange, asked, sort_key
from rlvram_site.tables.latex import escaped, latex
from rlvram_site.tables.markup import plain, read
from rlvram_site.tables.pages import rows_of

INNER = (
    "<caption>Three of them.</caption><thead><tr>"
    '<th scope="col">Name</th><th scope="col" class="number">Size</th>'
    '<th scope="col">Note</th></tr></thead><tbody>'
    '<tr><th scope="row">a</th><td class="number">1,024</td><td>first<br>two lines</td></tr>'
    '<tr><th scope="row">b</th><td class="number">99</td><td>–</td></tr>'
    '<tr><th scope="row">c</th><td class="number">–</td>'
    '<td><span class="visually-hidden">not seen</span>x &amp; y</td></tr>'
    "</tbody>"
)


def table():
    found = read(' class="full"', INNER)
    assert found is not None
    return found


def first_column(arranged) -> list[str]:
    return [row.cells[0].text for row in arranged.body]


def test_a_table_written_again_says_the_same_and_names_each_cell():
    written = table().markup()
    assert '<td class="number" data-label="Size">1,024</td>' in written
    assert '<th scope="row">a</th>' in written
    assert "Three of them." in written


def test_a_cell_of_several_rows_moves_the_names_of_those_beside_it():
    spanned = read(
        "",
        "<thead><tr><th>Candidate</th><th>Policy</th><th>Bytes</th></tr></thead><tbody>"
        '<tr><th rowspan="2">one</th><td>cold</td><td>7</td></tr><tr><td>warm</td><td>8</td></tr></tbody>',
    )
    assert spanned is not None
    assert '<td data-label="Policy">warm</td><td data-label="Bytes">8</td>' in spanned.markup()
    assert not spanned.is_regular
    assert rows_of(spanned) == [["one", "cold", "7"], ["one", "warm", "8"]]


@pytest.mark.parametrize(
    ("wanted", "names"),
    [
        (Arrangement(sort=2), ["b", "a", "c"]),
        (Arrangement(sort=-2), ["a", "b", "c"]),
        (Arrangement(words="X y"), ["c"]),
        (Arrangement(words="not seen"), []),
        (Arrangement(sort=9), ["a", "b", "c"]),
    ],
)
def test_rows_are_sorted_by_value_and_blanks_stay_last(wanted, names):
    arranged = table()
    arrange(arranged, wanted)
    assert first_column(arranged) == names


def test_a_column_left_out_is_gone_and_the_first_one_stays():
    arranged = table()
    arrange(arranged, Arrangement(hidden=frozenset({1, 2})))
    assert arranged.names == ["Name", "Note"]
    assert rows_of(arranged)[0] == ["a", "first; two lines"]


@given(st.dictionaries(st.sampled_from(["t.q", "t.sort", "t.hide"]), st.text(max_size=12)))
def test_no_address_is_too_odd_to_be_read(query):
    wanted = asked("t", query, [query.get("t.hide", "")])
    arranged = table()
    arrange(arranged, wanted)
    assert arranged.names[0] == "Name"


@given(st.lists(st.integers(-(10**9), 10**9)))
def test_written_numbers_are_sorted_as_numbers(values):
    texts = [f"{value:,}" for value in values]
    assert sorted(texts, key=sort_key) == [f"{value:,}" for value in sorted(values)]


def test_a_hash_is_whole_in_a_file():
    digest = "0123456789abcdef" * 4
    assert (
        plain(f'<button type="button" class="hash" data-copy="{digest}">01234567</button> x') == f"{digest} x"
    )


@given(st.text())
def test_latex_has_no_command_that_the_text_brought(text):
    marks = escaped(text).replace(r"\textbackslash{}", "")
    assert "&" not in marks.replace(r"\&", "")
    assert "%" not in marks.replace(r"\%", "")


def test_latex_has_the_rules_of_booktabs():
    text = latex("Sizes, 50 %", "sizes", ["Name", "Size"], [["a_b", "1,024"]], [False, True])
    assert r"\begin{tabular}{lr}" in text
    assert r"a\_b & 1,024 \\" in text
    assert [rule for rule in (r"\toprule", r"\midrule", r"\bottomrule") if rule not in text] == []


@pytest.mark.usefixtures("sample_studies")
class TestOfAStudy:
    def test_the_file_has_exactly_the_rows_that_are_shown(self, client):
        query = {"unscored.q": "math-c", "unscored.sort": "-1"}
        page = client.get("/studies/estimation/unscored/", query)
        assert "Rows with &quot;math-c&quot;: 4 of 6." in page.content.decode()
        answer = client.get("/studies/estimation/unscored/", {**query, "unscored.as": "csv"})
        rows = list(csv.reader(io.StringIO(b"".join(answer.streaming_content).decode())))
        assert rows[0][0] == "Configuration"
        assert [row[0].split(";")[0] for row in rows[1:]] == [
            f"est-qwen25-7b-math-{level}-{gpus}gpu" for level in ("c3", "c2") for gpus in (4, 2)
        ]

    def test_the_same_table_as_latex(self, client):
        answer = client.get("/studies/estimation/unscored/", {"unscored.as": "tex"})
        assert answer["Content-Disposition"].endswith('-unscored-unscored.tex"')
        assert r"\toprule" in answer.content.decode()

    def test_a_table_that_is_not_there_is_named_with_those_that_are(self, client):
        answer = client.get("/studies/estimation/unscored/", {"nothing.as": "csv"})
        assert answer.status_code == 404
        assert "unscored" in answer.content.decode()

    def test_a_page_of_rows_is_arranged_as_a_whole(self, client):
        """The pool's list has 140 configurations on pages of 50."""
        page = client.get("/pools/rlvrambench/configurations/", {"configurations.q": "granite"})
        assert "tr" in page.content.decode()
        assert 'class="pages"' not in page.content.decode()

    def test_a_view_is_kept_under_a_name_and_dropped_again(self, client, django_user_model):
        client.force_login(django_user_model.objects.create_user("ida"))
        kept = {"path": "/studies/estimation/unscored/", "query": "unscored.q=math", "name": "mathematics"}
        answer = client.post("/views/", kept)
        assert answer.url == "/studies/estimation/unscored/?unscored.q=math"
        assert ">mathematics</a>" in client.get(answer.url).content.decode()
        assert client.post("/views/", {**kept, "path": "//elsewhere/"}).status_code == 400
        client.post(f"/views/{django_user_model.objects.get(username='ida').saved_views.get().pk}/drop/")
        assert "You keep no view yet." in client.get("/views/").content.decode()

    def test_what_somebody_kept_is_shown_to_nobody_else(self, client, django_user_model):
        ida, ben = (django_user_model.objects.create_user(name) for name in ("ida", "ben"))
        ida.saved_views.create(name="mine alone", path="/studies/estimation/unscored/")
        client.force_login(ben)
        assert "mine alone" not in client.get("/studies/estimation/unscored/").content.decode()
        client.logout()
        assert "mine alone" not in client.get("/studies/estimation/unscored/").content.decode()
