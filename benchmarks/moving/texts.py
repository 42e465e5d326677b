"""Made texts in many scripts, and the pages that they stand on."""

from __future__ import annotations

import random
from functools import cache

# Of each language: letters, what follows each of them in a word, digits, and a blank or none.
LANGUAGES = {
    "en": ("bdfghklmnprstvw", "aeiou", "0123456789", " "),
    "de": ("bdfghklmnprstvwzß", "aeiouäöü", "0123456789", " "),
    "fr": ("bcdfghjlmnpqrstv", "aeiouéèà", "0123456789", " "),
    "es": ("bcdfghjlmnñprstv", "aeiouáó", "0123456789", " "),
    "pl": ("bcdfghjklłmnprsśtwzż", "aeiouyąę", "0123456789", " "),
    "ru": ("бвгдзклмнпрстфхш", "аеиоуы", "0123456789", " "),
    "el": ("βγδζθκλμνπρστφχ", "αεηιου", "0123456789", " "),
    "ar": ("بتثجحخدذرزسشصضطعغفقكلمنه", "اوي", "٠١٢٣٤٥٦٧٨٩", " "),
    "fa": ("بپتجچحخدذرزژسشصطعغفقکگلمنه", "اوی", "۰۱۲۳۴۵۶۷۸۹", " "),
    "hi": ("कखगघचछजटठडतथदधनपफबभमयरलवशसह", "ािीुूेो", "०१२३४५६७८९", " "),
    "bn": ("কখগঘচছজটঠডতথদধনপফবভমযরলশসহ", "ািীুূেো", "০১২৩৪৫৬৭৮৯", " "),
    "th": ("กขคงจชซดตถทนบปผพฟมยรลวสหอ", "าิีุูโ", "๐๑๒๓๔๕๖๗๘๙", ""),
    "zh": ("天地人山水火木金土日", "月星風雨雪花草竹石田米車馬牛", "0123456789", ""),
    "ja": ("あかさたなはまやらわ", "いきしちにひみり町村店車駅道", "0123456789", ""),
    "ko": ("가나다라마바사아자차카타파하", "고노도로모보소오조호", "0123456789", " "),
}


def dice(*parts: object) -> random.Random:
    """Return dice of their own for what these parts name."""
    return random.Random(" ".join(map(str, parts)))


@cache
def vocabulary(language: str) -> list[str]:
    """Make the words of a language."""
    drawn, (first, second, *_) = dice(language), LANGUAGES[language]
    pairs = [f"{a}{b}" for a in first for b in second]
    return sorted({"".join(drawn.choices(pairs, k=drawn.randint(1, 3))) for _ in range(400)})


def phrase(drawn: random.Random, language: str = "en", words: int = 5) -> str:
    """Make a phrase, such as a title."""
    return LANGUAGES[language][3].join(drawn.choices(vocabulary(language), k=words)).capitalize()


def paragraph(drawn: random.Random, language: str = "en") -> str:
    """Make a paragraph of seventy words."""
    stop = ". " if LANGUAGES[language][3] else "。"
    return "".join(phrase(drawn, language, words) + stop for words in (9, 13, 7, 11, 8, 12, 10))


def text(drawn: random.Random, language: str = "en") -> str:
    """Make the paragraphs of an article, as HTML."""
    return "".join(f"<p>{paragraph(drawn, language)}</p>" for _ in range(4))


def page(title: str, body: str, language: str = "en") -> str:
    """Make a page, as HTML."""
    return (
        f'<!doctype html><html lang="{language}"><head><meta charset="utf-8"><title>{title}</title>'
        '</head><body><header><a href="/">Home</a> <a href="/n">News</a></header>'
        f"<main><h1>{title}</h1>{body}</main></body></html>"
    )
