# Everything runs from a clone with Python 3.11+ and make; what is needed goes into .venv.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
# The build backend comes from the same list (newer pips read the second name).
export PIP_CONSTRAINT := $(CURDIR)/constraints.txt
export PIP_BUILD_CONSTRAINT := $(CURDIR)/constraints.txt
export PIP_DISABLE_PIP_VERSION_CHECK := 1
# mkdocs-material advertises its successor on every build
export NO_MKDOCS_2_WARNING := 1

.PHONY: help demo test install lint types tests kernels pytest coverage docs wheel bench pages test-oldest release-check lock format hooks clean

help:
	@echo "make demo     fit, compare, print a table, write demo-report.html"
	@echo "make test     lint, types, all tests, docs, and the wheel in an empty environment"
	@echo "make coverage the tests, and the lines that none of them reaches"
	@echo "make bench    measure speed against peers, in short (benchmarks/)"
	@echo "make pages    write the tables of benchmarks/ and docs/reproduction from their records"
	@echo "make release-check   say whether the next version can be cut"
	@echo "make format   format the code"
	@echo "make hooks    let git run the quick checks before each commit"
	@echo "make clean    remove what was built"

install: $(STAMP)

$(STAMP): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet -e ".[dev]"
	touch $@

demo: $(STAMP)
	$(BIN)/python examples/demo.py

# Side by side what uses one core each. The tests themselves use two.
test: $(STAMP)
	$(MAKE) --no-print-directory -j2 lint types kernels
	$(MAKE) --no-print-directory pytest
	$(MAKE) --no-print-directory -j2 docs wheel

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(STAMP)
	$(BIN)/mypy

tests: kernels pytest

# Before the tests: otherwise each of their processes would compile.
kernels: $(STAMP)
	$(BIN)/python tests/compile_kernels.py

pytest: $(STAMP)
	# the variable lets scikit-learn run its array-API check too
	SCIPY_ARRAY_API=1 $(BIN)/python -m pytest -n 2 --dist worksteal --durations=10 $(MEASURE)

# The same tests take a third longer if every line is watched.
coverage: MEASURE := --cov --cov-report=term
coverage: tests

docs: $(STAMP)
	$(BIN)/mkdocs build --quiet --strict --site-dir build/site

wheel: $(STAMP)
	$(BIN)/python tests/wheel_check.py

# Every benchmark in its short form. Figures go to build/records.md; a full run of one script keeps its own.
bench: $(STAMP)
	for script in benchmarks/[a-z]*.py; do $(BIN)/python $$script || exit 1; done
	$(BIN)/python benchmarks/_pages.py

# The tables of benchmarks/README.md, docs/reference/time-and-memory.md and docs/reproduction, from their records.
pages: $(STAMP)
	$(BIN)/python benchmarks/_pages.py
	$(BIN)/python reproduce/_paper_pages.py

# The oldest versions that pyproject.toml allows, in an environment of its own.
test-oldest:
	$(PYTHON) -m venv $(VENV)-oldest
	PIP_CONSTRAINT=constraints-oldest.txt $(VENV)-oldest/bin/python -m pip install --quiet -e ".[test]"
	$(VENV)-oldest/bin/python tests/compile_kernels.py
	# not the pages: they show what the newest libraries print
	$(VENV)-oldest/bin/python -m pytest -n 2 --dist worksteal --ignore=tests/test_docs.py

# Whether the next version can be cut: versions, archives, Pythons, extras.
release-check: $(STAMP)
	$(BIN)/python tests/release_check.py

# Write constraints.txt anew with the newest versions that pyproject.toml allows.
lock:
	rm -rf build/lock && $(PYTHON) -m venv build/lock
	PIP_CONSTRAINT= PIP_BUILD_CONSTRAINT= build/lock/bin/python -m pip install --quiet -e ".[dev]" hatchling editables
	(head -2 constraints.txt; build/lock/bin/python -m pip freeze --exclude-editable) > build/constraints.txt
	mv build/constraints.txt constraints.txt

format: $(STAMP)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# Git then checks files and message at each commit, as .pre-commit-config.yaml says.
hooks: $(STAMP)
	$(BIN)/python -m pip install --quiet pre-commit
	$(BIN)/pre-commit install

clean:
	rm -rf $(VENV) $(VENV)-oldest build dist site .coverage .mypy_cache .ruff_cache .pytest_cache .hypothesis demo-report.html
