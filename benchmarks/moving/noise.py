"""38 kinds of noise in 15 languages: each article again under a URL that makes no difference."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from benchmarks.moving.crawls import Crawls, coming_out
from benchmarks.moving.texts import LANGUAGES, dice, page, phrase, text
from benchmarks.report import Target, show

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Callable, Iterator
    from pathlib import Path
    from random import Random

_FEW = 12  # articles, from which little is learned
_SLOTS: dict[str, Callable[[Random], str]] = {
    "n": lambda drawn: f"{drawn.randint(1000, 99_999)}",
    "n,": lambda drawn: f"{drawn.randint(1000, 99_999):,}",
    "n.": lambda drawn: f"{drawn.randint(1000, 99_999):,}".replace(",", "."),
    "n_": lambda drawn: f"{drawn.randint(1000, 99_999):,}".replace(",", "\xa0"),
    "few": lambda drawn: f"{drawn.randint(2, 59)}",
    "sign": lambda drawn: f"{drawn.choice('+-')}{drawn.uniform(0, 4):.2f}",
    "degrees": lambda drawn: f"{drawn.randint(-9, 34)}",
    "clock": lambda drawn: f"{drawn.randint(0, 23):02}:{drawn.randint(0, 59):02}",
    "seconds": lambda drawn: f"{drawn.uniform(0, 2):.3f}",
    "rating": lambda drawn: f"{drawn.uniform(1, 5):.1f}",
    "hex8": lambda drawn: f"{drawn.getrandbits(32):08x}",
    "hex16": lambda drawn: f"{drawn.getrandbits(64):016x}",
    "word": lambda drawn: "".join(drawn.choices("ghjkmnpqrstvwxyz23456789", k=10)),
    "month": lambda drawn: drawn.choice(["January", "March", "May", "July", "November"]),
    "iso": lambda drawn: f"2026-{drawn.randint(1, 12):02}-{drawn.randint(1, 28):02}",
}
# Language, and HTML: behind the text, or before it where it begins with +.
_KINDS = (
    ("en", "<p>This article was read {n,} times</p>"),
    ("en", "+<p>Updated {few} minutes ago</p>"),
    ("en", "+<div>Visitors</div><div>{n,}</div>"),
    ("en", "<dl><dt>Downloads</dt><dd>{n,}</dd></dl>"),
    ("en", "<table><tr><td>Requests today</td><td>{n}</td></tr></table>"),
    ("en", '<div class="footer">Page generated in {seconds} s by {few} queries</div>'),
    ("en", '+<p class="byline">By the newsroom <span>{few}</span> readers now</p>'),
    ("en", "<p>Request id {hex8}</p>"),
    ("en", '<div class="footer"><span>Trace</span> <span>{hex16}</span></div>'),
    ("en", "+<div>Index <span>{n,}</span> <span>{sign} %</span></div>"),
    ("en", "<p>Rated {rating} of 5 by {n} readers</p>"),
    ("en", "+<p>You are number {few} in the queue</p>"),
    ("en", "<p>Your session {word} is open</p>"),
    ("en", "+<p>{few} {month} 2026, {clock}</p>"),
    ("de", "<p>Dieser Beitrag wurde {n.} mal gelesen</p>"),
    ("de", "+<div>Aktualisiert</div><div>vor {few} Minuten</div>"),
    ("de", "<table><tr><td>DAX</td><td>{n.}</td><td>{sign} %</td></tr></table>"),
    ("de", '<div class="footer">Abgerufen am {iso} um {clock} Uhr</div>'),
    ("fr", "<p>Lu {n_} fois</p>"),
    ("fr", "+<dl><dt>Température</dt><dd>{degrees} °C</dd></dl>"),
    ("es", "+<p>Publicado hace {few} minutos</p>"),
    ("es", '<div class="footer">Visitante número {n.}</div>'),
    ("pl", "<ul><li>Liczba wyświetleń: {n_}</li></ul>"),
    ("ru", "+<div>Обновлено</div><div>{few} минут назад</div>"),
    ("ru", "<p>Москва {degrees} °C, ветер {few} м/с</p>"),
    ("el", "<p>Διαβάστηκε {n.} φορές</p>"),
    ("ar", "<p>عدد المشاهدات: {n}</p>"),
    ("ar", "+<div>آخر تحديث</div><div>قبل {few} دقيقة</div>"),
    ("fa", "<p>{n} بازدید از این صفحه</p>"),
    ("hi", "<p>यह लेख {n} बार पढ़ा गया</p>"),
    ("hi", "+<dl><dt>तापमान</dt><dd>{degrees} डिग्री</dd></dl>"),
    ("bn", "<p>{n} বার পড়া হয়েছে</p>"),
    ("bn", '+<p class="byline">নিউজরুম <span>{few} মিনিট আগে</span></p>'),
    ("th", "<p>เข้าชม {n} ครั้ง</p>"),
    ("zh", "<p>阅读次数：{n}</p>"),
    ("zh", "+<table><tr><td>浏览量</td><td>{n}</td></tr></table>"),
    ("ja", "+<p>{few}分前に更新 閲覧数 {n,}</p>"),
    ("ko", "<p>조회수 {n,}회</p>"),
)
# What URLs of an article and of its copy have after their paths, or before their hosts.
_COPIES = (
    *(("", "?utm_source=mail"), ("", "?utm_medium=feed&utm_campaign=spring"), ("", "?gclid={}")),
    *(("", "?fbclid={}"), ("?sessionid={}", "?sessionid={}"), ("", "?sid={}")),
    *(("?PHPSESSID={}", "?PHPSESSID={}"), ("", ";jsessionid={}")),
    *(("", "https://www."), ("http://", "https://")),
)


def _filled(template: str, language: str, drawn: Random) -> str:
    """Fill the slots of a template, with the digits of the language."""
    digits = str.maketrans("0123456789", LANGUAGES[language][2])
    return re.sub(r"\{(.+?)\}", lambda slot: _SLOTS[slot[1]](drawn).translate(digits), template)


def _url(kind: int, article: int, copy: int) -> str:
    given = _COPIES[(kind + article) % len(_COPIES)][copy]
    before, after = (given, "") if "//" in given else ("https://", given)
    identifier = _SLOTS["hex16"](dice("id", kind, article, copy))
    return f"{before}noise{kind}.example/a/{article}{after.format(identifier)}"


def _html(seed: int, kind: int, article: int, fetch: int) -> str:
    """Make an article as it is fetched for the so many-th time."""
    (language, template), drawn = _KINDS[kind], dice(seed, kind, article)
    title, paragraphs = phrase(drawn, language), text(drawn, language)
    line = _filled(template.lstrip("+"), language, dice(seed, kind, article, fetch))
    body = line + paragraphs if template.startswith("+") else paragraphs + line
    return page(title, body, language)


def measure(options: Namespace, folder: Path) -> Iterator[Target]:
    """Crawl all articles and then all copies of each kind, twice."""
    crawls, articles, out = Crawls(f"sqlite:///{folder}/noise.db"), range(options.articles), []
    for crawl in range(2):
        pages = {
            _url(kind, article, copy): _html(options.seed, kind, article, 2 * crawl + copy)
            for kind in range(len(_KINDS))
            for copy in range(2)
            for article in articles
        }
        out.append(coming_out(crawls.crawl(crawl, pages)))
    rows, sums = [], [0, 0, 0, 0]
    for kind, (language, template) in enumerate(_KINDS):
        pairs = [(_url(kind, article, 0), _url(kind, article, 1)) for article in articles]
        kept = [{copy for _, copy in pairs} & came for came in out]
        lost = sum(came.isdisjoint(pair) for came in out for pair in pairs)
        counts = len(kept[0]), len(kept[0] & kept[1]), len(kept[1] - kept[0]), lost
        rows.append((language, template, *counts))
        sums = [a + b for a, b in zip(sums, counts, strict=True)]
    show(("", "noise", "copies kept", "by both crawls", "by the second only", "lost"), rows)
    about = f"copies of {len(articles)} articles a kind, kept by"
    limit = 0.4 if len(articles) <= _FEW else 0.1
    yield Target(f"{about} the first crawl, share", sums[0] / len(_KINDS) / len(articles), limit)
    yield Target(f"{about} both crawls", sums[1], 0)
    yield Target(f"{about} the second crawl only", sums[2], 0)
    yield Target("articles lost", sums[3], 0)
