# `make` lists the commands. They make their own .venv with uv when that is installed, else with venv and pip.

.DEFAULT_GOAL := help
.PHONY: help demo install test durations check engine element wheel settings picture docs bench lint clean

PYTHON ?= $(shell for p in python3.13 python3.14 python3.12 python3.11 python3 python; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && break; done)
BIN := .venv/bin
BENCH := .demo/bench/my_assistant
# What `make test` runs: what a push must pass, or of that one of the tiers fast, engine, browser, servers and clients, or
# "fast or browser". TIER=nightly runs what takes long.
TIER ?=
SELECTED = ($(or $(TIER),not nightly))$(if $(findstring nightly,$(TIER)),, and not nightly)
# The generated project that is tested: yours, or a new one.
PROJECT ?=
NEW := .demo/engine/my_assistant
TESTED = $(abspath $(or $(PROJECT),$(NEW)))
# Of a new project, what is installed beside its dependencies.
EXTRAS ?= postgres redis web otel durable mcp oauth drf-mcp
PINS := '{{cookiecutter.project_slug}}/constraints.txt'
# Tests mostly wait, for a server, a browser or a process.
PROCESSES ?= $(shell $(PYTHON) -c 'import os; print(2 * (os.cpu_count() or 1))')
# Of the project that `make check` generates.
PARTS ?= everything
# Paths that `make install` passes on: what looks like a variable or a function of make is text in them.
override export INTO := $(value INTO)
override export PROJECT_PYTHON := $(value PROJECT_PYTHON)
# Whole runs keep what was flaky in them (tests/flaky.py).
HISTORY = $(if $(TIER),,FLAKY_HISTORY="$(CURDIR)/.test-cache/flaky.jsonl")
# What pytest compiles, its assertions above all, is kept, so that each of the processes needn't do it again.
PYTEST := PATH="$(CURDIR)/$(BIN):$$PATH" env -u PYTHONDONTWRITEBYTECODE \
	PYTHONPYCACHEPREFIX="$(CURDIR)/.test-cache/bytecode" $(BIN)/python -m pytest

help: ## List the commands
	@sed -n 's/^\([a-z]*\):.*## /  make \1\t/p' $(MAKEFILE_LIST)

demo: .venv/.demo ## Generate a project into .demo/ and serve it at http://127.0.0.1:8000 (PORT=8001 for another port)
	$(call generate,.demo)
	@$(MAKE) --no-print-directory -C .demo/my_assistant run

install: .venv/.install ## Bring the agent into your Django project (INTO=../shop DRY_RUN=1 REMOVE=1 PARTS=standard ENGINE=source PROJECT_PYTHON=../shop/.venv/bin/python)
	@$(BIN)/python -B -m installer "$${INTO:?Name the project: make install INTO=../shop}" \
		$${DRY_RUN:+--dry-run} $${REMOVE:+--remove} $(if $(filter file,$(origin PARTS)),,--parts "$$PARTS") \
		$${ENGINE:+--engine "$$ENGINE"} $${PROJECT_PYTHON:+--python "$$PROJECT_PYTHON"}

test: .venv/.dev ## Test the template and the projects that it makes (TIER=browser or nightly, or ARGS=tests/test_names.py); lists what it skips
ifdef ARGS
	$(PYTEST) $(ARGS)
else
	$(HISTORY) $(PYTEST) --numprocesses $(PROCESSES) --dist loadfile --no-loadscope-reorder -m "$(SELECTED) and not alone"
ifneq ($(findstring nightly,$(TIER)),)
	$(PYTEST) --numprocesses 2 --dist load -m "$(SELECTED) and alone"
endif
endif

durations: .venv/.dev ## Print what the tests of the newest run cost (ARGS="--sort wall", or ARGS=.test-cache/durations/... for another run)
	@$(BIN)/python -B tests/durations.py $(ARGS)

check: .venv/.demo ## Generate a project and run its own checks (PARTS=minimal, VERSIONS=newest or lowest, EXTRAS="postgres redis", PYTHON=...)
	$(call generate,.demo/check,parts=$(PARTS))
	@$(MAKE) --no-print-directory -C .demo/check/my_assistant check

engine: $(if $(PROJECT),,.demo/new) ## Run the engine's tests in a new project, or in yours (PROJECT=/path ARGS="-n 2 tests/test_runs.py")
	@rm -rf .demo/beside && mkdir -p .demo/beside && ln -s ../../engine/tests .demo/beside/tests
	cd .demo/beside && PYTHONPATH="$(TESTED):$(CURDIR)/.demo/beside:$(CURDIR)/tests" "$(TESTED)/.venv/bin/pytest" \
		-c "$(CURDIR)/pyproject.toml" -o pythonpath= $(or $(ARGS),--numprocesses auto tests)

element: .demo/packages/node_modules ## Run the element's tests on the template's modules, or on those of your project (PROJECT=/path)
	@rm -rf .demo/element
	@cp -R tests/element .demo/element
	@ln -s ../packages/node_modules .demo/element/node_modules
	@cp -R "$(abspath $(or $(PROJECT),engine))"/agui/static/agui .demo/element
	@cp -R "$(abspath $(or $(PROJECT),engine))"/agui/contrib/*/static/agui_* .demo/element
	node --test .demo/element/*.test.mjs

# The public suites that the element is held to, and the libraries that it is compared with.
.demo/packages/node_modules: tests/element/package.json
	@rm -rf .demo/packages
	@mkdir -p .demo/packages
	@cp $< .demo/packages
	npm install --prefix .demo/packages --ignore-scripts --silent --no-package-lock
	@touch $@

wheel: ## Build the package of the engine, in .demo/wheel/
	@$(PYTHON) -B engine/agui/distribution/pack.py .demo/wheel

settings: .venv/.dev ## Write the tables of agui/manual/settings.md from agui/conf.py
	DJANGO_SETTINGS_MODULE=tests.settings PYTHONPATH="engine:$(CURDIR)/{{cookiecutter.project_slug}}:tests" \
		$(BIN)/python -m tests.settings_reference engine/agui/manual/settings.md

# No file of this name is made: each time the project is a new one.
.demo/new: .venv/.demo
	$(call generate,.demo/engine,parts=everything engine=source)
	@$(MAKE) --no-print-directory -C $(NEW) setup .venv/.evals EXTRAS="$(EXTRAS)"

picture: .venv/.dev ## Make the pictures of the README and of the manual anew, from projects that are served
	PICTURE=docs MANUAL_PICTURES="$(CURDIR)/engine/agui/manual/pictures" $(PYTEST) -q tests/test_picture.py tests/test_tutorial.py

docs: .venv/.dev ## Build the manual as a site with a search, in .site/html/
	@rm -rf .site && mkdir -p .site
	@cp -R engine/agui/manual .site/pages
	@cp -R docs/*.md docs/*.png CHANGELOG.md .site/pages
	@cp README.md .site/pages/index.md
	@sed -i.bak -E -f docs/site.sed .site/pages/*.md .site/pages/recipes/*.md
	@find .site/pages \( -name '*.bak' -o -name '*.py' \) -delete
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --config-file docs/mkdocs.yml
	@echo "The manual is in .site/html/: serve that folder, as with python -m http.server --directory .site/html"

bench: .venv/.demo ## Measure the way to a first answer, and what turns, streams and the page cost, side by side with peers (ARGS=--quick for a short run, --count for instructions)
	$(call generate,.demo/bench)
	@$(MAKE) --no-print-directory -C $(BENCH) .venv/.installed EXTRAS=postgres
	@$(call install_into,$(BENCH)/.venv/bin,-r benchmarks/requirements.txt)
ifneq ($(filter --count,$(ARGS)),)
	@$(BENCH)/.venv/bin/python -B benchmarks/count.py $(filter-out --count,$(ARGS))
else
	@PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python -B benchmarks/first_answer.py $(ARGS)
	@$(BENCH)/.venv/bin/python -B benchmarks/conversations.py $(ARGS)
	@$(BENCH)/.venv/bin/python -B benchmarks/streams.py $(ARGS)
	@$(BENCH)/.venv/bin/python -B benchmarks/page.py $(ARGS)
endif

lint: .venv/.dev ## Check and format-check the Python files of this repository (a project has make check)
	$(BIN)/ruff check --no-cache .
	$(BIN)/ruff format --no-cache --check .

clean: ## Remove what these commands made
	rm -rf .venv .demo .site .test-cache .pytest_cache .ruff_cache .hypothesis __pycache__

.venv/.demo: pyproject.toml
	$(call install,demo)

# The tools, and the engine with what all its parts need, as a project with everything installs it.
.venv/.dev: pyproject.toml engine/pyproject.toml $(wildcard *.project_slug*/pyproject.toml *.project_slug*/constraints.txt)
	$(call install,uv)
	$(call install,demo dev install,--constraint $(PINS))
	$(call generate,.demo/dev,parts=everything engine=source)
	@cd .demo/dev/my_assistant && python="$(CURDIR)/$(BIN)/python" && \
		$$python requirements.py dev $(EXTRAS) > "$(CURDIR)/.venv/engine.txt" && \
		$$python requirements.py evals > "$(CURDIR)/.venv/evals.txt"
	@$(call install_into,$(BIN),-r .venv/requirements.txt -r .venv/engine.txt --constraint $(PINS))
	@$(call install_into,$(BIN),-r .venv/evals.txt --no-deps --constraint $(PINS))
	@$(call install_into,$(BIN),--editable ./engine --no-deps)
	@touch $@

.venv/.install: pyproject.toml
	$(call install,install)

define generate
	@rm -rf .demo/template
	@$(BIN)/python tests/snapshot.py .demo/template
	@$(BIN)/cookiecutter .demo/template --no-input --default-config --overwrite-if-exists --output-dir $(1) $(2) >/dev/null
endef

define install
	@if [ -z "$(PYTHON)" ] && ! command -v uv >/dev/null; then \
		echo "Python 3.11 or newer was not found: install it, or uv, or name one: make PYTHON=/path/to/python" >&2; \
		exit 1; \
	fi
	@if command -v uv >/dev/null; then \
		test -x $(BIN)/python || uv venv --quiet --python "$(or $(PYTHON),>=3.11)" .venv; \
	else \
		test -x $(BIN)/pip || $(PYTHON) -m venv .venv || { rm -rf .venv; \
		echo "$(PYTHON) can't make a virtual environment: on Debian and Ubuntu install python3-venv, or uv." >&2; \
		exit 1; }; \
	fi
	@echo "Installing the tools ($(1)) into .venv ..."
	@$(BIN)/python -c "import sys, tomllib; data = tomllib.load(open('pyproject.toml', 'rb')); \
		groups = data['dependency-groups'] | {'install': data['project']['dependencies']}; \
		print(*(line for name in sys.argv[1:] for line in groups[name]), sep='\n')" $(1) > .venv/requirements.txt
	@$(call install_into,$(BIN),-r .venv/requirements.txt $(2))
	@touch $@
endef

define install_into
	if uv="$$(PATH="$$PATH:$(CURDIR)/$(BIN)" command -v uv)"; then \
		"$$uv" pip install --quiet --python $(1)/python $(2); \
	else \
		$(1)/python -m pip install --quiet --disable-pip-version-check $(2); \
	fi
endef
