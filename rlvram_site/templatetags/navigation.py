"""Links between pages. A page that this site does not have is never linked to."""

from __future__ import annotations

from typing import Any

from django import template
from django.template import TemplateDoesNotExist
from django.template.loader import get_template
from django.urls import NoReverseMatch, reverse
from django.utils.safestring import SafeString

from host.version import product_version
from rlvram_site.access import is_staff

register = template.Library()

SITE_PAGES = (
    ("home", "Studies"),
    ("transfer", "Transfer suite"),
    ("admission", "Memory admission"),
    ("jobs", "Jobs"),
    ("hosts", "Hosts"),
    ("evidence", "Evidence"),
    ("notices", "Notifications"),
    ("api-docs", "API"),
)

STAFF_PAGES = (("operating", "Operating"),)

STUDY_PAGES = (
    ("study", "Overview"),
    ("configurations", "Configurations"),
    ("outcomes", "Outcomes"),
    ("unscored", "Unscored"),
    ("methods", "Methods"),
    ("what-if", "Will it fit?"),
    ("history", "History"),
    ("protocol", "Protocol"),
    ("pairs", "Pairs"),
    ("costs", "Costs"),
    ("events", "Events"),
    ("commits", "Commits"),
    ("paper", "For a paper"),
    ("evidence", "Evidence"),
)


@register.simple_tag
def version() -> str:
    """The number of this version of the product."""
    return product_version()


def address(name: str, *args: Any) -> str:
    """The address of a named page, empty when the site has no such page."""
    try:
        return reverse(name, args=args)
    except NoReverseMatch:
        return ""


def _links(pages: tuple[tuple[str, str], ...], current: str, *args: Any) -> list[dict[str, Any]]:
    links = ({"name": name, "label": label, "address": address(name, *args)} for name, label in pages)
    return [{**link, "current": link["name"] == current} for link in links if link["address"]]


def _section(path: str) -> str:
    """Which of the site's pages the path lies under; everything about studies is under Studies."""
    if path.startswith((address("search"), address("manual"))):
        return ""
    inside = [
        name
        for name, _ in SITE_PAGES + STAFF_PAGES
        if name != "home" and path.startswith(address(name) or "\0")
    ]
    return inside[0] if inside else "home"


@register.inclusion_tag("navigation/_site.html", takes_context=True)
def site_navigation(context: dict[str, Any]) -> dict[str, Any]:
    """The site's sections and who is logged in."""
    request = context.get("request")
    current = _section(request.path) if request else ""
    user = getattr(request, "user", None)
    pages = SITE_PAGES + STAFF_PAGES if user is not None and is_staff(user) else SITE_PAGES
    return {
        "links": _links(pages, current),
        "searching": request is not None and request.path == address("search"),
        "user": user,
        "path": request.get_full_path() if request else "/",
        "csrf_token": context.get("csrf_token"),
    }


@register.inclusion_tag("navigation/_study.html")
def study_navigation(study: Any, current: str) -> dict[str, Any]:
    """The pages of one study; ``current`` is the address name of the page shown."""
    return {"links": _links(STUDY_PAGES, current, study.slug), "study": study}


@register.simple_tag
def study_tab(page: str) -> str:
    """What a study's page says in its heading before the study; empty on overviews and records' pages."""
    return dict(STUDY_PAGES[1:]).get(page, "")


@register.simple_tag
def page_address(name: str, *args: Any) -> str:
    """As ``url``, but empty where the site has no such page."""
    return address(name, *args)


@register.simple_tag(takes_context=True)
def part_if_there(context: dict[str, Any], name: str) -> SafeString:
    """Another app's part of a page, by its template's name; nothing while that app has no such part.

    The part gets this page's context and loads whatever tags it needs itself.
    """
    try:
        part = get_template(name)
    except TemplateDoesNotExist:
        return SafeString("")
    return SafeString(part.render(context.flatten(), context.get("request")))  # type: ignore[attr-defined]
