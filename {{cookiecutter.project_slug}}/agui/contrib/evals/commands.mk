.PHONY: eval

EVALS := .venv/.evals
# For make eval: the model that answers, if not AGENT_MODEL, and the part of the cases that has to pass
MODEL ?=
MIN ?= 1

eval: setup $(EVALS) ## Play the cases in assistant/evals/ (MODEL=openai:... for another model, MIN=0.9 for a lower bar)
	@$(MANAGE) evaluate --min $(MIN) $(if $(MODEL),--model $(MODEL))

# pydantic-evals asks for the very version of pydantic-ai that came out with it. All else that it needs is here by now.
$(EVALS): $(INSTALLED)
	@$(BIN)/python -c 'import sys, tomllib; \
		groups = tomllib.load(open("pyproject.toml", "rb")).get("dependency-groups", {}); \
		print(*groups.get("evals") or sys.exit("pyproject.toml has no dependency group evals: see docs/parts.md."), sep="\n")' \
		> .venv/evals.txt
	@if command -v uv >/dev/null; then \
		uv pip install --quiet --python $(BIN)/python --no-deps -r .venv/evals.txt -c constraints.txt; \
	else \
		$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps -r .venv/evals.txt -c constraints.txt; \
	fi
	@touch $@
