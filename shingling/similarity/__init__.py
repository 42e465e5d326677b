"""How alike two signatures, or two texts, are."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shingling.names import when_used

if TYPE_CHECKING:
    from shingling.similarity.classic import (
        classic_overlap as classic_overlap,
        shingles as shingles,
    )
    from shingling.similarity.collection import (
        Collection as Collection,
        Document as Document,
    )
    from shingling.similarity.comparison import (
        Comparison as Comparison,
        compare as compare,
    )
    from shingling.similarity.cosines import (
        DocumentFrequencies as DocumentFrequencies,
        Weighting as Weighting,
        cosine as cosine,
    )
    from shingling.similarity.diff import (
        Change as Change,
        word_diff as word_diff,
        written_words as written_words,
    )
    from shingling.similarity.measures import (
        Counts as Counts,
        Overlap as Overlap,
        distance as distance,
        equal_supershingles as equal_supershingles,
        estimate as estimate,
        estimated_containment as estimated_containment,
        measure_sets as measure_sets,
        nearest as nearest,
        overlap as overlap,
        standard_error as standard_error,
        unless_forged as unless_forged,
    )
    from shingling.similarity.own_text import (
        OwnPassage as OwnPassage,
        own_lines as own_lines,
        own_passage as own_passage,
    )

_MODULE_OF = {
    "Change": "diff",
    "Collection": "collection",
    "Comparison": "comparison",
    "Counts": "measures",
    "Document": "collection",
    "DocumentFrequencies": "cosines",
    "Overlap": "measures",
    "OwnPassage": "own_text",
    "Weighting": "cosines",
    "classic_overlap": "classic",
    "compare": "comparison",
    "cosine": "cosines",
    "distance": "measures",
    "equal_supershingles": "measures",
    "estimate": "measures",
    "estimated_containment": "measures",
    "measure_sets": "measures",
    "nearest": "measures",
    "overlap": "measures",
    "own_lines": "own_text",
    "own_passage": "own_text",
    "shingles": "classic",
    "standard_error": "measures",
    "unless_forged": "measures",
    "word_diff": "diff",
    "written_words": "diff",
}

__all__ = [*_MODULE_OF]
__getattr__ = when_used(__name__, _MODULE_OF)
