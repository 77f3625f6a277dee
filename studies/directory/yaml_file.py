"""Strict YAML with line numbers: the values that JSON has, no tags, no anchors, each key once."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from studies.directory.problems import Problems

MAX_BYTES = 4 * 1024 * 1024
MAX_DEPTH = 20
MAX_INTEGER_DIGITS = 18
_PLAIN = {
    "tag:yaml.org,2002:str": str,
    "tag:yaml.org,2002:int": int,
    "tag:yaml.org,2002:float": float,
    "tag:yaml.org,2002:bool": bool,
    "tag:yaml.org,2002:null": None,
    # A date is a text like any other: what it means is the reader's to say.
    "tag:yaml.org,2002:timestamp": str,
}


@dataclass
class YamlFile:
    """One file's mapping, and the line of each value by its dotted path."""

    name: str
    values: dict[str, Any] = field(default_factory=dict)
    lines: dict[str, int] = field(default_factory=dict)

    def line(self, path: str) -> int | None:
        """The line of a value, else of the nearest thing around it."""
        while path:
            if path in self.lines:
                return self.lines[path]
            path = path.rpartition(".")[0]
        return None


def read_yaml(folder: Path, name: str, problems: Problems) -> YamlFile:
    """The file's mapping; empty, with its problems noted, if it can't be read."""
    found = YamlFile(name)
    try:
        content = (folder / name).read_bytes()
    except OSError as error:
        problems.add(name, None, "file", error.strerror, "a YAML file")
        return found
    if len(content) > MAX_BYTES:
        problems.add(name, None, "size", len(content), f"at most {MAX_BYTES:,} bytes")
        return found
    try:
        text = content.decode("utf-8-sig")
        node = yaml.compose(text, Loader=yaml.SafeLoader)
        if any(isinstance(event, yaml.AliasEvent) for event in yaml.parse(text, Loader=yaml.SafeLoader)):
            problems.add(name, None, "alias", "*", "every value written out")
            return found
    except UnicodeDecodeError as error:
        problems.add(name, None, f"byte {error.start}", "no UTF-8", "UTF-8 text")
        return found
    except (yaml.YAMLError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        said = getattr(error, "problem", None) or "nested too deeply"
        problems.add(name, mark.line + 1 if mark else None, "text", said, "YAML")
        return found
    if not isinstance(node, yaml.MappingNode):
        problems.add(name, 1, "file", "no mapping", "keys with values, such as slug: my-study")
        return found
    found.values = _Reader(found, problems).mapping(node, "", 0)
    return found


class _Reader:
    def __init__(self, file: YamlFile, problems: Problems) -> None:
        self._file, self._problems = file, problems

    def mapping(self, node: yaml.MappingNode, path: str, depth: int) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for key_node, value_node in node.value:
            key = key_node.value if isinstance(key_node, yaml.ScalarNode) else None
            line = key_node.start_mark.line + 1
            if key is None:
                self._problems.add(self._file.name, line, path or "key", "a list or mapping", "a text")
                continue
            inner = f"{path}.{key}" if path else key
            if key in found:
                self._problems.add(self._file.name, line, inner, "given twice", "each key once")
                continue
            self._file.lines[inner] = line
            found[key] = self._value(value_node, inner, depth + 1)
        return found

    def _value(self, node: yaml.Node, path: str, depth: int) -> Any:
        line = node.start_mark.line + 1
        if depth > MAX_DEPTH:
            self._problems.add(
                self._file.name, line, path, "nested too deeply", f"at most {MAX_DEPTH} levels"
            )
            return None
        if isinstance(node, yaml.MappingNode):
            return self.mapping(node, path, depth)
        if isinstance(node, yaml.SequenceNode):
            values = []
            for number, item in enumerate(node.value):
                self._file.lines[f"{path}.{number}"] = item.start_mark.line + 1
                values.append(self._value(item, f"{path}.{number}", depth + 1))
            return values
        return self._scalar(node, path, line)

    def _scalar(self, node: yaml.Node, path: str, line: int) -> Any:
        kind = _PLAIN.get(node.tag, ...)
        if kind is ...:
            self._problems.add(self._file.name, line, path, node.tag, "a text, number, true, false or null")
            return None
        if kind is None or kind is str:
            return None if kind is None else node.value
        if kind is int and len(node.value) > MAX_INTEGER_DIGITS:
            self._problems.add(
                self._file.name, line, path, f"{len(node.value)} digits", f"at most {MAX_INTEGER_DIGITS}"
            )
            return None
        value = yaml.SafeLoader("").construct_object(node)
        if isinstance(value, float) and not math.isfinite(value):
            self._problems.add(self._file.name, line, path, node.value, "a finite number")
            return None
        return value
