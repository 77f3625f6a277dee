"""A table as LaTeX for a paper, with the rules of the package booktabs."""

from __future__ import annotations

from collections.abc import Sequence

_ESCAPED = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{",
    "}": r"\}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"\textless{}",
    ">": r"\textgreater{}", "–": "--", "—": "---", "−": "$-$", "≤": r"$\le$", "≥": r"$\ge$", "×": r"$\times$",
    "·": r"$\cdot$", "✕": r"$\times$", "●": r"$\bullet$", "○": r"$\circ$", "▲": r"$\blacktriangle$",
    "…": r"\dots{}", "→": r"$\to$", "±": r"$\pm$", "\N{NO-BREAK SPACE}": "~", "²": r"$^2$", "ρ": r"$\rho$",
}  # fmt: skip


def escaped(text: str) -> str:
    """``text`` as LaTeX sets it; nothing in it is a command."""
    return "".join(_ESCAPED.get(letter, letter) for letter in text)


def latex(
    caption: str, label: str, names: Sequence[str], rows: Sequence[Sequence[str]], numbers: Sequence[bool]
) -> str:
    """The whole ``table`` environment; ``numbers`` says which columns are set to the right."""
    columns = "".join("r" if number else "l" for number in numbers)
    lines = [
        "% \\usepackage{booktabs,amssymb}",
        r"\begin{table}",
        r"\centering",
        *([rf"\caption{{{escaped(caption)}}}"] if caption else []),
        rf"\label{{tab:{label}}}",
        rf"\begin{{tabular}}{{{columns}}}",
        r"\toprule",
        _line(names),
        r"\midrule",
        *(_line(row) for row in rows),
        r"\bottomrule",
        r"\end{tabular}",
        r"\end{table}",
    ]
    return "\n".join(lines) + "\n"


def _line(cells: Sequence[str]) -> str:
    return " & ".join(escaped(cell) for cell in cells) + r" \\"
