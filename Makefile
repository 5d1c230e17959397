PYTHON ?= python3
VENV := .venv
OTHER = .venv-$(notdir $(PYTHON))
CONSTRAINTS =
BIN := $(VENV)/bin
OUTPUT ?= demo-output

# Where bytecode is not kept, each process that a test starts compiles the package: 0.4 s of CPU.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: demo hub-demo test test-orders test-thorough test-all test-quick test-python test-oldest test-gan test-slow fuzz lint docs wheel release audit mutants clean

demo: $(VENV)/demo.stamp  ## a real survey goes in, a private synthetic one comes out
	$(BIN)/understudy demo -o $(OUTPUT)

hub-demo: $(VENV)/hub.stamp  ## a hub with people, data and requests in every state; prints its address and accounts
	$(BIN)/understudy hub demo --port $(or $(PORT),8000)

# Other programs whose answers tests compare with ours. They pin old libraries, which ours must not
# follow, so they come without them, into a folder of their own.
ORACLES = pycanon==1.3.6 phe==1.5.0
ORACLES_JS = oidc-provider@9.13.3

CORES = $(shell getconf _NPROCESSORS_ONLN)
# One more process than there are cores: some tests wait, for servers and for other processes.
WORKERS ?= $(shell echo $$(($(CORES) + 1)))
PYTEST = -m pytest --numprocesses $(WORKERS) --dist loadfile --no-loadscope-reorder

# All cores have a process of tests: threads of linear algebra would only wait for each other.
test test-thorough test-python test-gan test-slow test-orders audit: export OMP_NUM_THREADS = 1

test: $(VENV)/dev.stamp  ## install and run the tests: minutes, and all that guards privacy
	$(BIN)/python $(PYTEST) -m "not slow and not thorough" $(ARGS)

test-orders: $(VENV)/dev.stamp  ## RUNS of test in random orders, from SEED on; lists each test that failed once
	@mkdir -p .orders; rm -f .orders/*; failed=0; first=$(or $(SEED),1); \
	for seed in $$(seq $$first $$((first + $(or $(RUNS),1) - 1))); do \
		UNDERSTUDY_ORDER=$$seed $(BIN)/python $(PYTEST) -m "not slow and not thorough" $(ARGS) \
			> .orders/$$seed.txt 2>&1 || failed=1; \
		echo "order $$seed: $$(grep -E '(passed|failed|error).* in ' .orders/$$seed.txt | tail -1)"; \
	done; \
	grep -hE '^(FAILED|ERROR) ' .orders/*.txt | sed 's/ - .*//' | sort | uniq -c; exit $$failed

test-thorough: $(VENV)/dev.stamp  ## what test leaves out: Spark, studies, pages of the docs, packaging
	$(BIN)/python $(PYTEST) -m "thorough and not slow" $(ARGS)

test-all: test test-thorough  ## both

# The part that depends most on interpreter and libraries, for other versions of these.
QUICK = tests/counting tests/machine tests/release tests/cli/test_cli.py tests/models/test_golden_rows.py \
	$(addprefix tests/data/test_,frames.py formats.py reading.py schema.py) \
	$(addprefix tests/privacy/test_,discovery.py ledger.py refinement.py)

test-python: $(OTHER)/test.stamp  ## a part of the tests on another interpreter: PYTHON=python3.13
	$(OTHER)/bin/python $(PYTEST) -m "not slow and not thorough" $(QUICK) $(ARGS)

test-oldest:  ## that part with the oldest libraries that are allowed
	$(MAKE) test-python OTHER=.venv-oldest CONSTRAINTS=.venv-oldest/constraints.txt

GAN = .venv-gan

test-gan: $(GAN)/test.stamp  ## the networks of images, in an environment of their own (torch)
	$(GAN)/bin/python -m pytest tests/synthesizers/test_gan_images.py $(ARGS)

test-slow: $(VENV)/dev.stamp  ## the tests marked slow, wherever they are; minutes each
	$(BIN)/python -m pytest -m slow --numprocesses auto --dist load $(ARGS)

fuzz: $(VENV)/dev.stamp  ## throw 10,000 inputs at each reader, and 20,000 questions at holders; new examples for all properties
	UNDERSTUDY_EXAMPLES=fuzz $(BIN)/python $(PYTEST) -m "hypothesis and not slow" $(ARGS)
	UNDERSTUDY_FUZZ=10000 $(BIN)/python -m pytest tests/auditing/test_fuzz.py $(ARGS)
	UNDERSTUDY_FUZZ=20000 $(BIN)/python -m pytest -s tests/federation/test_differential_fuzz.py $(ARGS)

lint: $(VENV)/dev.stamp  ## formatting, linting, types
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/mypy studies

docs: $(VENV)/dev.stamp  ## build the site; a broken link or an outdated table is an error
	$(BIN)/python tools/docs_tables.py --check
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

audit: $(VENV)/dev.stamp  ## try to break the guarantee, in full; writes the tables of docs/audit.md and attacks.md
	$(BIN)/python tools/audit_page.py --runs $(or $(RUNS),2000) --processes $(CORES)
	$(BIN)/python -m pytest tests/auditing -m "slow or not slow" --numprocesses $(CORES) --dist load $(ARGS)

mutants: $(VENV)/dev.stamp  ## put one fault at a time into the code; writes docs/mutants.md (SAMPLE=200 for some)
	$(BIN)/python tools/mutants.py $(if $(SAMPLE),--sample $(SAMPLE)) $(ARGS)

wheel: $(VENV)/dev.stamp  ## build the wheel
	$(BIN)/python -m build --wheel --outdir dist .

release: $(VENV)/dev.stamp  ## build, check and tag a release; ARGS=--dry-run to try
	$(BIN)/python tools/release.py $(ARGS)

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

# A demo imports a small part of what is installed: compiling all of it would take longer.
QUICKLY = --quiet --no-compile --disable-pip-version-check

$(VENV)/demo.stamp: pyproject.toml | $(VENV)/bin/python
	@echo "installing understudy into $(VENV) (about a minute, once)"
	$(BIN)/python -m pip install $(QUICKLY) -e ".[demo,evaluation]"
	@touch $@

$(VENV)/hub.stamp: pyproject.toml | $(VENV)/bin/python
	@echo "installing understudy and its hub into $(VENV) (about a minute, once)"
	$(BIN)/python -m pip install $(QUICKLY) -e ".[hub,local]"
	@touch $@

$(VENV)/dev.stamp: pyproject.toml | $(VENV)/bin/python
	@echo "installing understudy and its test tools into $(VENV) (a minute or two, once)"
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet -e ".[dev]"
	$(BIN)/python -m pip install --quiet --no-deps --target $(VENV)/oracles --upgrade $(ORACLES)
	-command -v npm > /dev/null && npm install --silent --no-audit --no-fund --prefix $(VENV)/oracles-js $(ORACLES_JS)
	@touch $@ $(VENV)/demo.stamp $(VENV)/hub.stamp

$(OTHER)/test.stamp: pyproject.toml
	$(PYTHON) -m venv $(OTHER)
	$(OTHER)/bin/python -m pip install --quiet --upgrade pip
	$(if $(CONSTRAINTS),$(OTHER)/bin/python tools/oldest.py > $(CONSTRAINTS))
	$(OTHER)/bin/python -m pip install --quiet $(addprefix -c ,$(CONSTRAINTS)) -e ".[test]"
	@touch $@

$(GAN)/test.stamp: pyproject.toml
	$(PYTHON) -m venv $(GAN)
	$(GAN)/bin/python -m pip install --quiet --upgrade pip
	$(GAN)/bin/python -m pip install --quiet -e ".[gan]" "hypothesis>=6.100" "pytest>=8.3"
	@touch $@

clean:
	rm -rf $(VENV) .venv-* build dist site $(OUTPUT)
