"""What depends on the language of a text: packs, lists of stop words.

`packs` detects languages and analyses words, `stop_words` has the lists.

Its names are imported when they are used: most schemes name no language.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from shingling.names import when_used

if TYPE_CHECKING:
    from shingling.text.languages.packs import (
        NORWEGIAN as NORWEGIAN,
        analyse as analyse,
        detect as detect,
        has_lemmas as has_lemmas,
        has_stems as has_stems,
        lemma as lemma,
        long_stop_words as long_stop_words,
        require as require,
        segmenter as segmenter,
        stem as stem,
        versions as versions,
    )

_NAMES = (
    "long_stop_words",
    "NORWEGIAN",
    "analyse",
    "detect",
    "has_lemmas",
    "has_stems",
    "lemma",
    "require",
    "segmenter",
    "stem",
    "versions",
)
__getattr__ = when_used(__name__, dict.fromkeys(_NAMES, "packs"))
