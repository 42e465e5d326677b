"""HTML to main text, title and language, in worker processes away from the event loop."""

from shingling.extraction.html import (
    Head,
    MainText,
    decode,
    extract,
    read_head,
    read_html,
    sniff_html,
)

__all__ = ["Head", "MainText", "decode", "extract", "read_head", "read_html", "sniff_html"]
