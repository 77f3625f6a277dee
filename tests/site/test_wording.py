"""How pages write: numbers agree with their nouns, sentences begin with a capital, nothing is raw."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator

import pytest
from django.apps import apps

from rlvram_site.counting import counted, figures, plural
from scripts.pictures import kind_of, targets

ENDS_IN_S = {
    "across", "as", "counts", "bias", "bytes", "class", "does", "gas", "has", "is", "its", "less", "loss",
    "pass", "process", "status", "this", "thus", "towards", "us", "was", "yes",
}  # fmt: skip
WORDS = "one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve"
RULES = {
    "one of several": re.compile(
        r"(?<![\w.,:/–-])(?:1|[Oo]ne) (?:[a-z-]+ed |input |memory |planned )?([a-z]{3,}s)\b(?! of| in the)"
    ),
    "a word of a figure": re.compile(rf"\b(?:no|{WORDS}) of \d", re.IGNORECASE),
    "no without a noun": re.compile(r"\b[Nn]o (?:with|of|and|but|in|are|is)\b"),
    "a broken plural": re.compile(r"\b[a-z]+(?:ch|sh|x|query|entry|family)s\b|\bNon [a-z]"),
    "written raw": re.compile(r"\{'|\[\{|\bNone\b(?! )|<[A-Z]\w+ object|&lt;\w+:"),
}  # fmt: skip
STARTS = ["/", "/docs/", "/search/?q=granite", "/admission/", "/transfer/"]


def pages(client) -> Iterator[tuple[str, str]]:
    """One page of each kind with its markup; the manual has words of its own, in code and examples."""
    kinds: set[str] = set()
    pending = list(STARTS)
    while pending:
        path = pending.pop(0)
        kind = kind_of(path.partition("?")[0])
        kind = kind and f"{kind} {path.split('/')[2] if path.startswith('/studies/') else ''}"  # each study
        if kind is None or kind in kinds or path.startswith(("/docs/", "/api/")):
            continue
        kinds.add(kind)
        answer = client.get(path)
        if answer.status_code == 200 and not answer.streaming and "html" in answer["Content-Type"]:
            page = answer.content.decode()
            yield path, page
            pending += targets(path, page)


def texts(page: str) -> Iterator[str]:
    """Runs of words that one block holds."""
    page = re.sub(
        r"<(script|code|pre|blockquote|style)\b.*?</\1>|<div class=\"statement.*?</div>",
        " ",
        page,
        flags=re.DOTALL,
    )
    page = re.sub(
        r"</?(?:p|li|td|th|h\d|dd|dt|caption|div|summary|option|label|figcaption|br|tr)\b[^>]*>", "\n", page
    )
    for line in html.unescape(re.sub(r"<[^>]*>", "", page)).split("\n"):
        if words := " ".join(line.split()):
            yield words


def faults(page: str) -> Iterator[str]:
    for sentence in re.findall(r'<p class="sentence"[^>]*>(.*?)</p>', page, re.DOTALL):
        words = html.unescape(re.sub(r"<[^>]*>", "", sentence)).strip()
        if re.match(r"[a-z]", words) or re.search(r"[a-z]{3}\. [a-z]", words):
            yield f"a small letter begins a sentence: {words[:120]}"
    for text in texts(page):
        for name, rule in RULES.items():
            for match in rule.finditer(text):
                if not (match.lastindex and match[1] in ENDS_IN_S):
                    yield f"{name}: {text[max(0, match.start() - 40) : match.end() + 40]}"


@pytest.mark.usefixtures("sample_studies")
@pytest.mark.one_engine("the words of a page do not depend on the engine")
def test_no_page_has_such_a_form(client):
    found = {path: sorted(set(faults(page))) for path, page in pages(client)}
    assert len(found) > 20
    assert "\n".join(f"{path}: {line}" for path, lines in found.items() for line in lines) == ""


@pytest.mark.parametrize(
    "text",
    [
        '<p class="sentence">six of them failed.</p>',
        "<p>and 1 input files</p>",
        "<td>two of 2 runs</td>",
        "<p>Donor copy has no with a known failure</p>",
        "<p>Non launchs</p>",
        "<li>{&#x27;text_sha256&#x27;: 1}</li>",
    ],
)
def test_the_walk_knows_each_of_these_forms(text):
    assert list(faults(text))


def test_counts_agree_with_their_nouns():
    assert [counted(n, "query") for n in (0, 1, 12, 1024)] == [
        "no queries", "one query", "twelve queries", "1,024 queries",
    ]  # fmt: skip
    assert figures(1, "input file") == "1 input file"
    assert plural("held-out family") == "held-out families"


def test_every_kind_of_record_has_a_plural():
    names = {str(model._meta.verbose_name_plural) for model in apps.get_models()}
    assert [name for name in names if RULES["a broken plural"].search(name.capitalize())] == []
