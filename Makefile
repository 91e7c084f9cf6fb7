# Everything a user needs: `make run`, `make test`. Each sets up .venv first, once.
PYTHON ?= python3
ARGS ?=
BIN := .venv/bin

.PHONY: help setup dev run test lint bench lock clean

help:  ## Show this list
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):.*## */  make \1\t/'

setup:  ## Make .venv with what `make run` needs (a second call finds nothing to do)
	@command -v $(PYTHON) >/dev/null || { echo "ERROR: $(PYTHON) not found; install Python 3.10 to 3.13, or name it: make PYTHON=/path/to/python3" >&2; exit 2; }
	@$(PYTHON) scripts/setup_venv.py

dev: setup  ## Add JAX (--engine jax, sweep), tests and linters to .venv
	@$(PYTHON) scripts/setup_venv.py --dev

run: setup  ## A BlueROV2 dives; recorded to out/dive; ARGS=--console shows it in a browser
	@$(BIN)/marine_sim run bluerov2 --scenario dive --record out/dive --overwrite $(ARGS)

test: dev  ## All tests this machine can run
	@$(BIN)/python -m pytest --numprocesses auto --dist loadgroup $(ARGS)

lint: dev  ## Style and types
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports
	@$(BIN)/codespell

bench: dev  ## Speed, as ratios measured in one run
	@$(BIN)/marine_sim bench $(ARGS)

# uv is kept out of .venv, and no .venv is needed to mend a lock that does not install.
lock:  ## Update requirements/lock*.txt (the ROS wheels stay as they are)
	@tools=$$(mktemp -d) && trap 'rm -rf "$$tools"' EXIT && $(PYTHON) -m venv "$$tools" \
	  && "$$tools/bin/pip" install --quiet uv \
	  && compile="$$tools/bin/uv pip compile --quiet --universal --python-version 3.10 --upgrade --no-annotate \
	    --no-emit-index-url --no-emit-find-links --constraint requirements/ros-jazzy.txt" \
	  && $$compile --custom-compile-command 'make lock' requirements/runtime.in \
	    --output-file requirements/lock.txt \
	  && $$compile --custom-compile-command 'make lock' requirements/runtime.in requirements/dev.in \
	    --constraint requirements/lock.txt --output-file requirements/lock-dev.txt

clean:  ## Remove .venv and what builds leave
	@rm -rf .venv build install log *.egg-info
