"""The OpenAPI document as the reference page shows it: groups of operations, their fields, a command."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

_COMMON = frozenset(
    {"304", "400", "401", "403", "404", "406", "409", "411", "412", "413", "415", "429", "500", "503", "507"}
)
"""Answers that every operation can give; the page lists them once."""


@dataclass(frozen=True)
class Field:
    """A parameter, a field of a body or of an answer. ``place`` is path, query, or empty for a body's."""

    name: str
    kind: str
    words: str
    place: str = ""
    required: bool = False


@dataclass(frozen=True)
class Operation:
    identifier: str
    method: str
    path: str
    words: str
    parameters: list[Field]
    body: list[Field]
    body_types: list[str]
    answer: list[Field]
    answers: list[tuple[str, str]]

    @property
    def command(self) -> str:
        """A line for a shell in which SITE and KEY are set."""
        line = f'curl -H "Authorization: Api-Key $KEY" "$SITE{self.path}"'
        if self.method == "GET":
            return line
        kind = "multipart/form-data" if "multipart/form-data" in self.body_types else ""
        data = " -F file=@FILE" if kind else " --json @body.json" if self.body_types else ""
        return f"curl -X {self.method} {line.removeprefix('curl ')}{data}"


@dataclass(frozen=True)
class Group:
    name: str
    operations: list[Operation]


def reference(document: dict[str, Any]) -> tuple[list[Group], list[tuple[str, str]]]:
    """Groups in alphabetical order, and the answers that are common to all operations."""
    groups: dict[str, list[Operation]] = {}
    common: dict[str, str] = {}
    for path, operations in document["paths"].items():
        for method, item in operations.items():
            made = _operation(document, path, method, item)
            groups.setdefault((item.get("tags") or ["the API itself"])[0], []).append(made)
            for status, answer in item["responses"].items():
                if status in _COMMON:
                    common.setdefault(status, answer.get("description", ""))
    return [Group(name.replace("-", " "), found) for name, found in sorted(groups.items())], sorted(
        common.items()
    )


def _operation(document: dict[str, Any], path: str, method: str, item: dict[str, Any]) -> Operation:
    body = item.get("requestBody", {}).get("content", {})
    answers = [(status, found) for status, found in item["responses"].items() if status not in _COMMON]
    first: dict[str, Any] = next((found.get("content", {}) for _, found in answers), {})
    return Operation(
        identifier=item["operationId"].replace("_", "-"),
        method=method.upper(),
        path=path,
        words=item.get("description", ""),
        parameters=[_parameter(document, found) for found in item.get("parameters", ())],
        body=_fields(document, dict(next(iter(body.values()), {})).get("schema", {}), writing=True),
        body_types=list(body),
        answer=_fields(document, first.get("application/json", {}).get("schema", {}), writing=False),
        answers=[
            (status, found.get("description") or ", ".join(found.get("content", {})))
            for status, found in answers
        ],
    )


def _parameter(document: dict[str, Any], found: dict[str, Any]) -> Field:
    schema = found.get("schema", {})
    required = bool(found.get("required"))
    words = " ".join(found.get("description", "").replace("* ", "").split())
    return Field(found["name"], _kind(document, schema), words, found["in"], required)


def _fields(document: dict[str, Any], schema: dict[str, Any], *, writing: bool) -> list[Field]:
    """Fields of an object, of the rows of a list, or of the rows of a page of them."""
    schema = _resolved(document, schema)
    if schema.get("type") == "array":
        return _fields(document, schema.get("items", {}), writing=writing)
    properties = schema.get("properties", {})
    if "results" in properties and not writing:
        return _fields(document, properties["results"], writing=writing)
    required = schema.get("required", ())
    return [
        Field(name, _kind(document, found), found.get("description", ""), "", name in required)
        for name, found in properties.items()
        if not (writing and found.get("readOnly"))
    ]


def _resolved(document: dict[str, Any], schema: dict[str, Any]) -> dict[str, Any]:
    while "$ref" in schema or len(schema.get("allOf", ())) == 1:
        inner = schema["allOf"][0] if "allOf" in schema else schema
        if "$ref" not in inner:
            return dict(inner)
        schema = document["components"]["schemas"][inner["$ref"].rsplit("/", 1)[-1]]
    return schema


def _kind(document: dict[str, Any], schema: dict[str, Any]) -> str:
    """``integer``, ``list of string``, ``one of clear, withdrawn``."""
    choices = schema.get("oneOf") or schema.get("anyOf")
    if choices:
        return " or ".join(dict.fromkeys(_kind(document, choice) for choice in choices if choice))
    found = _resolved(document, schema)
    if "enum" in found:
        return "one of " + ", ".join(str(value) for value in found["enum"] if value not in ("", None))
    if found.get("type") == "array":
        return f"list of {_kind(document, found.get('items', {}))}"
    kind = str(found.get("type", "any value"))
    return f"{kind} ({found['format']})" if "format" in found else kind
