"""Threshold and shingle size, recommended by labelled pairs of texts.

`pairs` reads them from a file, or takes the reviews of a store. `report.tune_on` tries shingle
sizes on them; `evaluation` chooses thresholds, and computes precision and recall.
"""
