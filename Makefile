# Everything a user needs: `make run`, `make test`. Each sets up .venv first, once.
PYTHON ?= python3
ARGS ?=
# The distribution of ROS 2 whose wheels .venv gets: jazzy or kilted.
export ROS ?= jazzy
BIN := .venv/bin
PYTEST_MODULE := pytest --dist loadgroup --no-loadscope-reorder --numprocesses
PYTEST := $(BIN)/python -m $(PYTEST_MODULE)
CORES := $(shell getconf _NPROCESSORS_ONLN)
# A graph is a dozen processes; without bytecode each compiles its modules, twice the processor time.
unexport PYTHONDONTWRITEBYTECODE

# `make train first_flight`: the words behind train are a lesson, and no targets.
ifeq (train,$(firstword $(MAKECMDGOALS)))
LESSON := $(wordlist 2,9,$(MAKECMDGOALS))
$(if $(LESSON),$(eval .PHONY: $(LESSON))$(eval $(LESSON): train;@:))
endif

.PHONY: help setup console dev run train check test test-all coverage worlds lint bench docs lock clean

help:  ## Show this list
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## */  make \1\t/'

setup:  ## Make .venv with what `make run` needs (a second call finds nothing to do)
	@command -v $(PYTHON) >/dev/null || { echo "ERROR: $(PYTHON) not found; install Python 3.10 to 3.14, or name it: make PYTHON=/path/to/python3" >&2; exit 2; }
	@$(PYTHON) scripts/setup_venv.py
	@test -d worlds/meshes || $(BIN)/python docs/scripts/make_worlds.py

console: setup  ## Add the console (run --console) to .venv
	@$(PYTHON) scripts/setup_venv.py console

dev: setup  ## Add JAX (--engine jax, sweep), the console, tests and linters to .venv
	@$(PYTHON) scripts/setup_venv.py dev

run: setup $(if $(filter --console,$(ARGS)),console)  ## A BlueROV2 dives; recorded to out/first; ARGS=--console shows it in a browser
	@$(BIN)/marine_sim run bluerov2 --scenario dive --record out/first --overwrite $(ARGS)
	@echo 'Next: steer it yourself in the browser: make train'
	@echo '      all commands: . .venv/bin/activate; then marine_sim console out/first, marine_sim analyze out/first, marine_sim demo'

train: console  ## Lessons for pilots, flown in a browser: make train first_flight; ARGS=--list shows progress
	@$(BIN)/marine_sim train $(LESSON) $(ARGS)

check: lint  ## Before each commit: `make lint` and the quick tests, about two minutes
	@$(PYTEST) auto -m 'not (ros or browser or gazebo or ardusub or slow or long)' $(ARGS)

# Half of the workers start graphs, which wait for much; the others compute: test/lanes.py.
test: dev  ## The tests that this machine can run, but for the dearest
	@# Once, and not in each worker: half a minute of a processor after a change of contact.
	@$(BIN)/python -c 'from marine_sim_ros.sim.body_simulation import compile_contact as c; c()'
	@$(BIN)/python -c 'from marine_sim_ros.physics.contact.contact import compile_mesh_contact as c; \
	  from marine_sim_ros.model.library import load_vehicle; c(load_vehicle("bluerov2"))'
	@$(PYTEST) $$((2 * $(CORES))) $(if $(filter all,$(FUZZ)),,-m 'not weekly') $(ARGS)

test-all: export FUZZ := all
test-all: test  ## All tests, with all examples of the fuzz tests, as CI runs them once a week

coverage: dev  ## The statements that `make test` executes, in all processes: build/coverage/html/index.html
	@rm -rf build/coverage && mkdir -p build/coverage
	@$(BIN)/coverage run -m $(PYTEST_MODULE) $$((2 * $(CORES))) -m 'not weekly' $(ARGS); status=$$?; \
	  $(BIN)/coverage combine --quiet && $(BIN)/coverage html --quiet \
	  && $(BIN)/coverage report --skip-covered --sort=cover && exit $$status

worlds: setup  ## Write worlds/ and its meshes for Gazebo anew
	@$(BIN)/python docs/scripts/make_worlds.py

lint: dev  ## Style, types, spelling and the order of imports
	@$(BIN)/mypy & types=$$!; status=0; \
	  for check in 'ruff check .' 'ruff format --check .' lint-imports codespell; do \
	    $(BIN)/$$check || status=1; \
	  done; wait $$types && exit $$status

bench: dev  ## Speed, as ratios measured in one run
	@$(BIN)/marine_sim bench $(ARGS)

docs: build/docs-venv/.installed  ## The documentation site, build/site/index.html
	@NO_MKDOCS_2_WARNING=1 build/docs-venv/bin/mkdocs build --quiet
	@echo "build/site/index.html; with search: python3 -m http.server --bind 127.0.0.1 --directory build/site"

build/docs-venv/.installed: requirements/docs.in
	@$(PYTHON) -m venv build/docs-venv
	@build/docs-venv/bin/pip install --quiet --requirement $<
	@touch $@

# uv is kept out of .venv, and no .venv is needed to mend a lock that does not install.
lock:  ## Update requirements/lock*.txt (the ROS wheels stay as they are)
	@tools=$$(mktemp -d) && trap 'rm -rf "$$tools"' EXIT && $(PYTHON) -m venv "$$tools" \
	  && "$$tools/bin/pip" install --quiet uv && cd requirements \
	  && compile="$$tools/bin/uv pip compile --quiet --universal --python-version 3.10 --upgrade \
	    --no-annotate --no-emit-index-url --no-emit-find-links --constraint ros-jazzy.txt \
	    --custom-compile-command make\ lock" \
	  && eval "$$compile" ../setup.cfg --extra ros --extra hulls --extra sensors --output-file lock.txt \
	  && eval "$$compile" ../setup.cfg --extra ros --extra hulls --extra sensors --extra console \
	    --constraint lock.txt --output-file lock-console.txt \
	  && eval "$$compile" ../setup.cfg --all-extras dev.in \
	    --constraint lock-console.txt --output-file lock-dev.txt \
	  && eval "$$compile" tf2-msgs.in --no-deps \
	    --constraint lock.txt --output-file lock-tf2-msgs.txt

clean:  ## Remove .venv and what builds leave
	@rm -rf .venv .nox build dist install log *.egg-info worlds/meshes
