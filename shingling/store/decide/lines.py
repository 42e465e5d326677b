"""Learn which lines of a site move, and find out in which lines a page has changed.

Evidence that a line moves comes only from two fetches of one page that say the same otherwise:
under the same URL, or under URLs that differ in nothing but tracking, session, `www.` or `https`.
That a line differs between two pages which resemble each other is none: flats differ in their
rooms. That a line stands is seen between any two pages that say the same otherwise.
"""

from __future__ import annotations

from collections import Counter
from itertools import takewhile
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from shingling.similarity.own_text import excerpts, folded_numbers
from shingling.store.model import LastChange, stored_line
from shingling.store.moving import LineCounts, has_price
from shingling.store.urls import without_tracking
from shingling.text import LINK_MARK, title_key, without_marks

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from shingling.store.decide.batch import Batch
    from shingling.store.decide.read import PageState
    from shingling.store.moving import LinesMet
    from shingling.store.schema.rows import Row
    from shingling.store.templates import Site
    from shingling.text import PreparedText

_ALIKE = 0.5  # resemblance of a page to what it was, if most of it has not changed


def learn_lines(page: PageState, copies: Sequence[Row], batch: Batch) -> None:
    """Learn from a page that is met, and set its `moving_lines` and its `change`.

    Args:
        page: what was read of it.
        copies: of a new page, pages of its site that it may be a copy of, the nearest first.
        batch: with what was learned of the site before.
    """
    row, templates, learns = page.row, batch.templates, batch.rules.templates
    page.change = _last_change({}, {}, {}, page.former_title)
    if templates is None:
        return
    met = templates.met(row.server, batch.run)
    if page.is_unchanged and not (learns and met.looks_at_next()):
        return
    site = templates.site(row.server)
    if page.is_new and learns:
        url = without_tracking(row.url)
        other = next((copy for copy in copies if without_tracking(copy.url) == url), copies[0])
        is_one_page = without_tracking(other.url) == url
        may_move = is_one_page and not row.differing_fields(other, batch.rules)
        _count(row, other, site, met, batch, may_move=may_move)
    elif not page.is_new:
        _compare_with_former(page, site, met, batch)


def _count(
    row: Row, other: Row, site: Site, met: LinesMet, batch: Batch, *, may_move: bool
) -> None:
    """Count the lines with numbers that stand, and move, if two pages say the same otherwise."""
    text, before = batch.texts.split(row), batch.texts.split(other)
    if text is None or before is None or not np.array_equal(text.own_keys, before.own_keys):
        return
    crawl = 1 if batch.run is None else 1 + (batch.run.previous or 0)
    for key in text.numbered.keys() & before.numbered.keys():
        lines, others = text.numbered[key], before.numbered[key]
        moved = Counter(map(_folded, lines)) != Counter(map(_folded, others))
        counts = may_move and not has_price(lines) if moved else site.is_template(key)
        if counts and met.may_count(key, moved=moved):
            site.count_line(key, crawl, moved=moved, is_stored=may_move)


def _compare_with_former(page: PageState, site: Site, met: LinesMet, batch: Batch) -> None:
    """Find the lines in which a page has changed, and whether all of them move.

    A line moves if its number is known to. If the page is like the one before, lines move as well
    that come and go on other pages.
    """
    row, former = page.row, page.former or page.row
    title = title_key(row.title or "")
    # If what its item says has changed, a number in its text may be just that.
    says_same = not page.changed_fields and title == title_key(former.title or "")
    learns = batch.rules.templates and says_same
    if learns:
        _count(row, former, site, met, batch, may_move=True)
    text, former_text = batch.texts.of(row), batch.texts.of(former)
    if text is None or former_text is None:
        return
    lines, former_lines = _lines(text), _lines(former_text)
    new = {(line, True): lines[line] for line in lines if line not in former_lines}
    gone = {(line, False): former_lines[line] for line in former_lines if line not in lines}
    changed = new | gone
    counted = {line: block for line, block in changed.items() if not _keeps_moving(block, site)}
    if learns:
        # Of a line that stays, the number alone tells whether it moves.
        kept = {block.key for block in new.values()} & {block.key for block in gone.values()}
        has_data = any(_is_data(block, kept, site) for block in counted.values())
        standing = {line: block.key for line, block in lines.items() if line in former_lines}
        come_and_go = met.note(counted, site.lines_of_template(standing), title)
        is_alike = (page.previous or 0) >= _ALIKE
        if not counted or (come_and_go and is_alike and not has_data):
            page.moving_lines = tuple(without_marks(block.line) for block in changed.values())
    page.change = _last_change(counted, lines, former_lines, page.former_title)


def _last_change(
    changed: Mapping[tuple[int, bool], _Block],
    lines: Mapping[int, _Block],
    former_lines: Mapping[int, _Block],
    former_title: str | None,
) -> LastChange | None:
    """How a page differs from what it was; None if only its own fields or moving lines do.

    Args:
        changed: lines that do not move, each with whether it is new or gone.
        lines: of the text, by their hashes.
        former_lines: of the text before.
        former_title: None if it is the same, or there was none.
    """
    new = [line for line, is_new in changed if is_new]
    gone = {line: block for (line, is_new), block in changed.items() if not is_new}
    shown = "", ""
    if new:
        first = min(new, key=lambda line: lines[line].line.endswith(LINK_MARK))
        replaced = _replaced_by(first, lines, former_lines, gone)
        shown = excerpts(lines[first].line, replaced)
    elif gone:
        shown = excerpts("", next(iter(gone.values())).line)
    line, replaced, title = map(stored_line, (*shown, former_title or ""))
    change = LastChange(line, replaced, len(new), len(gone), title)
    return None if change == LastChange() else change


def _replaced_by(
    line: int,
    lines: Mapping[int, _Block],
    former_lines: Mapping[int, _Block],
    gone: Mapping[int, _Block],
) -> str:
    """Line that stood in the place of a new one: with the same words, or behind the same line.

    Args:
        line: hash of the new one.
        lines: of the text, by their hashes.
        former_lines: of the text before.
        gone: those of them that are gone.
    """
    for block in gone.values():
        if block.key == lines[line].key:
            return block.line
    before = [*takewhile(lambda other: other != line, lines)]
    last = next((other for other in reversed(before) if other in former_lines), None)
    former = [*former_lines]
    behind = former[0 if last is None else former.index(last) + 1 :]
    return gone[behind[0]].line if behind and behind[0] in gone else ""


class _Block(NamedTuple):
    """A block of a text, with its label; that a link has numbers says nothing."""

    line: str
    key: int
    is_numbered: bool


def _lines(text: PreparedText) -> dict[int, _Block]:
    """Blocks of a text by hashes of their lines, folded."""
    blocks = (
        _Block(line, key, is_numbered and not line.endswith(LINK_MARK))
        for line, key, is_numbered in zip(
            text.labelled_lines, text.keys.tolist(), text.numbered.tolist(), strict=True
        )
    )
    return {hash(_folded(block.line)): block for block in blocks}


def _keeps_moving(block: _Block, site: Site) -> bool:
    counts = site.lines.get(block.key, LineCounts())
    return block.is_numbered and counts.keeps_moving and not has_price([block.line])


def _is_data(block: _Block, kept: Collection[int], site: Site) -> bool:
    """Whether a line with a number, which is not known to move, stands elsewhere or has stood."""
    counts = site.lines.get(block.key, LineCounts())
    return block.is_numbered and (block.key in kept or counts.stood > 0)


def _folded(line: str) -> str:
    return folded_numbers(line.rstrip(LINK_MARK))
