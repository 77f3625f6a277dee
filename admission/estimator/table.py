"""A replay result as plain text: aligned columns, GiB beside bytes, policies under each candidate."""

from __future__ import annotations

from typing import Any

GIB = 2**30

COLUMNS: tuple[tuple[str, str], ...] = (
    ("step", ">"),
    ("candidate", "<"),
    ("policy", "<"),
    ("required B", ">"),
    ("GiB", ">"),
    ("usable B", ">"),
    ("GiB", ">"),
    ("margin B", ">"),
    ("decision", "<"),
    ("profile", "<"),
    ("decided by", "<"),
)


def gib(size: int) -> str:
    """Bytes as GiB with three decimals."""
    return f"{size / GIB:,.3f}"


def one_line(text: str) -> str:
    """``text`` with everything unprintable escaped, so that a label cannot move the cursor."""
    return "".join(
        char if char.isprintable() else char.encode("unicode_escape", "surrogatepass").decode()
        for char in text
    )


def format_table(result: dict[str, Any]) -> str:
    """The table of a :func:`.replay.replay` result, one row per candidate and policy, then the counts."""
    policies: dict[str, list[dict[str, Any]]] = result["policies"]
    rows = [[heading for heading, _ in COLUMNS]]
    for entries in zip(*policies.values(), strict=True):
        rows += [_row(name, entry) for name, entry in zip(policies, entries, strict=True)]
    widths = [max(len(row[place]) for row in rows) for place in range(len(COLUMNS))]
    rows.insert(1, ["-" * width for width in widths])
    lines = [
        "  ".join(
            f"{cell:{align}{width}}" for cell, width, (_, align) in zip(row, widths, COLUMNS, strict=True)
        )
        for row in rows
    ]
    lines.append("")
    for name, counts in result["summary"].items():
        lines.append(
            f"{name}: {counts['admitted']} admitted, {counts['refused']} refused, {counts['cold']} cold"
        )
    return "\n".join(line.rstrip() for line in lines)


def _row(policy: str, entry: dict[str, Any]) -> list[str]:
    return [
        str(entry["step"]),
        one_line(entry["label"]),
        policy,
        f"{entry['required_bytes']:,}",
        gib(entry["required_bytes"]),
        f"{entry['usable_bytes']:,}",
        gib(entry["usable_bytes"]),
        f"{entry['margin_bytes']:,}",
        entry["decision"],
        "trusted" if entry["trusted"] else "cold",
        f"rung of {len(entry['subforwards'])}" if entry["kind"] == "split" else entry["decided_by"],
    ]
