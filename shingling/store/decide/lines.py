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
    from shingling.store.schema.rows import Row
    from shingling.store.templates import Site, Templates
    from shingling.text import PreparedText

_ALIKE = 0.5  # resemblance of a page to what it was, if most of it has not changed


def learn_lines(page: PageState, copies: Sequence[Row], batch: Batch) -> None:
    """Learn from a page that is met, and set its `moving_lines`.

    Args:
        page: what was read of it.
        copies: of a new page, pages of its site that it may be a copy of, the nearest first.
        batch: with what was learned of the site before.
    """
    row, run, templates = page.row, batch.run, batch.templates
    if templates is None or not batch.rules.templates:
        return
    if page.is_new:
        url = without_tracking(row.url)
        other = next((copy for copy in copies if without_tracking(copy.url) == url), copies[0])
        is_one_page = without_tracking(other.url) == url
        may_move = is_one_page and not row.differing_fields(other, batch.rules)
        _count(row, other, batch, templates, may_move=may_move)
        return
    met = templates.met(row.server, run)
    before = row if page.is_unchanged else page.former
    if before is None or (before is row and not met.looks_at_next()):
        return
    # If what its item says has changed, a number in its text may be just that.
    if not page.changed_fields and title_key(row.title or "") == title_key(before.title or ""):
        _count(row, before, batch, templates, may_move=True)
        is_alike = (page.previous or 0) >= _ALIKE
        page.moving_lines = _moving_lines(page, before, batch, templates, is_alike=is_alike)


def _count(row: Row, other: Row, batch: Batch, templates: Templates, *, may_move: bool) -> None:
    """Count the lines with numbers that stand, and move, if two pages say the same otherwise."""
    text, before = batch.texts.split(row), batch.texts.split(other)
    if text is None or before is None or not np.array_equal(text.own_keys, before.own_keys):
        return
    site, met = templates.site(row.server), templates.met(row.server, batch.run)
    crawl = 1 if batch.run is None else 1 + (batch.run.previous or 0)
    for key in text.numbered.keys() & before.numbered.keys():
        lines, others = text.numbered[key], before.numbered[key]
        moved = Counter(map(_folded, lines)) != Counter(map(_folded, others))
        counts = may_move and not has_price(lines) if moved else site.is_template(key)
        if counts and met.may_count(key, moved=moved):
            site.count_line(key, crawl, moved=moved, is_stored=may_move)


def _moving_lines(
    page: PageState, former: Row, batch: Batch, templates: Templates, *, is_alike: bool
) -> tuple[str, ...]:
    """Lines in which a page has changed, new ones first, if all of them move; otherwise none.

    A line moves if its number is known to. If the page is like the one before, lines move as well
    that come and go on other pages.
    """
    row = page.row
    text, former_text = batch.texts.of(row), batch.texts.of(former)
    if text is None or former_text is None:
        return ()
    site, met = templates.site(row.server), templates.met(row.server, batch.run)
    lines, former_lines = page.lines = _lines(text), _lines(former_text)
    new = {(line, True): lines[line] for line in lines if line not in former_lines}
    gone = {(line, False): former_lines[line] for line in former_lines if line not in lines}
    changed, title = new | gone, title_key(row.title or "")
    # Of a line that stays, the number alone tells whether it moves.
    kept = {block.key for block in new.values()} & {block.key for block in gone.values()}
    counted = {line: block for line, block in changed.items() if not _keeps_moving(block, site)}
    is_moving = not counted or (
        is_alike
        and not any(_is_data(block, kept, site) for block in counted.values())
        and met.change_alike(counted, title)
    )
    standing = {line: block.key for line, block in lines.items() if line in former_lines}
    site.look_up(standing.values())
    met.note(counted, [line for line, key in standing.items() if site.is_template(key)], title)
    return tuple(without_marks(block.line) for block in changed.values()) if is_moving else ()


def last_change(page: PageState, batch: Batch) -> LastChange | None:
    """How a page differs from what it was; None if only its own fields or moving lines do."""
    row, former, templates = page.row, page.former, batch.templates
    text = batch.texts.of(row)
    former_text = None if former is None else batch.texts.of(former)
    new, gone, shown = dict[int, _Block](), dict[int, _Block](), ("", "")
    if templates is not None and text is not None and former_text is not None:
        site = templates.site(row.server)
        lines, former_lines = page.lines or (_lines(text), _lines(former_text))
        new, gone = (
            {
                line: block
                for line, block in some.items()
                if line not in others and not _keeps_moving(block, site)
            }
            for some, others in ((lines, former_lines), (former_lines, lines))
        )
        if new:
            first = min(new, key=lambda line: new[line].line.endswith(LINK_MARK))
            shown = excerpts(new[first].line, _replaced_by(first, lines, former_lines, gone))
        elif gone:
            shown = excerpts("", next(iter(gone.values())).line)
    line, replaced, title = map(stored_line, (*shown, page.former_title or ""))
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
