"""Bodies of HTML decoded, whatever they declare."""

from __future__ import annotations

from w3lib.encoding import html_body_declared_encoding, html_to_unicode, resolve_encoding

from shingling.text import clean

_REPLACEMENT = "\ufffd"
# Codecs of Python that browsers do not know. Punycode takes quadratic time.
_NO_CHARSETS = {"idna", "punycode", "raw-unicode-escape", "undefined", "unicode-escape"}

# Letters of one of these are letters of the others, so a guess mistakes one for another.
_CYRILLIC = ("cp1251", "koi8-r", "iso8859-5", "cp866", "koi8-u", "mac-cyrillic")
_COMMON = "оеаинтсрвлкі"  # of Slavic languages
_CAPITAL_WEIGHT = 0.95  # beside a small letter
_ASCII = bytes(range(128))
_LETTERS_LOOKED_AT = 1 << 14


def decode(body: bytes, encoding: str | None = None) -> str:
    """Decode an HTML body; what cannot be decoded becomes U+FFFD.

    Valid UTF-8 is UTF-8, whatever is declared: declarations are often wrong, and other text
    is hardly ever valid UTF-8. Else, in this order: a byte order mark, `encoding` (of the
    HTTP header), the page's own declaration, a guess from the bytes. The guess also goes before
    a declaration by which most of the characters beyond ASCII are lost.
    """
    text = _decode_utf8(body)
    if text is not None:
        return text
    named = {resolve_encoding(encoding or ""), html_body_declared_encoding(body)}
    if named & _NO_CHARSETS:
        return body.decode(_guess_encoding(body) or "windows-1252", "replace")
    header = f"text/html; charset={encoding}" if encoding else None
    try:
        declared = html_to_unicode(header, body, auto_detect_fun=_guess_encoding)[1]
    except (LookupError, ValueError):  # a codec of Python that is not for text, as base64
        declared = body.decode("utf-8", "replace")
    # Two pages that are mostly U+FFFD would be alike in what is left of them.
    if 2 * declared.count(_REPLACEMENT) > len(declared) - len(declared.encode("ascii", "ignore")):
        guessed = body.decode(_guess_encoding(body) or "windows-1252", "replace")
        return min(declared, guessed, key=lambda text: text.count(_REPLACEMENT))
    return declared


def decode_clean(body: bytes, encoding: str | None = None) -> str:
    """Decode an HTML body, without NUL and lone surrogates, which no UTF-8 has."""
    text = _decode_utf8(body.replace(b"\0", b""))
    return clean(decode(body, encoding)) if text is None else text


def _decode_utf8(body: bytes) -> str | None:
    if b"\x1b" in body:  # ISO-2022-JP is valid UTF-8
        return None
    try:
        return body.decode("utf-8-sig")
    except UnicodeDecodeError:
        return None


def _guess_encoding(body: bytes) -> str | None:
    from trafilatura.utils import detect_encoding

    guessed = next(filter(None, map(resolve_encoding, detect_encoding(body))), None)
    if guessed not in _CYRILLIC:
        return guessed
    letters = body.translate(None, _ASCII)[:_LETTERS_LOOKED_AT]
    return max(_CYRILLIC, key=lambda name: _looks_cyrillic(letters.decode(name, "replace")))


def _looks_cyrillic(letters: str) -> float:
    """Count the letters that are common in Slavic languages."""
    capitals = sum(map(letters.count, _COMMON.upper()))
    return sum(map(letters.count, _COMMON)) + _CAPITAL_WEIGHT * capitals
