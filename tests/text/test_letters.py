"""Letters that are one to a reader are one, and letters that tell words apart stay apart."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from shingling import Page, Store, canonical_words, compare, extract, sign
from shingling.bulk import Options, deduplicate
from shingling.text import Canonicaliser, title_key
from shingling.text.folding import fold

if TYPE_CHECKING:
    from pathlib import Path

ARABIC = (
    "أعلنت الحكومة اليوم عن خطة جديدة لبناء مدرسة في المدينة القديمة وقال الوزير إن العمل سيبدأ في"
    " الربيع القادم بعد موافقة المجلس على الميزانية وأضاف أن السكان سيشاركون في اختيار"
)
HEBREW = "הממשלה הודיעה היום על תוכנית חדשה לבניית בית ספר בעיר העתיקה והשר אמר שהעבודה תתחיל באביב"
GREEK = "Η κυβέρνηση ανακοίνωσε σήμερα ένα νέο σχέδιο για τον Μάιο και τα προϊόντα της περιοχής"
TURKISH = (
    "Işıklı İstanbul'da ılık bir ilkbahar günü; IRMAK kıyısında İLK kez çiğdem açtı, dışarısı sıcak"
)
GERMAN = "Über die Brücke führt eine Straße nach Köln & Düsseldorf, für 5 € „größere“ Fahrzeuge"

_ONE = {
    "Persian ya and kaf": (ARABIC, ARABIC.replace("ي", "ی").replace("ك", "ک")),
    "alef maksura": ("المستشفى الكبرى على مستوى", "المستشفي الكبري علي مستوي"),
    "hamza on alef": (ARABIC, ARABIC.replace("أ", "ا").replace("إ", "ا")),
    "hamza on waw and ya": ("مسؤول شؤون رئيس هيئة", "مسوول شوون رييس هيية"),
    "hamza as a mark": ("أين سؤال آخر رئيس", "ا\u0654ين سو\u0654ال ا\u0653خر ري\u0654يس"),
    "tatweel": (ARABIC, ARABIC.replace("المدينة", "المديـــنة").replace("الوزير", "الوزيــر")),
    "vowel marks": (ARABIC, "".join(c + "\u064e" * (n % 3 == 0) for n, c in enumerate(ARABIC))),
    "niqqud": (HEBREW, "".join(c + "\u05b7" * c.isalpha() for c in HEBREW)),
    "niqqud in presentation forms": ("שלום שבת כל", "\ufb2aלום \ufb2aבת \ufb3bל"),
    "digits of Arabic, Persian and Hindi": ("1203 4567 89", "١٢٠٣ ۴۵۶۷ ८९"),
    "Greek in capitals": (GREEK, "".join(c for c in fold(GREEK)).upper()),
    "Greek without accents": (GREEK, GREEK.translate(str.maketrans("έήάόϊύ", "εηαοιυ"))),
    "Turkish in capitals": (TURKISH, TURKISH.replace("i", "İ").upper()),
    "Turkish in lower case": (TURKISH, TURKISH.replace("I", "ı").lower()),
    "entities": (
        GERMAN,
        GERMAN.replace("&", "&amp;")
        .replace("Ü", "&Uuml;")
        .replace("ü", "&uuml;")
        .replace("€", "&euro;"),
    ),
    "entities escaped again": (GERMAN, GERMAN.replace("&", "&amp;").replace("ü", "&amp;uuml;")),
    "numeric entities": (GREEK, "".join(f"&#{ord(c)};" if c != " " else c for c in GREEK)),
    "numeric entities escaped again": (
        *(GREEK, "".join(f"&amp;#x{ord(c):X};" if c != " " else c for c in GREEK)),
    ),
    "a blank for a Persian half-space": ("می‌خواهم خانه‌ها را", "می خواهم خانه ها را"),
    # In no list of forms: other scripts, and forms that other languages have.
    "digits of Bengali, Thai and Khmer": ("2024 35 176", "২০২৪ ๓๕ ១៧៦"),
    "vowel points of Syriac": ("ܫܠܡܐ ܥܠܡܐ", "ܫܠܳܡܳܐ ܥܳܠܡܳܐ"),
    "Persian ezafe": ("خانه بزرگ", "خانهٔ بزرگ"),
    "Urdu heh": ("یہ ہے ہم", "یه هے هم"),
    "apostrophes of Ukrainian": ("п'ять об'єктів", "п\u02bcять об\u02bcєктів"),
    "an accent for an apostrophe": ("it's the dog's", "it\xb4s the dog\xb4s"),
    "n with an apostrophe": ("'n boek", "\u0149 boek"),
    "apostrophes of Uzbek and Hawaiian": ("o'zbek Hawai'i", "o\u02bbzbek Hawai\u02bbi"),
    "saltillo": ("k'at ch'i", "k\ua78cat ch\ua78ci"),
    "alef with wavy hamza": ("اب اب", "ٲب ٳب"),
    "anusvara of Hindi": ("हिंदी अंक पंच अंडा संबंध", "हिन्दी अङ्क पञ्च अण्डा सम्बन्ध"),
    "alef with wasla and dagger alef": ("الرحمن الكتاب", "ٱلرحمٰن ٱلكتاب"),
    "Greek of many accents": ("ἐν ἀρχῇ ἦν ὁ λόγος", "ΕΝ ΑΡΧΗΙ ΗΝ Ο ΛΟΓΟΣ"),
    "the stretcher of N'Ko": ("ߒߞߏ ߞߊ", "ߒߺߞߏ ߞߺߊ"),
    "an ampersand as a number": ("R&D für Öl", "R&#38;D f&#38;uuml;r &#x26;Ouml;l"),
}
_APART = {
    "Russian short i": ("мой край", "мои краи"),
    "Russian yo": ("все небо", "всё нёбо"),
    "Vietnamese tones": ("ma", "má"),
    "Vietnamese vowels": ("mơ", "mo"),
    "Hindi nukta": ("सज़ा", "सजा"),
    "Hindi nasals of another class": ("जन्म अन्न सम्राट", "जंम अंन संराट"),
    "Thai tones": ("ข้าว", "ขาว"),
    "dakuten": ("かき", "かぎ"),
    "French accents": ("pêche", "péché"),
    "Swedish rings": ("får", "far"),
    "German umlauts": ("schön", "schon"),
    "Arabic dots": ("بيت", "تيت"),
    # In no list of forms.
    "Urdu great ya": ("لڑکے", "لڑکی"),
    "Sindhi kaf": ("ڪ", "ک"),
    "Turkish s with cedilla": ("şaç", "sac"),
    "Spanish tilde": ("año", "ano"),
    "Polish l with stroke": ("łata", "lata"),
    "Dhivehi vowels": ("ބަސް", "ބިސް"),
    "Ukrainian g": ("ґрати", "грати"),
    "Tamil vowels": ("கல்", "கால்"),
    "Pashto e": ("دې", "دی"),
    "Hebrew finals": ("שלומ", "שלום"),
    "ampersands in URLs": ("a?b=1&copy=2", "a?b=1©=2"),
    "a name that is no entity": ("&umlaut;", "ü"),
}


@pytest.mark.parametrize("form", _ONE)
def test_forms_of_a_letter_make_one_text(form: str) -> None:
    a, b = _ONE[form]
    assert canonical_words(a) == canonical_words(b)
    assert sign(a) == sign(b)
    assert compare(a, b).exact
    assert title_key(a) == title_key(b)


@pytest.mark.parametrize("form", _APART)
def test_letters_that_tell_words_apart_stay_apart(form: str) -> None:
    a, b = _APART[form]
    assert canonical_words(a) != canonical_words(b)
    assert sign(a).text_hash != sign(b).text_hash
    assert title_key(a) != title_key(b)


def test_a_joiner_stays_invisible_in_other_scripts() -> None:
    assert canonical_words("Auf\u200clage क्\u200cष") == canonical_words("Auflage क्ष")


@pytest.mark.parametrize("option", ["keep_case", "keep_punctuation"])
def test_references_and_vowel_marks_are_no_part_of_words_that_keep_their_case(option: str) -> None:
    kept = Canonicaliser(**{option: True})  # type: ignore[arg-type]
    assert kept.words("Stra&amp;szlig;e مُحَمَّد שָׁלוֹם") == kept.words("Straße محمد שלום")


def test_items_rows_and_pages_are_compared_by_the_same_letters(tmp_path: Path) -> None:
    paragraph = f"{GERMAN}. " * 8
    escaped = (
        paragraph.replace("&", "&amp;amp;").replace("ü", "&amp;uuml;").replace("ß", "&amp;#223;")
    )
    page = extract(f"<html><body><article><p>{escaped}</p></article></body></html>".encode())
    assert page is not None
    texts = {"item": paragraph, "feed": escaped, "page": page, "item in Arabic": ARABIC}
    texts["Persian letters"] = ARABIC.replace("ي", "ی").replace("ك", "ک")
    originals = [None, "item", "item", None, "item in Arabic"]
    with Store.open("sqlite://") as store:
        verdicts = store.check([Page(name, text) for name, text in texts.items()])
    assert [verdict.original for verdict in verdicts] == originals
    assert [verdict.status for verdict in verdicts] == ["new", "exact", "exact", "new", "exact"]
    rows = tmp_path / "rows.jsonl"
    rows.write_text("".join(json.dumps({"id": name, "text": texts[name]}) + "\n" for name in texts))
    deduplicate([str(rows)], tmp_path / "out", Options(workers=0))
    removed = map(json.loads, (tmp_path / "out" / "removed.jsonl").read_text().splitlines())
    assert {row["id"]: row["original"] for row in removed} == {
        name: original for name, original in zip(texts, originals, strict=True) if original
    }
