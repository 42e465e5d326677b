"""The curves of a report, drawn by matplotlib."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from shingling.errors import TuningError, require

if TYPE_CHECKING:
    from shingling.tuning.report import Report

SUFFIXES = (".svg", ".png", ".pdf")


def require_plot(path: str | Path) -> None:
    """Check that a picture can be drawn into a file of this name.

    Raises:
        TuningError: its suffix is none of .svg, .png and .pdf, or matplotlib is not installed.
    """
    suffix = Path(path).suffix.lower()
    if suffix not in SUFFIXES:
        raise TuningError(f"a picture is {', '.join(SUFFIXES)}: {suffix or 'no suffix'} is none")
    require("plot", "the picture", "matplotlib", error=TuningError)


def plot(report: Report, path: str | Path) -> None:
    """Draw precision, recall and F1 against the threshold.

    Thick lines are the recommended setting, thin ones F1 of the others.

    Args:
        report: of `tune_on`.
        path: of the file; its suffix says whether it is SVG, PNG or PDF.

    Raises:
        TuningError: see `require_plot`.
        OSError: the file cannot be written.
    """
    require_plot(path)
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    main = report.recommended if report.recommended.curve is not None else report.present
    curve = main.curve
    assert curve is not None
    by_distance = curve.by == "distance"
    style: dict[str, Any] = {"drawstyle": "steps-post" if by_distance else "default"}
    # Colours of Okabe and Ito (2008), which colour-blind people can distinguish.
    figure = Figure(figsize=(9.6, 5.4), layout="constrained")
    axes = figure.add_subplot()
    # Precision means nothing where no pair is found.
    nothing = np.array(curve.precision) + np.array(curve.recall) == 0
    for name, values, colour, dashes in (
        ("precision", np.where(nothing, np.nan, curve.precision), "#0072B2", "--"),
        ("recall", curve.recall, "#E69F00", "-."),
        ("F1", curve.f1, "#000000", "-"),
    ):
        axes.plot(
            curve.at, values, color=colour, linestyle=dashes, linewidth=2, label=name, **style
        )
    chosen = main.distance if by_distance else main.threshold
    advised = main is report.recommended and main is not report.present
    told = f"{'recommended' if advised else 'present'}: {chosen:g}"
    axes.axvline(float(chosen or 0), color="#D55E00", linewidth=1.2, label=told)
    for result in report.results:
        other = result.curve
        if other is not None and other.by == curve.by and result.setting != main.setting:
            axes.plot(
                other.at, other.f1, linewidth=0.8, label=f"F1: {result.setting.name}", **style
            )
    axes.set_xlabel(
        "SimHash distance at or below which pages are the same (bits)"
        if by_distance
        else "resemblance at or above which pages are the same"
    )
    axes.set_ylabel("on all pairs")
    axes.set_ylim(0, 1.02)
    axes.grid(color="#DDDDDD", linewidth=0.6)
    by_title = ", by their titles" if report.labels == "titles" else ""
    axes.set_title(
        f"{main.setting.name}, {report.pairs:,} pairs ({report.same:,} the same{by_title})"
    )
    figure.legend(loc="outside right upper", frameon=False, fontsize="small")
    with rc_context({"svg.fonttype": "none"}):  # words that can be searched
        figure.savefig(path, dpi=150)
