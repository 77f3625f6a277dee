"""A filtered, sortable, paged list of configurations: the same for a study and for a pool."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Protocol

from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseBase, QueryDict
from django_tables2 import RequestConfig

from rlvram_site.csv_download import csv_response
from rlvram_site.tables.paging import note_length, rows_per_page
from studies.models import Configuration
from studies.views.filters import ConfigurationFilter, StateChoice
from studies.views.tables import ConfigurationTable

PER_PAGE = 50
CSV_CHUNK = 500


@dataclass(frozen=True)
class Listing:
    """One list as its page shows it. ``status`` is 400 when a filter's value was not understood."""

    filter: ConfigurationFilter
    table: ConfigurationTable
    total: int
    query: str

    @property
    def found(self) -> int:
        return self.table.paginator.count

    @property
    def status(self) -> int:
        return 400 if self.filter.messages else 200


def list_configurations(
    request: HttpRequest,
    queryset: QuerySet[Configuration],
    states: Sequence[StateChoice],
    make_table: Callable[[QuerySet[Configuration]], ConfigurationTable],
    *,
    total: int | None = None,
) -> Listing:
    """Filter, sort and page ``queryset`` as the address asks.

    A value that is not understood gives its message and no rows; it is not left out in silence. ``total`` is
    how many there are, where the caller knows.
    """
    narrowed = ConfigurationFilter(request.GET, queryset, states=states)
    table = make_table(narrowed.queryset.none() if narrowed.messages else narrowed.qs)
    # How many rows a page has is ours to say: an address must not ask for all of them at once.
    table.per_page_field = "rows-per-page-is-fixed"
    RequestConfig(request, paginate={"per_page": rows_per_page(request, PER_PAGE)}).configure(table)
    note_length(request, table.page)
    table.prepare_page()
    return Listing(narrowed, table, queryset.count() if total is None else total, _without_page(request.GET))


class Columns(Protocol):
    """What a file has behind the settings."""

    @property
    def names(self) -> Sequence[str]:
        """The columns in their order."""

    def read(self, records: Sequence[Configuration]) -> Iterable[Sequence[Any]]:
        """The values of each of these configurations, in their order."""


def download_configurations(listing: Listing, name: str, columns: Columns) -> HttpResponseBase:
    """The whole filtered list, in the order shown, as a CSV file; settings first, then ``columns``."""
    if listing.filter.messages:
        return HttpResponse("\n".join(listing.filter.messages), status=400, content_type="text/plain")
    return csv_response(name, [*SETTINGS_COLUMNS, *columns.names], _rows(listing, columns))


def _rows(listing: Listing, columns: Columns) -> Iterator[list[Any]]:
    """The list's rows, read and written some at a time."""
    pending = listing.table.data.data.iterator(chunk_size=CSV_CHUNK)
    while records := list(islice(pending, CSV_CHUNK)):
        for record, values in zip(records, columns.read(records), strict=True):
            yield [*(getattr(record, field) for field in SETTINGS_COLUMNS), *values]


SETTINGS_COLUMNS = tuple(
    field.name
    for field in Configuration._meta.concrete_fields
    if field.name not in {"id", "pool", "study", "recorded_at"}
)
"""Every setting of a configuration, in the order of the model."""


def _without_page(query: QueryDict) -> str:
    kept = query.copy()
    kept.pop("page", None)
    return kept.urlencode()
