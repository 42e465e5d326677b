"""Why two pages are duplicates or not: what was compared, what both have, what was left out."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.text import Text

from shingling.cli.output import print_lines
from shingling.similarity import overlap, word_diff, written_words
from shingling.sketch import fingerprint_set
from shingling.text import plain_line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shingling.similarity import Change
    from shingling.sketch import Scheme
    from shingling.store import SplitText

_CONTEXT_WORDS = 8  # shown around what differs
_MAX_BLOCKS_SHOWN = 10  # of those left out, of each page
_MAX_LINE_CHARACTERS = 100


def explained(a: SplitText, b: SplitText, scheme: Scheme) -> dict[str, Any]:
    """Measures of two pages without the templates of their sites, and passages, as JSON."""
    both = overlap(*(fingerprint_set(one.compared, scheme) for one in (a, b)))
    return {
        "resemblance": round(both.resemblance, 4),
        "containment": round(both.containment, 4),
        "template": {"a": round(a.template_share, 4), "b": round(b.template_share, 4)},
        "left_out": {"a": list(a.template), "b": list(b.template)},
        "passages": [change._asdict() for change in word_diff(a.compared, b.compared)],
    }


def print_explained(a: SplitText, b: SplitText, scheme: Scheme) -> None:
    """Print what is measured, the shared and the differing passages, and what was left out."""
    shown = explained(a, b, scheme)
    print_lines(
        f"Left out as template of their sites: {a.template_share:.0%} of A,"
        f" {b.template_share:.0%} of B.",
        f"What is left: resemblance {shown['resemblance']:.3f},"
        f" containment {shown['containment']:.3f}.",
        "",
    )
    print_diff(word_diff(a.compared, b.compared))
    for name, one in (("A", a), ("B", b)):
        if not one.template:
            continue
        print_lines("", f"Template in {name}:")
        for line in one.template[:_MAX_BLOCKS_SHOWN]:
            plain = plain_line(line)
            cut = "…" if len(plain) > _MAX_LINE_CHARACTERS else ""
            print_lines(f"  {plain[:_MAX_LINE_CHARACTERS]}{cut}")
        if len(one.template) > _MAX_BLOCKS_SHOWN:
            print_lines(f"  and {len(one.template) - _MAX_BLOCKS_SHOWN:,} more")


def print_diff(changes: Sequence[Change]) -> None:
    """Print what differs as wdiff does: [-gone-] and {+come+}; long equal stretches are cut."""
    shown = Text()
    for place, change in enumerate(changes):
        if place:
            shown.append(" ")
        if change.same:
            words = written_words(change.a)
            before, after = place > 0, place < len(changes) - 1
            if len(words) > _CONTEXT_WORDS * (before + after) + 1:
                left_out = f"[… {len(words) - _CONTEXT_WORDS * (before + after):,} words …]"
                parts = [
                    *(["".join(words[:_CONTEXT_WORDS]).strip()] if before else []),
                    left_out,
                    *(["".join(words[-_CONTEXT_WORDS:]).strip()] if after else []),
                ]
                shown.append(plain_line(" ".join(parts)), style="dim")
            else:
                shown.append(plain_line(change.a), style="dim")
            continue
        if change.a:
            shown.append(f"[-{plain_line(change.a)}-]", style="red")
        if change.b:
            shown.append(f"{{+{plain_line(change.b)}+}}", style="green")
    console = Console(width=None if sys.stdout.isatty() else 100, highlight=False)
    console.print(shown if changes else "no words")
