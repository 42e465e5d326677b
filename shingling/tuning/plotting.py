"""The curves of a report, drawn by matplotlib."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from shingling.errors import TuningError
from shingling.tuning.settings import sizes

if TYPE_CHECKING:
    from shingling.tuning.report import Report
    from shingling.tuning.settings import Curve, Result

SUFFIXES = (".svg", ".png", ".pdf")
# Colours of Okabe and Ito (2008), which colour-blind people can distinguish.
_CURVE_STYLES = (
    ("precision", "#0072B2", "--"),
    ("recall", "#E69F00", "-."),
    ("f1", "#000000", "-"),
)
_SIZES_COLOURMAP = "viridis"


def require_plot(path: str | Path) -> None:
    """Check that a picture can be drawn into a file of this name.

    Raises:
        TuningError: its suffix is none of .svg, .png and .pdf, or matplotlib is not installed.
    """
    suffix = Path(path).suffix.lower()
    if suffix not in SUFFIXES:
        raise TuningError(f"a picture is {', '.join(SUFFIXES)}: {suffix or 'no suffix'} is none")
    try:
        import matplotlib  # noqa: F401 (only to see whether it is installed)
    except ImportError:
        raise TuningError(
            'the picture needs matplotlib: pip install "scrapy-shingling[plot]"'
        ) from None


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
    from matplotlib import colormaps, rc_context
    from matplotlib.figure import Figure

    main = _drawn(report)
    curve = main.curve
    assert curve is not None
    figure = Figure(figsize=(9.6, 5.4), layout="constrained")
    axes = figure.add_subplot()
    others = [
        (result, result.curve)
        for result in report.results
        if result.curve is not None
        and result.curve.by == curve.by
        and (result.setting.scheme, result.setting.method)
        != (main.setting.scheme, main.setting.method)
    ]
    # Shingle sizes go from dark to light; what else was tried is dotted.
    plain = tuple(sizes(report.present.setting.scheme))
    sized = sum(result.setting in plain for result, _ in others)
    shades = colormaps[_SIZES_COLOURMAP](np.linspace(0.0, 0.95, max(sized, 1)))
    for number, (result, other) in enumerate(others):
        axes.plot(
            other.at,
            other.f1,
            color=shades[number] if number < sized else colormaps["tab10"](number - sized),
            linestyle="-" if number < sized else ":",
            linewidth=1.0 if number < sized else 1.3,
            label=f"F1: {result.setting.name}",
            drawstyle=_drawstyle(other),
        )
    # Precision means nothing where no pair is found.
    nothing = np.array(curve.precision) + np.array(curve.recall) == 0
    for name, colour, style in _CURVE_STYLES:
        values = np.array(getattr(curve, name))
        axes.plot(
            curve.at,
            np.where(nothing, np.nan, values) if name == "precision" else values,
            color=colour,
            linestyle=style,
            linewidth=2.4 if name == "f1" else 1.8,
            label="F1" if name == "f1" else name,
            drawstyle=_drawstyle(curve),
            zorder=3,
        )
    advised = main is report.recommended and main is not report.present
    chosen = main.distance if curve.by == "distance" else main.threshold
    assert chosen is not None
    axes.axvline(
        chosen,
        color="#D55E00",
        linewidth=1.2,
        label=f"{'recommended' if advised else 'present'}: {chosen:g}",
    )
    axes.set_xlabel(
        "SimHash distance at or below which pages are the same (bits)"
        if curve.by == "distance"
        else "resemblance at or above which pages are the same"
    )
    axes.set_ylabel("on all pairs")
    axes.set_xlim(min(curve.at[0], 0), curve.at[-1])
    axes.set_ylim(0, 1.02)
    axes.grid(color="#DDDDDD", linewidth=0.6)
    axes.set_title(
        f"{_title(main)}, {report.pairs:,} pairs ({report.same:,} the same"
        f"{', by their titles' if report.by_title else ''})"
    )
    handles, labels = axes.get_legend_handles_labels()
    first = len(others)  # the thick lines come first
    figure.legend(
        handles[first:] + handles[:first],
        labels[first:] + labels[:first],
        loc="outside right upper",
        frameon=False,
        fontsize="small",
    )
    # The same report gives the same bytes, in words that can be searched.
    with rc_context({"svg.hashsalt": "shingling", "svg.fonttype": "none"}):
        figure.savefig(path, dpi=150, metadata=_metadata(path))


def _drawn(report: Report) -> Result:
    """Recommended result, or the present one if that has no curve."""
    return report.recommended if report.recommended.curve is not None else report.present


def _title(result: Result) -> str:
    scheme = result.setting.scheme
    if result.setting.method == "simhash":
        return "SimHash"
    joined = f", SimHash distance {result.distance}" if result.distance is not None else ""
    return f"Shingles of {scheme.shingle_size} {scheme.unit}{joined}"


def _drawstyle(curve: Curve) -> str:
    return "steps-post" if curve.by == "distance" else "default"


def _metadata(path: str | Path) -> dict[str, None]:
    return {} if Path(path).suffix.lower() == ".png" else {_date_of(path): None}


def _date_of(path: str | Path) -> str:
    return "Date" if Path(path).suffix.lower() == ".svg" else "CreationDate"
