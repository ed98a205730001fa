"""LaTeX tables of the studies of modelled processors."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from dpubench.analysis import formats
from dpubench.studies.modelled.models import Labelled


def tabular(columns: str, head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Return the lines of a table for LaTeX's package booktabs."""

    def line(cells: Sequence[str]) -> str:
        return "  " + " & ".join(formats.latex(cell) for cell in cells) + r" \\"

    return [rf"\begin{{tabular}}{{{columns}}}", r"  \toprule", line(head), r"  \midrule", *map(line, rows), r"  \bottomrule", r"\end{tabular}"]


def labels(points: Iterable[Labelled]) -> list[str]:
    """Return the notes below a table of ``points``: a line per set of labels, with the models that have it."""
    models: dict[str, dict[str, None]] = {}
    for point in points:
        models.setdefault("; ".join(point.labels), {})[point.model] = None
    texts = (": ".join(filter(None, (", ".join(filter(None, names)), text))) for text, names in models.items())
    return [rf"\par\footnotesize {formats.latex(text)}" for text in texts]
