"""The tables that benchmarks/quality.py prints."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from rich.box import SIMPLE
from rich.table import Table

from benchmarks.pairs import SETS

if TYPE_CHECKING:
    from collections.abc import Sequence


def _share(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


def _thresholds(thresholds: Sequence[float]) -> str:
    return " & ".join(f"{threshold:.3g}" for threshold in thresholds)


def _prf(figures: dict[str, Any]) -> list[str]:
    return [_share(figures[name]) for name in ("precision", "recall", "f1")]


def _table(title: str, columns: Sequence[str]) -> Table:
    table = Table(title=title, box=SIMPLE, title_justify="left", pad_edge=False)
    for column in columns:
        table.add_column(column, justify="right" if table.columns else "left", no_wrap=True)
    return table


def methods_table(name: str, found: dict[str, Any], counts: str) -> Table:
    """Return the table of one set's methods."""
    columns = ("method", "AUC", "tuned to", "P", "R", "F1", "usual", "P", "R", "F1")
    table = _table(f"{name}: {counts}\n{SETS[name].truth}", columns)
    for method, figures in found.items():
        tuned, usual = figures["tuned"], figures["usual"]
        table.add_row(
            method,
            _share(figures["auc"]),
            " / ".join(map(_thresholds, tuned["thresholds"])),
            *_prf(tuned),
            _thresholds(usual["thresholds"]),
            *_prf(usual),
        )
    return table


def schemes_table(found: dict[str, dict[str, Any]]) -> Table:
    """Return the table of the schemes: held-out F1 and AUC of each set, and their means.

    Args:
        found: figures by set and scheme.
    """
    near = [name for name in found if SETS[name].near_duplicates]
    columns = ["scheme", *(f"{name}" for name in found), "near-duplicates", "all"]
    table = _table("Resemblance by scheme: held-out F1, AUC (means: of the sets)", columns)
    for scheme in next(iter(found.values())):
        cells = {
            name: (rows[scheme]["tuned"]["f1"], rows[scheme]["auc"]) for name, rows in found.items()
        }
        means = [np.mean([cells[name] for name in names], axis=0) for names in (near, cells)]
        shown = [*cells.values(), *means]
        table.add_row(scheme, *(f"{f1:.3f} {area:.3f}" for f1, area in shown))
    return table


def scheme_thresholds_table(found: dict[str, dict[str, Any]]) -> Table:
    """Return the table of the mean of each scheme's two tuned thresholds, and F1 at 0.8."""
    table = _table("Resemblance by scheme: tuned threshold, F1 at 0.8", ["scheme", *found])
    for scheme in next(iter(found.values())):
        cells = []
        for rows in found.values():
            tuned = float(np.mean(rows[scheme]["tuned"]["thresholds"]))
            cells.append(f"{tuned:.3f} {rows[scheme]['usual']['f1']:.3f}")
        table.add_row(scheme, *cells)
    return table


def errors_table(found: dict[str, dict[str, Any]]) -> Table:
    """Return the table of the errors of the estimate: bias and RMSE, measured and foretold."""
    table = _table("The estimate of 84 minima: bias, RMSE, RMSE in theory", ["scheme", *found])
    for scheme in next(iter(found.values())):
        cells = []
        for rows in found.values():
            errors = rows[scheme]["estimate"]["errors"]
            measured = (errors["bias"], errors["rmse"], errors["expected"])
            cells.append("{:+.4f} {:.4f} {:.4f}".format(*measured) if errors["pairs"] else "-")
        table.add_row(scheme, *cells)
    return table


def cuts_table(name: str, cuts: dict[str, Any]) -> Table:
    """Return the table of one set's thresholds and fewest words."""
    table = _table(
        f"{name}: the default estimate", ["where", "pairs", "wrong", "missed", "P", "R", "F1"]
    )
    for cut, figures in cuts["thresholds"].items():
        errors = str(figures["wrong"]), str(figures["missed"])
        table.add_row(f"at {cut}", "all", *errors, *_prf(figures))
    for words, figures in cuts["fewest_words"].items():
        errors = str(figures["wrong"]), str(figures["missed"])
        table.add_row(
            f"at 0.8, {words} words or more", str(figures["pairs"]), *errors, *_prf(figures)
        )
    return table
