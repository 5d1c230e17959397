PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
OUTPUT ?= demo-output

.PHONY: demo test test-slow fuzz lint docs wheel audit clean

demo: $(VENV)/demo.stamp  ## a real survey goes in, a private synthetic one comes out
	$(BIN)/understudy demo -o $(OUTPUT)

test: $(VENV)/dev.stamp  ## install and run the tests
	$(BIN)/python -m pytest --numprocesses auto --dist loadfile --no-loadscope-reorder $(ARGS)

test-slow: $(VENV)/dev.stamp  ## the tests marked slow, wherever they are; minutes each
	$(BIN)/python -m pytest -m slow --numprocesses auto --dist load $(ARGS)

fuzz: $(VENV)/dev.stamp  ## throw 10,000 inputs at each reader
	UNDERSTUDY_FUZZ=10000 $(BIN)/python -m pytest tests/audit/test_fuzz.py $(ARGS)

lint: $(VENV)/dev.stamp  ## formatting, linting, types
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/mypy studies

docs: $(VENV)/dev.stamp  ## build the site; a broken link is an error
	$(BIN)/mkdocs build --strict --quiet

audit: $(VENV)/dev.stamp  ## try to break the guarantee, in full; writes the tables of docs/audit.md
	$(BIN)/python -m pytest tests/audit -m "slow or not slow" $(ARGS)
	$(BIN)/python -m understudy.audit.page docs/audit.md $(or $(RUNS),2000)

wheel: $(VENV)/dev.stamp  ## build the wheel
	$(BIN)/python -m build --wheel --outdir dist .

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip

$(VENV)/demo.stamp: pyproject.toml | $(VENV)/bin/python
	@echo "installing understudy into $(VENV) (about a minute, once)"
	$(BIN)/python -m pip install --quiet -e ".[demo,evaluation]"
	@touch $@

$(VENV)/dev.stamp: pyproject.toml | $(VENV)/bin/python
	@echo "installing understudy and its test tools into $(VENV) (a minute or two, once)"
	$(BIN)/python -m pip install --quiet -e ".[dev]"
	@touch $@ $(VENV)/demo.stamp

clean:
	rm -rf $(VENV) build dist site $(OUTPUT)
