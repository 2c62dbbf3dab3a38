# `make` lists the commands. They make their own .venv with uv when that is installed, else with venv and pip.

.DEFAULT_GOAL := help
.PHONY: help demo test check picture bench lint clean

PYTHON ?= $(shell for p in python3.13 python3.14 python3.12 python3.11 python3 python; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && break; done)
BIN := .venv/bin
BENCH := .demo/bench/my_assistant

help: ## List the commands
	@sed -n 's/^\([a-z]*\):.*## /  make \1\t/p' $(MAKEFILE_LIST)

demo: .venv/.demo ## Generate a project into .demo/ and serve it at http://127.0.0.1:8000 (PORT=8001 for another port)
	@rm -rf .demo/template
	@$(BIN)/python tests/snapshot.py .demo/template
	@$(BIN)/cookiecutter .demo/template --no-input --default-config --overwrite-if-exists --output-dir .demo >/dev/null
	@$(MAKE) --no-print-directory -C .demo/my_assistant run

test: .venv/.dev ## Test the template and the projects that it makes; what this machine can't run is listed with its reason
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python -B -m pytest $(ARGS)

check: .venv/.demo ## Generate a project and run its own checks (VERSIONS=newest or lowest, EXTRAS="postgres redis", PYTHON=...)
	@rm -rf .demo/template
	@$(BIN)/python tests/snapshot.py .demo/template
	@$(BIN)/cookiecutter .demo/template --no-input --default-config --overwrite-if-exists --output-dir .demo/check >/dev/null
	@$(MAKE) --no-print-directory -C .demo/check/my_assistant check

picture: .venv/.dev ## Make the pictures of the README anew, from a project that is served
	PATH="$(CURDIR)/$(BIN):$$PATH" PICTURE=docs $(BIN)/python -B -m pytest -q tests/test_picture.py

bench: .venv/.demo ## Measure the way to a first answer, and what turns, streams and the page cost, side by side with peers (ARGS=--quick for a short run)
	@rm -rf .demo/template
	@$(BIN)/python tests/snapshot.py .demo/template
	@$(BIN)/cookiecutter .demo/template --no-input --default-config --overwrite-if-exists --output-dir .demo/bench >/dev/null
	@$(MAKE) --no-print-directory -C $(BENCH) .venv/.installed EXTRAS=postgres
	@$(call install_into,$(BENCH)/.venv/bin,benchmarks/requirements.txt)
	@PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python -B benchmarks/first_answer.py $(ARGS)
	@$(BENCH)/.venv/bin/python -B benchmarks/conversations.py $(ARGS)
	@$(BENCH)/.venv/bin/python -B benchmarks/streams.py $(ARGS)
	@$(BENCH)/.venv/bin/python -B benchmarks/page.py $(ARGS)

# RUF200: a requirement with a question of cookiecutter in it becomes valid when it is answered.
lint: .venv/.dev ## Check and format-check all Python files
	$(BIN)/ruff check --no-cache --extend-per-file-ignores '**/pyproject.toml:RUF200' .
	$(BIN)/ruff format --no-cache --check .

clean: ## Remove what these commands made
	rm -rf .venv .demo .test-cache .pytest_cache .ruff_cache

.venv/.demo: pyproject.toml
	$(call install,demo)

.venv/.dev: pyproject.toml
	$(call install,demo dev)

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
	@$(BIN)/python -c "import sys, tomllib; groups = tomllib.load(open('pyproject.toml', 'rb'))['dependency-groups']; \
		print(*(line for name in sys.argv[1:] for line in groups[name]), sep='\n')" $(1) > .venv/requirements.txt
	@$(call install_into,$(BIN),.venv/requirements.txt)
	@touch $@
endef

define install_into
	if command -v uv >/dev/null; then \
		uv pip install --quiet --python $(1)/python -r $(2); \
	else \
		$(1)/python -m pip install --quiet --disable-pip-version-check -r $(2); \
	fi
endef
