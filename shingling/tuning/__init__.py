"""Settings recommended by labelled pairs of texts.

Pairs come from a file or the reviews of a store (`pairs`), or are drawn from a store (`sampling`).
`report.tune_on` tries settings on them (`settings`): `measuring` compares the texts of the pairs,
`evaluation` chooses cutoffs and computes their quality, and `plotting` draws the result.
"""
