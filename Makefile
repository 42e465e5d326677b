# `make demo` and `make test` do all the set-up that they need, in .venv.
PYTHON ?= python3
BIN := .venv/bin
AXE := 4.14.1
INSTALL := bin/python -m pip install --quiet --disable-pip-version-check

.PHONY: demo test test-fast test-oldest test-packages test-spark lint types docs picture browser screens bench \
	bench-spark clean

demo: .venv/installed
	@$(BIN)/python -m crawler.demo

# What pytest makes of the modules of tests is kept, whatever the environment says: each process
# takes ten seconds to make it.
test: .venv/tested browser
	PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest --numprocesses 3 --dist loadfile --no-loadscope-reorder --max-worker-restart 0

# An answer in a minute: all but crawls, PostgreSQL, and what takes long.
test-fast: .venv/tested
	$(BIN)/python -m pytest --numprocesses 2 --dist loadfile --max-worker-restart 0 -m fast

# With the oldest version of everything that pyproject.toml allows.
test-oldest: .venv/oldest/tested browser
	.venv/oldest/bin/python -m pytest --numprocesses 3 --dist loadfile --no-loadscope-reorder --max-worker-restart 0 --ignore tests/repository/packaging/test_wheel.py

# Crawls beside the packages of docs/howto/other-packages.md; a server of Redis is used if there is one.
test-packages: .venv/tested
	.venv/$(INSTALL) --group packages
	$(BIN)/python -m pytest tests/ecosystem

test-spark: .venv/spark
	$(BIN)/python -m pytest tests/bulk/test_spark.py

lint: .venv/tested
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .

types: .venv/tested
	$(BIN)/mypy

docs: .venv/tested
	$(BIN)/python -m sphinx --quiet --fail-on-warning --keep-going docs build/docs

# The picture of the README, from what `make demo` prints.
picture: .venv/installed
	$(BIN)/python -m crawler.picture

# What the tests of `scrapy dedup serve` need besides Python: Chromium, and axe-core (MPL-2.0).
browser: .venv/axe.min.js
	@command -v chromium >/dev/null || test "$$(id -u)" != 0 || ! command -v apt-get >/dev/null \
		|| { apt-get update -qq && apt-get install -y -qq --no-install-recommends chromium >/dev/null; }

.venv/axe.min.js: .venv/made
	@! command -v npm >/dev/null || { cd .venv && npm pack --silent axe-core@$(AXE) >/dev/null \
		&& tar -xzOf axe-core-$(AXE).tgz package/axe.min.js > axe.min.js && rm axe-core-$(AXE).tgz; }

# The pictures of docs/howto/review.md.
screens: .venv/tested browser
	$(BIN)/python -m tests.web.screens

bench: .venv/tested
	.venv/$(INSTALL) --group peers
	$(PYTHON) -m venv .venv/peers
	.venv/peers/bin/pip install --quiet "datatrove[io,processing]>=0.10" spacy datasketch gaoya rensa text-dedup
	$(BIN)/python -m benchmarks.crawl
	$(BIN)/python -m benchmarks.crawl --set installation-guide
	$(BIN)/python -m benchmarks.start
	$(BIN)/python -m benchmarks.sign
	$(BIN)/python -m benchmarks.quality
	$(BIN)/python -m benchmarks.verdicts
	$(BIN)/python -m benchmarks.releases
	$(BIN)/python -m benchmarks.store_growth
	$(BIN)/python -m benchmarks.attacks --every 10
	$(BIN)/python -m benchmarks.memory
	$(BIN)/python -m benchmarks.bulk

bench-spark: .venv/spark
	$(BIN)/python -m benchmarks.bulk --only this,spark --rows 200000

clean:
	rm -rf .venv build dist demo *.egg-info

.venv/made:
	@$(PYTHON) -c 'import sys; sys.exit("Python 3.11 or newer is needed" if sys.version_info < (3, 11) else 0)'
	@$(PYTHON) -m venv .venv
	@touch $@

.venv/installed: .venv/made pyproject.toml setup.py shingling/kernel/_kernel.c
	@PYTHONWARNINGS=ignore .venv/$(INSTALL) --editable ".[warc]"
	@touch $@

# Older pips know no dependency groups.
.venv/tested: .venv/installed
	@.venv/$(INSTALL) --upgrade "pip>=25.1"
	@PYTHONWARNINGS=ignore .venv/$(INSTALL) --editable ".[all]" --group dev
	@touch $@

.venv/oldest/tested: pyproject.toml setup.py shingling/kernel/_kernel.c tests/oldest.txt
	@$(PYTHON) -m venv .venv/oldest
	@.venv/oldest/$(INSTALL) --upgrade "pip>=25.1"
	@PYTHONWARNINGS=ignore .venv/oldest/$(INSTALL) --constraint tests/oldest.txt --editable ".[all]" \
		--group test --group bench
	@touch $@

# PySpark is 430 MB, and wants Java 17.
.venv/spark: .venv/tested
	@.venv/$(INSTALL) --editable ".[spark]"
	@touch $@
