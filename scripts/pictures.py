"""Every page of a running site as pictures and as a table: ``python -m scripts.pictures http://127.0.0.1:8000``.

One page of each kind is found by following links from the home page, so a new page is looked at without being
named here. Each is opened at two widths, and pictured in a light and a dark theme. ``pages.csv`` and
``pages.md`` beside the pictures hold height, tab stops, bytes and what does not fit. ``--readme`` makes the
README's pictures.
"""

from __future__ import annotations

import argparse
import csv
import os
import re
import shutil
from collections.abc import Iterator
from dataclasses import astuple, dataclass, fields
from pathlib import Path
from typing import Literal
from urllib.parse import urljoin, urlsplit

import django
from django.urls import Resolver404, resolve
from playwright.sync_api import Browser, BrowserContext, FloatRect, Page, StorageState, sync_playwright

ROOT = Path(__file__).resolve().parent.parent
OUT = ROOT / "build" / "pictures"
README_PICTURES = ROOT / "docs" / "pictures"
WIDTHS = {1280: 900, 390: 844}
"""Heights in px by widths in px: a desktop window, and a phone."""
THEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")
STARTS = ("/", "/docs/", "/api/v1/docs/", "/search/?q=granite", "/no-such-page/")
STAFF_STARTS = ("/", "/admin/", "/admin/studies/amendment/add/", "/account/", "/operating/")
FIRST_OF_README = ("panel", "/studies/estimation/", "#panel")
SECOND_OF_README = ("decisions", "/admission/OpenPipe/ART/848/witnesses/", "main")
LONGEST = 16_000  # px; a browser does not picture a longer page in one piece

MEASURE = r"""() => {
  const seen = (node) => node.checkVisibility({ visibilityProperty: true });
  const stops = [...document.querySelectorAll(
    "a[href], button, input:not([type=hidden]), select, textarea, summary, iframe, [tabindex]"
  )].filter((node) => node.tabIndex >= 0 && !node.disabled && seen(node));
  let torn = 0;
  const range = document.createRange();
  for (const cell of document.querySelectorAll("main td, main th, main dd, main dt")) {
    if (!seen(cell) || cell.closest("thead")?.offsetWidth === 1) continue;
    const walker = document.createTreeWalker(cell, NodeFilter.SHOW_TEXT);
    let broken = false;
    for (let node = walker.nextNode(); node && !broken; node = walker.nextNode()) {
      if (node.parentElement.closest(".visually-hidden, code, .identifier")) continue;
      for (const word of node.data.matchAll(/(?<![\w-])[A-Za-z]{2,18}(?![\w-])/g)) {
        range.setStart(node, word.index);
        range.setEnd(node, word.index + word[0].length);
        const lines = new Set([...range.getClientRects()].map((box) => Math.round(box.top)));
        if (lines.size > 1) { broken = true; break; }
      }
    }
    torn += broken;
  }
  const page = document.documentElement;
  return [page.scrollHeight, stops.length, Math.max(0, page.scrollWidth - page.clientWidth), torn];
}"""


@dataclass(frozen=True)
class Row:
    """One page at one width: height and what is too wide in px, bytes of the document, torn cells."""

    page: str
    width: int
    height: int
    tab_stops: int
    bytes: int
    too_wide: int
    torn_cells: int


def kind_of(path: str) -> str | None:
    """The page's route; lists and forms of the admin are one kind each. None where there is no such page."""
    try:
        match = resolve(path)
    except Resolver404:
        return None
    name = match.view_name or match.route
    return "admin:" + name.rsplit("_", 1)[-1] if name.startswith("admin:") else name


def addresses(context: BrowserContext, site: str, starts: tuple[str, ...]) -> list[str]:
    """One address of each kind of page that links from ``starts`` lead to, nearest first."""
    kinds: set[str] = set()
    pending = [(start, True) for start in starts]
    asked: set[str] = set()
    found: list[str] = []
    while pending:
        path, wanted = pending.pop(0)
        kind = kind_of(urlsplit(path).path)
        if path in asked or (not wanted and (kind is None or kind in kinds)):
            continue
        asked.add(path)
        answer = context.request.get(site + path, max_redirects=0)
        if not answer.headers.get("content-type", "").startswith("text/html") or answer.status in (301, 302):
            continue
        if kind is not None:
            kinds.add(kind)
        found.append(path)
        pending += [(target, False) for target in targets(path, answer.text())]
    return found


def targets(path: str, html: str) -> Iterator[str]:
    """Paths of this site that the page at ``path`` links to; a query makes no other kind of page."""
    for href in re.findall(r'<a\b[^>]*?\bhref="([^"#]*)', html):
        target = urlsplit(urljoin(f"http://here{path}", href.replace("&amp;", "&")))
        if target.netloc == "here" and not target.path.startswith(("/static/", "/logout")):
            yield target.path


def open_page(page: Page, address: str) -> int:
    """The page with its figures drawn; bytes of its document."""
    answer = page.goto(address, wait_until="load")
    page.wait_for_function(
        "[...document.querySelectorAll('[data-figure]')].every("
        "(plot) => plot.dataset.ready || !plot.checkVisibility() || !plot.clientWidth || !window.Plotly)"
    )
    return len(answer.body()) if answer else 0


def look_at(page: Page, site: str, path: str, width: int, out: Path | None) -> Row:
    """Measure the page, and picture it in both themes where ``out`` names a folder."""
    page.emulate_media(color_scheme="light")
    size = open_page(page, site + path)
    height, stops, too_wide, torn = page.evaluate(MEASURE)
    if out is not None:
        name = re.sub(r"[^a-z0-9]+", "-", path.lower()).strip("-")[:80] or "home"
        for theme in THEMES:
            page.emulate_media(color_scheme=theme)
            target = out / f"{name}.{width}.{theme}.png"
            if height <= LONGEST:
                page.screenshot(path=target, full_page=True)
            else:
                clip = FloatRect(x=0, y=0, width=width, height=LONGEST)
                page.screenshot(path=target, full_page=True, clip=clip)
    return Row(path, width, height, stops, size, too_wide, torn)


def windows(browser: Browser, state: StorageState | None) -> Iterator[tuple[int, Page]]:
    for width, height in WIDTHS.items():
        context = browser.new_context(viewport={"width": width, "height": height}, storage_state=state)
        yield width, context.new_page()
        context.close()


def write_tables(rows: list[Row], out: Path) -> None:
    """``pages.csv`` with a line per page and width, ``pages.md`` with a line per page."""
    names = [field.name for field in fields(Row)]
    with (out / "pages.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerows([names, *(astuple(row) for row in rows)])
    by_page: dict[str, dict[int, Row]] = {}
    for row in rows:
        by_page.setdefault(row.page, {})[row.width] = row
    heads = [f"{word} {width}" for width in WIDTHS for word in ("height", "tab stops", "torn", "too wide")]
    lines = [f"| page | bytes | {' | '.join(heads)} |", "|---" * (len(heads) + 2) + "|"]
    for path, sizes in by_page.items():
        values = [
            f"{value:,}"
            for width in WIDTHS
            for value in (
                sizes[width].height, sizes[width].tab_stops, sizes[width].torn_cells, sizes[width].too_wide,
            )
        ]  # fmt: skip
        lines.append(f"| `{path}` | {max(row.bytes for row in sizes.values()):,} | {' | '.join(values)} |")
    (out / "pages.md").write_text("\n".join(lines) + "\n", encoding="utf-8")


def logged_in(browser: Browser, site: str, password: str) -> StorageState:
    context = browser.new_context()
    page = context.new_page()
    page.goto(f"{site}/login/")
    page.get_by_label("Name").fill("admin")
    page.get_by_label("Password").fill(password)
    page.get_by_label("Password").press("Enter")
    page.wait_for_url(lambda address: "/login/" not in address)
    state = context.storage_state()
    context.close()
    return state


def picture_all(browser: Browser, site: str, out: Path, password: str, only: str, *, pictures: bool) -> None:
    out.mkdir(parents=True, exist_ok=True)
    runs: list[tuple[tuple[str, ...], StorageState | None]] = [(STARTS, None)]
    if password:
        runs.append((STAFF_STARTS, logged_in(browser, site, password)))
    rows: list[Row] = []
    for starts, state in runs:
        context = browser.new_context(storage_state=state)
        seen = {row.page for row in rows}  # home is looked at again: it shows staff more
        paths = [path for path in addresses(context, site, starts) if re.search(only, path)]
        paths = [path for path in paths if path not in seen or path == "/"]
        context.close()
        for width, page in windows(browser, state):
            for path in paths:
                rows.append(look_at(page, site, path, width, out if pictures else None))
                print(*astuple(rows[-1]), sep="\t", flush=True)
    write_tables(rows, out)
    print(f"{len(rows)} rows in {out}/pages.csv and pages.md")


def picture_readme(browser: Browser, site: str) -> None:
    """The first figure of a study, and an issue's decisions, each as a desktop window shows it."""
    README_PICTURES.mkdir(exist_ok=True)
    for name, path, _ in (FIRST_OF_README, SECOND_OF_README):
        page = browser.new_page(viewport={"width": 1180, "height": 760}, color_scheme="light")
        open_page(page, site + path)
        page.screenshot(path=README_PICTURES / f"{name}.png")
        page.close()
        print(f"{README_PICTURES / name}.png")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("site", help="address of a running site, without a path")
    parser.add_argument(
        "--out", type=Path, default=OUT, help="folder for pictures and tables (build/pictures)"
    )
    parser.add_argument("--password-file", type=Path, help="of the login admin, for the pages of staff")
    parser.add_argument("--only", default="", help="pages whose path has this regular expression")
    parser.add_argument("--table-only", action="store_true", help="measure, and make no pictures")
    parser.add_argument(
        "--readme", action="store_true", help="only the README's pictures, into docs/pictures"
    )
    given = parser.parse_args()
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "rlvram_site.settings")
    django.setup()
    password = given.password_file.read_text().strip() if given.password_file else ""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium") or shutil.which("chromium-browser"),
            args=[
                "--no-sandbox",
                "--disable-gpu",
                "--disable-dev-shm-usage",
                "--disable-background-networking",
            ],
        )
        site = given.site.rstrip("/")
        if given.readme:
            picture_readme(browser, site)
        else:
            picture_all(browser, site, given.out, password, given.only, pictures=not given.table_only)
        browser.close()


if __name__ == "__main__":
    main()
