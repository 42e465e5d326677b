"""Settings recommended by labelled pairs of texts.

`pairs` reads them from a file, or takes those of a store: its reviews, or else its titles.
`report.tune_on` tries settings on them: `settings` compares the texts of the pairs, `evaluation`
chooses cutoffs and computes their quality, and `plotting` draws the result.
"""
