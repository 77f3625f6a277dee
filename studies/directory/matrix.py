"""`matrix.yaml`: models × workloads × levels × GPU counts, written out as the rows of `configurations.csv`.

Seeds, order, pairs and device subsets are the schedule's; this only makes the settings.
"""

from __future__ import annotations

import csv
import io
import itertools
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from studies.directory.configurations import OPTIONAL, REQUIRED
from studies.directory.problems import Problems
from studies.directory.yaml_file import YamlFile, read_yaml

NAME = "matrix.yaml"
MOST_ROWS = 10_000
_MADE = ("configuration_id", "model", "workload_id", "configuration_level", "gpu_count")
_COLUMNS = (*REQUIRED, *OPTIONAL)
_AXES = ("workloads", "levels")
_KEYS = ("models", *_AXES, "gpu_counts", "shared", "id_ending")


def read_matrix(folder: Path, problems: Problems) -> str:
    """The text of `configurations.csv` that the matrix stands for; empty if it has problems.

    Each entry of `workloads` and `levels` is a name with the columns that it sets; `shared` sets the others.
    `rollout_tp_size` is the largest that divides both what is asked for and the GPU count.
    """
    file = read_yaml(folder, NAME, problems)
    if not file.values:
        return ""
    for key in file.values:
        if key not in _KEYS:
            _refuse(file, problems, key, key, "one of " + ", ".join(_KEYS))
    models = _list(file, problems, "models", str)
    counts = _list(file, problems, "gpu_counts", int)
    axes = [_named(file, problems, axis) for axis in _AXES]
    shared = _columns(file, problems, "shared", file.values.get("shared", {}))
    ending = file.values.get("id_ending", "")
    if not isinstance(ending, str):
        _refuse(file, problems, "id_ending", ending, "a text that each configuration_id ends with")
    number = math.prod(map(len, (models, counts, *axes)))
    if number > MOST_ROWS:
        _refuse(file, problems, "models", number, f"at most {MOST_ROWS:,} configurations in all")
    if problems:
        return ""
    rows = [
        _row(model, workload, level, count, shared) | {"configuration_id": name.lower()}
        for model, workload, level, count in itertools.product(
            models, axes[0].items(), axes[1].items(), counts
        )
        for name in [f"{model.rpartition('/')[2]}-{workload[0]}-{level[0]}-{count}gpu{ending}"]
    ]
    columns = [name for name in _COLUMNS if name in REQUIRED or any(name in row for row in rows)]
    for name in columns:
        if any(name not in row for row in rows):
            _refuse(file, problems, f"shared.{name}", None, "a value here, or in every workload or level")
    return "" if problems else _csv(columns, rows)


def _row(
    model: str, workload: tuple[str, Any], level: tuple[str, Any], count: int, shared: Mapping[str, Any]
) -> dict[str, Any]:
    row = {**shared, **workload[1], **level[1]}
    size = row.get("rollout_tp_size")
    if isinstance(size, int) and not isinstance(size, bool):
        row["rollout_tp_size"] = math.gcd(size, count)
    return row | {
        "model": model,
        "workload_id": workload[0],
        "configuration_level": level[0],
        "gpu_count": count,
    }


def _csv(columns: list[str], rows: list[dict[str, Any]]) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(columns)
    for row in rows:
        cells = (row[name] for name in columns)
        writer.writerow([str(cell).lower() if isinstance(cell, bool) else cell for cell in cells])
    return out.getvalue()


def _list(file: YamlFile, problems: Problems, key: str, kind: type) -> list[Any]:
    given = file.values.get(key)
    values = given if isinstance(given, list) else []
    good = values and all(type(item) is kind for item in values) and len(set(values)) == len(values)
    if not good or (kind is int and min(values) < 1):
        words = "texts" if kind is str else "whole numbers above zero"
        _refuse(file, problems, key, given, f"a list of different {words}")
        return []
    return values


def _named(file: YamlFile, problems: Problems, axis: str) -> dict[str, dict[str, Any]]:
    given = file.values.get(axis)
    if not isinstance(given, dict) or not given:
        _refuse(file, problems, axis, given, "names, each with the columns that it sets")
        return {}
    return {name: _columns(file, problems, f"{axis}.{name}", values) for name, values in given.items()}


def _columns(file: YamlFile, problems: Problems, path: str, values: Any) -> dict[str, Any]:
    if not isinstance(values, dict):
        _refuse(file, problems, path, values, "columns with their values")
        return {}
    known = [name for name in _COLUMNS if name not in _MADE]
    for name, value in values.items():
        if name not in known:
            _refuse(file, problems, f"{path}.{name}", name, "one of " + ", ".join(known))
        elif value is None or isinstance(value, list | dict):
            _refuse(file, problems, f"{path}.{name}", value, "one value")
    return values


def _refuse(file: YamlFile, problems: Problems, path: str, value: object, expected: str) -> None:
    problems.add(file.name, file.line(path), path, value, expected)
