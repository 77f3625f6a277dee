"""Tables as other programs write them: with a byte order mark, other line ends, line breaks in quotes."""

from __future__ import annotations

import csv
import io

import pytest
from django.core.management import CommandError, call_command
from hypothesis import given
from hypothesis import strategies as st

from studies.archive.errors import ArchiveError
from studies.archive.tables import read_table
from studies.models import Configuration, PoolOutcome

OUTCOMES = "benchmark/outcomes.csv"


@pytest.mark.django_db
@pytest.mark.parametrize(
    "change",
    [
        lambda content: b"\xef\xbb\xbf" + content,
        lambda content: content.replace(b"\n", b"\r\n"),
        lambda content: b"\xef\xbb\xbf" + content.replace(b"\n", b"\r\n"),
        lambda content: content.rstrip(b"\n"),
    ],
    ids=["byte order mark", "carriage returns", "both", "no last line end"],
)
def test_a_table_in_another_form_gives_the_same_rows(archive, change):
    path = archive.path(OUTCOMES)
    path.write_bytes(change(path.read_bytes()))
    archive.rehash()
    call_command("import_study", str(archive.root), "--study", "estimation", verbosity=0)
    assert PoolOutcome.objects.filter(observed_state="within_margin").count() == 142


@pytest.mark.django_db
def test_a_line_break_in_quotes_stays_in_its_cell(archive):
    name = "benchmark/configurations.csv"
    archive.edit_table(name, lambda rows: rows[0].update(condition="two\nlines"))
    archive.rehash()
    call_command("import_study", str(archive.root), "--study", "estimation", verbosity=0)
    assert Configuration.objects.filter(condition="two\nlines").count() == 1


@pytest.mark.django_db
def test_a_line_break_in_a_name_is_refused_with_its_line(archive):
    name = "benchmark/configurations.csv"
    archive.edit_table(name, lambda rows: rows[0].update(configuration_id="cfg\n1"))
    archive.rehash()
    with pytest.raises(CommandError) as caught:
        call_command("import_study", str(archive.root), verbosity=0)
    assert str(caught.value) == (
        f"{name} line 3 column configuration_id: 'cfg\\n1', expected a text in one line"
    )


LINES = "\n\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029"
names = st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\0\r" + LINES), min_size=1)
values = st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\0\r"))


@given(st.lists(st.tuples(names.filter(str.strip), values), unique_by=lambda row: row[0]))
def test_what_a_csv_writer_wrote_is_read_back(rows):
    file = io.StringIO(newline="")
    csv.writer(file).writerows([("name", "value"), *rows])
    found = read_table(file.getvalue().encode(), "t.csv", ("name", "value"), key="name")
    assert [(row.cells["name"], row.cells["value"]) for row in found] == rows


@given(st.binary(max_size=200))
def test_any_bytes_are_read_or_refused_with_the_file_named(content):
    try:
        rows = read_table(content, "t.csv", ("name",), key="name")
    except ArchiveError as error:
        problem = str(error)
    else:
        problem = "" if all(row.cells["name"] for row in rows) else "a blank key"
    assert problem == "" or problem.startswith("t.csv")


def test_a_nul_is_refused():
    with pytest.raises(ArchiveError, match=r"t\.csv: a NUL character at place 5, expected text"):
        read_table(b"name\n\0", "t.csv", ("name",), key="name")
