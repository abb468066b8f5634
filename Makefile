# Everything builds its own virtual environment from the constraints file.
PYTHON ?= python3
VENV := .venv
ifeq ($(OS),Windows_NT)
BIN := $(VENV)/Scripts
else
BIN := $(VENV)/bin
endif
# Tests that share a costly fixture stay on one worker, see tests/conftest.py.
PYTEST := OMP_NUM_THREADS=1 TOKENIZERS_PARALLELISM=false $(BIN)/pytest -q -n auto --dist loadgroup
PIP := $(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt

.PHONY: quickstart test test-all lint docs bench mutants oldest dist clean

quickstart: $(VENV)/.run  ## train on the docstrings of this environment, prove it, search it
	$(BIN)/clusterns quickstart --overwrite
	$(BIN)/clusterns search runs/quickstart "sort an array along an axis"
	@echo "See all of it in the browser: $(BIN)/clusterns explore runs/quickstart --against base"

test: $(VENV)/.dev  ## run the tests that are not slow
	$(PYTEST) -m "not slow"

test-all: test  ## run all tests
	$(PYTEST) -m slow

lint: $(VENV)/.dev  ## style, types, and the one direction of imports
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

docs: $(VENV)/.dev  ## the documentation as a site, in build/site
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet

bench: $(VENV)/.dev  ## measure; writes the tables in benchmarks/
	$(BIN)/python -m benchmarks

mutants: .venv-mutants/.done  ## change the maths in small ways; list the changes that no test notices
	OMP_NUM_THREADS=1 TOKENIZERS_PARALLELISM=false nice .venv-mutants/bin/mutmut run
	.venv-mutants/bin/mutmut results

oldest: .venv-oldest/.done  ## run the tests with the oldest versions that pyproject.toml allows
	OMP_NUM_THREADS=1 TOKENIZERS_PARALLELISM=false .venv-oldest/bin/pytest -q -n auto --dist loadgroup

dist: $(VENV)/.dev  ## the wheel and the source archive, in dist/
	$(PIP) build twine
	$(BIN)/python -m build
	$(BIN)/twine check dist/*

clean:  ## remove everything that was built
	rm -rf $(VENV) .venv-mutants .venv-oldest mutants build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache .import_linter_cache

$(BIN)/pip:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.run: $(BIN)/pip pyproject.toml constraints.txt
	$(PIP) -e .
	touch $@

$(VENV)/.dev: $(BIN)/pip pyproject.toml constraints.txt
	$(PIP) -e ".[dev]"
	touch $@ $(VENV)/.run

# Mutmut breaks on pytest 9.2, so it has an environment of its own.
.venv-mutants/.done: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv-mutants
	grep -v '^pytest==' constraints.txt > .venv-mutants/constraints.txt
	.venv-mutants/bin/pip install --quiet -c .venv-mutants/constraints.txt -e . pytest==9.1.1 mutmut==3.8.0
	touch $@

.venv-oldest/.done: pyproject.toml constraints-oldest.txt
	$(PYTHON) -m venv .venv-oldest
	.venv-oldest/bin/pip install --quiet -c constraints-oldest.txt -e ".[dev]"
	touch $@
