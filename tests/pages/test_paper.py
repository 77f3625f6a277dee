"""A study for a paper: one page to print, a citation, and an archive that checks itself."""

from __future__ import annotations

import datetime as dt
import hashlib
import io
import json
import re
import zipfile

import pytest
import yaml

from studies.text.citation import Citation

CITED = Citation(
    "panel-2", "Peaks & {margins}", "Ida Ek, Ben Ås and Cy Do", "A source", "MIT", "https://x.example/studies/panel-2/",
    dt.date(2026, 9, 15), "ab" * 32,
)  # fmt: skip


def test_bibtex_names_authors_year_and_chain():
    text = CITED.bibtex()
    assert text.startswith("@misc{panel-2,\n")
    assert "author = {Ida Ek and Ben Ås and Cy Do}" in text
    assert r"title = {Peaks \& margins}" in text
    assert "year = {2026}" in text
    assert "ab" * 32 in text


def test_cff_is_yaml_with_the_same():
    read = yaml.safe_load(CITED.cff())
    assert read["title"] == "Peaks & {margins}"
    assert [author["name"] for author in read["authors"]] == ["Ida Ek", "Ben Ås", "Cy Do"]
    assert read["date-released"] == dt.date(2026, 9, 15)
    assert read["cff-version"] == "1.2.0"


@pytest.mark.usefixtures("sample_studies")
@pytest.mark.one_engine("the same rows give the same files")
class TestArchive:
    def test_its_sums_hold_and_it_is_the_same_again(self, client):
        content = client.get("/studies/estimation/paper.zip").content
        assert client.get("/studies/estimation/paper.zip").content == content
        with zipfile.ZipFile(io.BytesIO(content)) as bundle:
            files = {name.removeprefix("estimation/"): bundle.read(name) for name in bundle.namelist()}
        sums = dict(line.split("  ")[::-1] for line in files.pop("SHA256SUMS").decode().splitlines())
        assert {name: hashlib.sha256(data).hexdigest() for name, data in files.items()} == sums
        assert len([name for name in files if name.endswith(".tex")]) == len(
            [name for name in files if name.endswith(".csv")]
        )
        assert json.loads(files["figures/panel.json"])["data"]
        assert b"export_ledger study/estimation" in files["README.txt"]

    def test_the_appendix_has_every_part_once(self, client):
        page = client.get("/studies/estimation/paper/").content.decode()
        for words in (
            "The panel",
            "Unscored approvals",
            "Outcomes",
            "Costs",
            "How to verify this",
            "@misc{estimation,",
        ):
            assert words in page
        names = re.findall(r'\bid="([^"]+)"', page)
        assert len(names) == len(set(names))
