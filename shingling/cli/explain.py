"""Why two pages are duplicates or not: what was compared, what both have, what was left out."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, NamedTuple

from rich.text import Text

from shingling.console.output import print_left_out, print_lines, terminal
from shingling.errors import shortened
from shingling.similarity.diff import word_diff, written_words
from shingling.sketch import sign
from shingling.store.decided import PairMeasures, pair_decision
from shingling.text import plain_line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shingling.similarity.diff import DiffStretch
    from shingling.similarity.measures import Overlap
    from shingling.sketch import Scheme
    from shingling.store.decided import PairDecision
    from shingling.store.model import SplitText, StoredPage
    from shingling.store.store import Store

_CONTEXT_WORDS = 8  # shown around what differs
_MAX_BLOCKS_SHOWN = 10  # of those left out, of each page
_MAX_LINE_CHARACTERS = 100


class Explained(NamedTuple):
    """Two texts, and what decided on them.

    Args:
        a, b: the texts.
        decision: on two stored pages; None if neither was decided by the other.
        fields: own fields of items in which the one that was decided differs.
        are_stored: whether both are stored pages.
    """

    a: SplitText
    b: SplitText
    decision: PairDecision | None = None
    fields: Sequence[str] = ()
    are_stored: bool = False

    @classmethod
    def of_pages(
        cls, store: Store, a: StoredPage, b: StoredPage, texts: tuple[SplitText, SplitText]
    ) -> Explained:
        """Look up what decided on two stored pages."""
        decision = pair_decision(a, b, store.find)
        page = max(a, b, key=lambda page: page.id) if decision is None else decision.page
        other = b if page is a else a
        return cls(*texts, decision, store.differing_fields(page, other), are_stored=True)

    def known(self, scheme: Scheme) -> PairMeasures:
        """Measure the texts."""
        signatures = (sign(self.a.whole, scheme), sign(self.b.whole, scheme))
        return PairMeasures.of_texts(self.a, self.b, signatures, scheme)

    def as_dict(self, scheme: Scheme) -> dict[str, Any]:
        """Show what decided, what is known besides, and passages, as JSON."""
        a, b = self.a, self.b
        return {
            "decided": self.decision,
            "differing_fields": self.fields,
            **self.known(scheme).as_dict(),
            "template": {"a": round(a.template_share, 4), "b": round(b.template_share, 4)},
            "left_out": {"a": a.template, "b": b.template},
            "passages": word_diff(a.compared, b.compared),
        }

    def print_decision(self) -> None:
        """Print what decided, of stored pages."""
        if self.decision is not None:
            print_lines(f"Decided: {self.decision}.")
        elif self.are_stored:
            print_lines("Neither page was decided by the other one: all of this is measured now.")
        if self.fields and (self.decision is None or self.decision.page.fields != self.fields):
            print_lines(f"Own fields that differ: {', '.join(self.fields)}.")

    def print_texts(self, scheme: Scheme) -> None:
        """Print what is known besides, passages that both have or not, and what was left out."""
        a, b, known = self.a, self.b, self.known(scheme)
        print_lines(
            f"Left out as template of their sites, as known now: {a.template_share:.0%} of A,"
            f" {b.template_share:.0%} of B.",
            f"Measured now on what is left: {_said(known.left)}.",
            f"Whole texts: {_said(known.whole)}; estimated from their minima: resemblance"
            f" {known.estimate:.3f} ± {known.standard_error:.3f}.",
            "",
        )
        print_diff(word_diff(a.compared, b.compared))
        for name, split in (("A", a), ("B", b)):
            if not split.template:
                continue
            print_lines("", f"Template in {name}:")
            for line in split.template[:_MAX_BLOCKS_SHOWN]:
                print_lines(f"  {shortened(plain_line(line), _MAX_LINE_CHARACTERS)}")
            print_left_out(len(split.template) - _MAX_BLOCKS_SHOWN, "  ")


def _said(both: Overlap | None) -> str:
    assert both is not None  # both texts are there
    return f"resemblance {both.resemblance:.3f}, containment {both.containment:.3f}"


def print_diff(changes: Sequence[DiffStretch]) -> None:
    """Print what differs as wdiff does: [-gone-] and {+come+}; long equal stretches are cut."""
    shown = Text()
    for place, change in enumerate(changes):
        if place:
            shown.append(" ")
        if change.same:
            words, text = written_words(change.a), change.a
            before = _CONTEXT_WORDS if place else 0
            after = _CONTEXT_WORDS if place < len(changes) - 1 else 0
            left_out = len(words) - before - after
            if left_out > 1:
                first, last = words[:before], words[len(words) - after :]
                text = f"{''.join(first)} [… {left_out:,} words …] {''.join(last)}"
            shown.append(plain_line(text), style="dim")
            continue
        if change.a:
            shown.append(f"[-{plain_line(change.a)}-]", style="red")
        if change.b:
            shown.append(f"{{+{plain_line(change.b)}+}}", style="green")
    console = terminal(width=None if sys.stdout.isatty() else 100, highlight=False)
    console.print(shown if changes else "no words")
