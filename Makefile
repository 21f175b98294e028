# Two commands do all set-up on a machine with Python 3.11+ and git: `make demo` and `make test`.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin/python
PACKAGES := coordination harness workspace agent_worker orchestrator

.PHONY: help demo test test-real test-sharedfs check fast stress bench clean

help:
	@echo "make demo    a whole team on a small real repository, scripted model, no key"
	@echo "make test    every check and test"
	@echo "make check   lint, types, import contracts and the fast tests"
	@echo "make test-real  MCP servers of other people, from npm and PyPI"
	@echo "make test-sharedfs  two hosts in namespaces on GlusterFS and SSHFS; needs root and FUSE"
	@echo "make stress  the long runs of the property and process tests"
	@echo "make bench   the measurements of bench/"

demo: $(VENV)/.run
	$(BIN) -m orchestrator.cli.main demo

test: check
	$(BIN) -m pytest -n 2 --dist worksteal tests/property tests/git tests/process

test-real: $(VENV)/.dev .real/.done
	$(BIN) -m pytest -n 0 tests/real

test-sharedfs: $(VENV)/.dev
	$(BIN) -m pytest -n 0 tests/sharedfs

stress: $(VENV)/.dev
	$(BIN) -m pytest -n 2 -m stress0 tests

bench: $(VENV)/.dev
	for script in mailbox wakeup tasks startup loop crash; do $(BIN) -m bench.$$script || exit 1; done

check: $(VENV)/.dev
	$(BIN) -m ruff format --check --quiet .
	$(BIN) -m ruff check --quiet .
	$(BIN) -m mypy
	$(VENV)/bin/lint-imports --no-logo
	$(BIN) -m vulture
	$(BIN) -m deptry $(PACKAGES)
	$(BIN) -m codespell_lib $(PACKAGES) tests docs skills scripts bench *.md
	$(BIN) -m pytest -n 2 tests/unit tests/architecture

$(VENV)/.run: pyproject.toml scripts/venv.py
	$(PYTHON) scripts/venv.py $(VENV)

$(VENV)/.dev: pyproject.toml scripts/venv.py
	$(PYTHON) scripts/venv.py $(VENV) --dev

.real/.done: tests/real/package.json tests/real/requirements.txt scripts/real_servers.py | $(VENV)/.dev
	$(BIN) scripts/real_servers.py .real

clean:
	rm -rf $(VENV) .real build *.egg-info
