"""Options of canonicalisation, and the language packs that some of them need."""
