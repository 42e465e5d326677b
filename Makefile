# `make demo` and `make test` do all the set-up that they need, in .venv.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: demo test test-spark lint types bench bench-spark clean

demo: .venv/installed
	@$(BIN)/python -m crawler.demo

test: .venv/tested
	$(BIN)/python -m pytest --numprocesses 3 --dist loadfile

test-spark: .venv/spark
	$(BIN)/python -m pytest tests/bulk/test_spark.py

lint: .venv/tested
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .

types: .venv/tested
	$(BIN)/mypy

bench: .venv/tested
	$(BIN)/pip install --quiet --disable-pip-version-check --group peers
	$(PYTHON) -m venv .venv/datatrove
	.venv/datatrove/bin/pip install --quiet "datatrove[io,processing]>=0.10" spacy
	$(BIN)/python -m benchmarks.crawl
	$(BIN)/python -m benchmarks.crawl --set installation-guide
	$(BIN)/python -m benchmarks.sign
	$(BIN)/python -m benchmarks.quality
	$(BIN)/python -m benchmarks.verdicts
	$(BIN)/python -m benchmarks.releases
	$(BIN)/python -m benchmarks.pieces
	$(BIN)/python -m benchmarks.simhash_index
	$(BIN)/python -m benchmarks.store_growth
	$(BIN)/python -m benchmarks.rebuild
	$(BIN)/python -m benchmarks.races
	$(BIN)/python -m benchmarks.faults
	$(BIN)/python -m benchmarks.bulk

bench-spark: .venv/spark
	$(BIN)/python -m benchmarks.bulk_spark

clean:
	rm -rf .venv build dist demo *.egg-info

.venv/pip:
	@$(PYTHON) -c 'import sys; sys.exit("Python 3.11 or newer is needed" if sys.version_info < (3, 11) else 0)'
	@$(PYTHON) -m venv .venv
	@$(BIN)/pip install --quiet --disable-pip-version-check --upgrade "pip>=25.1"
	@touch $@

.venv/installed: .venv/pip pyproject.toml setup.py shingling/_kernel.c
	@PYTHONWARNINGS=ignore $(BIN)/pip install --quiet --editable ".[warc]"
	@touch $@

.venv/tested: .venv/installed
	@PYTHONWARNINGS=ignore $(BIN)/pip install --quiet --editable ".[all]" --group dev
	@touch $@

# PySpark is 430 MB, and wants Java 17.
.venv/spark: .venv/tested
	@$(BIN)/pip install --quiet --disable-pip-version-check --editable ".[spark]"
	@touch $@
