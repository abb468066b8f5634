# Everything builds its own virtual environment from the constraints file.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt

.PHONY: quickstart test lint docs bench clean

quickstart: $(VENV)/.run  ## train on the docstrings of this environment, prove it, search it
	$(BIN)/clusterns quickstart --again
	$(BIN)/clusterns search runs/quickstart "sort an array along an axis"
	@echo "See all of it in the browser: $(BIN)/clusterns explore runs/quickstart --against base"

test: $(VENV)/.dev  ## run the tests
	OMP_NUM_THREADS=1 TOKENIZERS_PARALLELISM=false $(BIN)/pytest -q -n auto

lint: $(VENV)/.dev  ## style, types, and the one direction of imports
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

docs: $(VENV)/.dev  ## the documentation as a site, in build/site
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet

bench: $(VENV)/.dev  ## measure; writes the tables in benchmarks/
	$(BIN)/python -m benchmarks

clean:  ## remove everything that was built
	rm -rf $(VENV) build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache .import_linter_cache

$(VENV)/bin/pip:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.run: $(VENV)/bin/pip pyproject.toml constraints.txt
	$(PIP) -e .
	touch $@

$(VENV)/.dev: $(VENV)/bin/pip pyproject.toml constraints.txt
	$(PIP) -e ".[dev]"
	touch $@ $(VENV)/.run
