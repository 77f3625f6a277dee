"""Text of a thread as safe HTML: markdown, links to what it names, nothing that runs or loads."""

from __future__ import annotations

import re

import nh3
from django.utils.html import escape
from django.utils.safestring import SafeString, mark_safe
from markdown_it import MarkdownIt
from markdown_it.rules_core import StateCore
from markdown_it.token import Token

MAX_RENDERED = 50_000
MAX_MARKS = 3_000
"""A text of more characters or marks is shown plain: markdown's rules take more than linear time."""

MAX_PLAIN = 200_000

_TAGS = {
    "a", "blockquote", "br", "code", "del", "em", "h3", "h4", "h5", "h6", "hr", "li", "ol", "p", "pre", "s",
    "strong", "table", "tbody", "td", "th", "thead", "tr", "ul",
}  # fmt: skip
_MARKS = re.compile(r"[\[\]*_`~!<>|&]")
_REFERENCE = re.compile(
    r"(?<![\w/#&-])(?:(?P<repository>[A-Za-z0-9][\w.-]{0,98}/[A-Za-z0-9][\w.-]{0,98})?#(?P<number>[1-9]\d{0,8})\b"
    r"|(?P<sha>(?=[0-9a-f]{0,39}\d)(?=[0-9a-f]{0,39}[a-f])[0-9a-f]{7,40})(?![\w-]))"
)


def _parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"html": False, "breaks": False}).enable(["table", "strikethrough"])
    parser.core.ruler.push("references", _link_references)
    parser.core.ruler.push("plain_pictures", _pictures_as_links)
    parser.core.ruler.push("lower_headings", _lower_headings)
    return parser


def _link_references(state: StateCore) -> None:
    """Issue numbers and commit hashes in running text become links; never inside links or code."""
    repository = state.env.get("repository", "")
    if not repository:
        return
    for block in state.tokens:
        if block.type != "inline" or not block.children:
            continue
        children: list[Token] = []
        depth = 0
        for token in block.children:
            depth += {"link_open": 1, "link_close": -1}.get(token.type, 0)
            if token.type == "text" and depth == 0:
                children += _linked(token.content, repository, state.env["forge"])
            else:
                children.append(token)
        block.children = children


def _linked(text: str, repository: str, forge: str) -> list[Token]:
    tokens: list[Token] = []
    end = 0
    for match in _REFERENCE.finditer(text):
        where = match["repository"] or repository
        path = f"issues/{match['number']}" if match["number"] else f"commit/{match['sha']}"
        tokens += [
            _text(text[end : match.start()]),
            Token("link_open", "a", 1, attrs={"href": f"{forge}/{where}/{path}"}),
            _text(match[0]),
            Token("link_close", "a", -1),
        ]
        end = match.end()
    return [*tokens, _text(text[end:])]


def _text(content: str) -> Token:
    return Token("text", "", 0, content=content)


def _pictures_as_links(state: StateCore) -> None:
    """A picture is loaded from wherever the text says; a link to it is not."""
    for block in state.tokens:
        children: list[Token] = []
        for token in block.children or []:
            if token.type == "image":
                children += [
                    Token("link_open", "a", 1, attrs={"href": str(token.attrs.get("src", ""))}),
                    _text(token.content or "picture"),
                    Token("link_close", "a", -1),
                ]
            else:
                children.append(token)
        if block.children is not None:
            block.children = children


def _lower_headings(state: StateCore) -> None:
    """Headings of a statement stand below those of the page."""
    for token in state.tokens:
        if token.type in ("heading_open", "heading_close"):
            token.tag = f"h{min(6, int(token.tag[1]) + 2)}"


_PARSER = _parser()


def to_html(text: str, repository: str = "", forge: str = "https://github.com") -> SafeString:
    """``text`` as HTML that can neither run nor load anything.

    ``repository`` (``OWNER/NAME``) is where bare numbers and hashes point to, at the address ``forge``.
    """
    if len(text) > MAX_RENDERED or len(_MARKS.findall(text)) > MAX_MARKS:
        html = f"<pre>{escape(text[:MAX_PLAIN])}</pre>"
    else:
        html = _PARSER.render(text, {"repository": repository, "forge": forge})
    clean = nh3.clean(
        html,
        tags=_TAGS,
        attributes={"a": {"href"}, "ol": {"start"}},
        url_schemes={"http", "https", "mailto"},
        link_rel="nofollow noopener",
    )
    return mark_safe(clean)  # noqa: S308 - sanitised one line above


def first_line(text: str, length: int = 140) -> str:
    """The first words of ``text`` without markup, for a collapsed statement."""
    line = next((line for line in map(str.strip, text[: length * 4].splitlines()) if line), "")
    plain = re.sub(r"[*`]+", "", line).lstrip("#>|- \t") if not _REFERENCE.match(line) else line
    return plain if len(plain) <= length else f"{plain[: length - 1].rstrip()}…"
