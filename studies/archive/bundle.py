"""Our own file format: pools and studies with everything recorded about them, as one JSON document.

``docs/bundle.md`` describes it. Records of one kind that follow each other share their field names, so the
file stays small and a change of one record is a change of one line.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from rlvram_site.bounded_files import read_whole
from rlvram_site.exchange import ExchangeError, check_digest, check_form, stretches
from rlvram_site.ledger.canonical import canonical, canonical_json, digest
from studies.archive.documents import Document, parse_json
from studies.archive.errors import ArchiveError
from studies.archive.facts import facts_record
from studies.archive.records import KINDS, Record, Stream

FORMAT = "rlvram-study-bundle"
VERSION = 1


def to_bundle(streams: Sequence[Stream], *, facts_only: bool) -> dict[str, Any]:
    """The bundle of these streams, pools and parents first."""
    if facts_only:
        streams = [
            Stream(
                stream.slug,
                [Record(item.kind, facts_record(item.kind, item.fields)) for item in stream.records],
            )
            for stream in streams
        ]
    content = {
        "pools": [_stream(stream) for stream in streams if stream.is_pool],
        "studies": [_stream(stream) for stream in streams if not stream.is_pool],
    }
    return {
        "format": FORMAT,
        "version": VERSION,
        "facts_only": facts_only,
        "sha256": digest(content),
        "content": canonical(content),
    }


def _stream(stream: Stream) -> dict[str, Any]:
    return {"slug": stream.slug, "runs": list(_runs(stream.records))}


def _runs(records: Sequence[Record]) -> Iterator[dict[str, Any]]:
    def another(one: Record, other: Record) -> bool:
        return (one.kind, list(one.fields)) != (other.kind, list(other.fields))

    for run in stretches(records, another):
        yield {
            "kind": run[0].kind,
            "fields": list(run[0].fields),
            "rows": [list(record.fields.values()) for record in run],
        }


def write_bundle(bundle: dict[str, Any], path: Path) -> None:
    """Write a bundle, one record a line. A file that exists is an error and stays as it is."""
    try:
        with path.open("x", encoding="utf-8", newline="\n") as file:
            file.write(_spelled(bundle))
    except FileExistsError:
        raise ArchiveError(f"{path}: exists already, expected a file that is not there yet") from None
    except OSError as error:
        raise ArchiveError(f"{path}: cannot be written ({error.strerror})") from None


def _spelled(bundle: dict[str, Any]) -> str:
    head = {key: value for key, value in bundle.items() if key != "content"}
    parts = [json.dumps(head, ensure_ascii=False)[:-1] + ', "content": {']
    for index, group in enumerate(("pools", "studies")):
        parts.append(f'"{group}": [')
        parts.append(",\n".join(_spelled_stream(stream) for stream in bundle["content"][group]))
        parts.append("]," if index == 0 else "]")
    return "\n".join(parts) + "\n}}\n"


def _spelled_stream(stream: dict[str, Any]) -> str:
    runs = []
    for run in stream["runs"]:
        rows = ",\n".join(canonical_json(row) for row in run["rows"])
        kind, fields = json.dumps(run["kind"]), json.dumps(run["fields"])
        runs.append(f'{{"kind": {kind}, "fields": {fields}, "rows": [\n{rows}\n]}}')
    return f'{{"slug": {json.dumps(stream["slug"])}, "runs": [\n' + ",\n".join(runs) + "\n]}"


def read_bundle(path: Path) -> list[Stream]:
    """The streams of a bundle file, pools first.

    Raises ``ArchiveError``: another format or version, a content that is not what its sha256 says, or a
    record without shape.
    """
    try:
        raw = read_whole(path)
    except OSError as error:
        raise ArchiveError(f"{path}: cannot be read ({error.strerror})") from None
    try:
        bundle = Document(
            path.name, check_form(parse_json(raw, path.name), path.name, form=FORMAT, version=VERSION)
        )
        check_digest(bundle.mapping("content"), bundle.values.get("sha256"), path.name)
    except ExchangeError as error:
        raise ArchiveError(str(error)) from None
    found = bundle.sub("content")
    return [
        *(_read_stream(item, "pool") for item in found.items("pools")),
        *(_read_stream(item, "study") for item in found.items("studies")),
    ]


def _read_stream(item: Document, head: str) -> Stream:
    records = [record for run in item.items("runs") for record in _read_run(run)]
    slug = item.text("slug")
    if not records or records[0].kind != head or records[0].fields.get("slug") != slug:
        raise item.fail("runs", slug, f"the {head} {slug} itself as the first record")
    return Stream(slug, records)


def _read_run(run: Document) -> Iterator[Record]:
    kind, fields = run.text("kind"), run.sequence("fields")
    if kind not in KINDS:
        raise run.fail("kind", kind, f"one of {', '.join(KINDS)}")
    if len(set(map(str, fields))) != len(fields) or not all(isinstance(name, str) for name in fields):
        raise run.fail("fields", fields, "field names, each once")
    for number, row in enumerate(run.sequence("rows")):
        if not isinstance(row, list) or len(row) != len(fields):
            raise run.fail(f"rows[{number}]", row, f"a list of {len(fields)} values, one for each field")
        yield Record(kind, dict(zip(fields, row, strict=True)))
