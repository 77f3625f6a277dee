"""The documentation inside the site: every page, every link, every word of the glossary."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from urllib.parse import urljoin, urlsplit

import pytest

from tests.conftest import ROOT

NAMES = sorted(path.stem for path in (ROOT / "docs").glob("*.md"))


class _Inside(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.links: list[str] = []
        self.places: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if given.get("id"):
            self.places.add(str(given["id"]))
        if tag == "a" and given.get("href"):
            self.links.append(str(given["href"]))


def read(client, address: str) -> _Inside:
    answer = client.get(address)
    assert answer.status_code == 200, address
    inside = _Inside()
    inside.feed(answer.content.decode())
    return inside


def address_of(name: str) -> str:
    return "/docs/" if name == "index" else f"/docs/{name}/"


def test_every_page_is_there_and_every_link_leads_somewhere(client, db):
    pages = {address_of(name): read(client, address_of(name)) for name in NAMES}
    wrong = []
    for address, inside in pages.items():
        for link in inside.links:
            target = urlsplit(urljoin(address, link))
            if target.netloc or not target.path.startswith("/docs/"):
                continue
            if target.path in pages:
                if target.fragment and target.fragment not in pages[target.path].places:
                    wrong.append((address, link))
            elif client.get(target.path).status_code != 200:
                wrong.append((address, link))
    assert wrong == []


@pytest.mark.parametrize(
    "name", ["nothing", "..%2fREADME", "glossary.md", "ready/..%2f..%2fmanage.py", "ready/none.yml"]
)
def test_what_it_has_not_is_not_found(client, db, name):
    assert client.get(f"/docs/{name}/").status_code == 404
    assert client.get(f"/docs/{name}").status_code in (301, 404)


def test_a_word_of_the_glossary_has_an_address_and_stands_in_order(client, db):
    inside = read(client, "/docs/glossary/")
    assert {"approval", "seal", "unscored-approval", "eligible-outcome"} <= inside.places
    words = re.findall(r"^\| ([^|]+) \|", (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8"), re.M)[
        1:
    ]
    assert words == sorted(words, key=str.lower)


def test_ready_files_are_plain_text(client, db):
    answer = client.get("/docs/ready/github-actions.yml")
    assert answer["Content-Type"] == "text/plain; charset=utf-8"
    assert "rlvram-upload" in answer.content.decode()


def test_a_private_site_keeps_it_behind_the_login(client, db, private_site):
    assert client.get("/docs/").status_code == 302


def test_a_chosen_theme_has_the_colours_of_the_systems():
    style = (ROOT / "static" / "site.css").read_text(encoding="utf-8")
    by_system = re.search(r':root:not\(\.paper, \[data-theme="light"\]\) \{(.*?)\}', style, re.S)
    chosen = re.search(
        r':root\[data-theme="dark"\]:not\(\.paper\) \{\s*color-scheme: dark;(.*?)\}', style, re.S
    )
    assert by_system
    assert chosen
    assert chosen[1].split() == by_system[1].split()
