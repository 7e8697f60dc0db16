# Plain make (POSIX, so that macOS's and BSD's do too). `make book` and `make test` start from nothing.

PYTHON ?= python3
ARGS =
BUILD =
TESTS =
VENV = .venv
BIN = $(VENV)/bin
INSTALLED = $(VENV)/.installed

.PHONY: help book book-gpu verify test check bench lab serve hooks clean clean-all

help:
	@echo "make book       install, execute the chapters, render to _build/html (ARGS=\"--profile full\", BUILD=\"--jobs 1\")"
	@echo "make test       lint, the numbers of the book and all tests, on a book that is up to date"
	@echo "make verify     the numbers of the built book, against the committed expectations"
	@echo "make book-gpu   the book at full size on a GPU (the CPU without one), verified, with the ledger beside it"
	@echo "make bench      speed and memory, ours and the peers', in one run"
	@echo "make check      lint the code and the sources of the book; no execution"
	@echo "make lab        JupyterLab on chapters/"
	@echo "make serve      the rendered book on http://127.0.0.1:8000"
	@echo "make hooks      check every commit (pre-commit)"
	@echo "make clean      remove what builds and tests made; make clean-all removes $(VENV) too"

book: $(INSTALLED)
	@start=$$(date +%s) && $(BIN)/bindlib book $(ARGS) $(BUILD) && took=$$(( $$(date +%s) - start )) && \
	installing=$$(cat $(VENV)/.seconds 2>/dev/null || echo 0) && rm -f $(VENV)/.seconds && \
	echo "install $$installing s + book $$took s = $$(( installing + took )) s"

verify: book
	@$(BIN)/bindlib verify $(ARGS)

book-gpu: $(INSTALLED)
	@$(BIN)/bindlib book --device cuda --profile full
	@$(BIN)/bindlib reproduce --profile full --json > _build/ledger.json
	@$(BIN)/bindlib verify --device cuda --profile full

bench: $(INSTALLED)
	@$(BIN)/python -m pip install -q --disable-pip-version-check --no-deps --upgrade --target _build/bench -r requirements-bench.txt
	@PYTHONPATH=_build/bench $(BIN)/python benchmarks/run.py

test: check verify
	@browser=$$(sh .ci/chromium) && CHROMIUM="$$browser" PYTEST_ADDOPTS= \
	$(BIN)/python -m pytest --numprocesses auto --maxprocesses 4 --dist loadfile $(TESTS)

check: $(INSTALLED)
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/bindlib check

lab: $(INSTALLED)
	@root=$$(test "$$(id -u)" != 0 || echo --allow-root) && $(BIN)/jupyter lab $$root chapters

serve:
	@test -f _build/html/index.html || { echo "there is no book yet: run make book"; exit 1; }
	@echo "http://127.0.0.1:8000 (Ctrl-C stops)"
	@$(PYTHON) -m http.server 8000 --bind 127.0.0.1 --directory _build/html

hooks: $(INSTALLED)
	@$(BIN)/pre-commit install

$(INSTALLED): requirements.txt constraints.txt pyproject.toml
	@sh .ci/python $(PYTHON)
	@echo "installing into $(VENV) (a few minutes, about 7 GB)"
	@start=$$(date +%s) && $(PYTHON) -m venv $(VENV) && \
	$(BIN)/python -m pip install -q --disable-pip-version-check -c constraints.txt -e . && \
	echo $$(( $$(date +%s) - start )) > $(VENV)/.seconds && touch $(INSTALLED)

clean:
	rm -rf _build .pytest_cache .ruff_cache .hypothesis
	find bindlib tests -name __pycache__ -type d -prune -exec rm -rf {} +

clean-all: clean
	rm -rf $(VENV) bindlib.egg-info
