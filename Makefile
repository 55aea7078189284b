# Everything a person needs: `make demo`, `make test`, `make check`, `make conformance`, `make sim`,
# `make faults`, `make bench`.
# The virtual environment is made on first use, in .venv, with Python 3.11 or newer.
PYTHON ?= $(shell for p in python3.11 python3.12 python3.13 python3.14 python3; do \
            $$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1 && echo $$p && break; done)
VENV   := .venv
BIN    := $(VENV)/bin
JOBS   ?= 2
READY  := $(VENV)/.ready
unexport PYTHONDONTWRITEBYTECODE  # or else each process of the tests rewrites and compiles all of them anew, 8 s each

.PHONY: demo test check conformance format lint types floors bench sim mutants nightly exhaustive fuzz faults lock-pauses audit clean setup

setup: $(READY)

$(READY): pyproject.toml apps/researchcopilot/pyproject.toml constraints.txt
	@test -n "$(PYTHON)" || { echo "noonmark needs Python 3.11 or newer, and none was found on PATH." >&2; \
	  echo "Say which to use: make PYTHON=/path/to/python3.11 $(MAKECMDGOALS)" >&2; exit 2; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[test,dev]' --editable apps/researchcopilot
	@echo "noonmark is in $(BIN). So that this shell finds it: . $(BIN)/activate"
	@touch $@

demo: $(READY)
	@$(BIN)/noonmark demo

test: $(READY)
	@$(BIN)/python -m pytest -q -n $(JOBS) --dist worksteal

format: $(READY)
	@$(BIN)/ruff format .
	@$(BIN)/ruff check --fix --quiet .

lint: $(READY)
	@$(BIN)/ruff format --check --quiet . || { echo "not formatted: make format" >&2; exit 1; }
	@$(BIN)/ruff check --quiet .

types: $(READY)
	@$(BIN)/mypy

floors: $(READY)
	@$(BIN)/lint-imports

check: lint types floors test

# Every case, with and without calls that fail, on every store and every server that is installed.
conformance: $(READY)
	@NOONMARK_CONFORMANCE=whole $(BIN)/python -m pytest -q -n $(JOBS) -p noonmark.testing.table --store-table tests/conformance

bench: $(READY)
	@$(BIN)/python -m bench

# Real workers on real stores under real faults; FAULTS="--stores sqlite --cells F1,F2 --repeat 20 --out faults.json".
faults: $(READY)
	@$(BIN)/python -m faults $(FAULTS)

# Worlds decided by a seed, in which everything that can go wrong does: SEEDS=A-B HOURS=n for others.
# Without SEEDS and HOURS it is a whole run, which fails, too, when a named point was not struck in every way.
# LEDGER=docs/seeds.jsonl adds a line of what came of it to the published ones, from which docs/proof.md is made.
sim: $(READY)
	@$(BIN)/python -m noonmark.sim $(if $(SEEDS),--seeds "$(SEEDS)") $(if $(HOURS),--hours "$(HOURS)") \
	  $(if $(SEEDS)$(HOURS),,--cover) \
	  $(if $(LEDGER),--ledger "$(LEDGER)"; came=$$?; $(BIN)/python docs/generate.py && exit $$came)

# Bugs planted on purpose: each one must be found by a checker; BUGS="fence lease" for those with one of these words.
mutants: $(READY)
	@$(BIN)/python -m noonmark.sim.mutants --jobs "$(JOBS)" $(BUGS)

# What wants a night: seeds that nobody has lived through yet, NIGHT scheduler-hours of them, into the ledger; then every bug
# on purpose and the whole of the fault suite.  A part that fails does not keep the others from being tried.
NIGHT  ?= 25000
nightly: $(READY)
	@red=; part() { echo "== $$*"; $(BIN)/python -m "$$@"; came=$$?; [ $$came -ne 130 ] || exit 130; \
	  [ $$came -eq 0 ] || red="$$red $$1"; }; \
	part noonmark.sim --more "$(NIGHT)" --ledger docs/seeds.jsonl; $(BIN)/python docs/generate.py || red="$$red docs"; \
	part noonmark.sim.mutants --jobs "$(JOBS)"; part faults $(FAULTS); \
	[ -z "$$red" ] || { echo "nightly: failed:$$red" >&2; exit 1; }; echo "nightly: nothing was found wrong"

# Known vulnerabilities of the pinned versions: make audit ADVISORIES=all.zip names a copy of the OSV database.
audit: $(READY)
	@$(BIN)/python .ci/audit.py $(ADVISORIES)

lock-pauses: $(READY)
	@$(BIN)/python tests/faults/lockpauses.py

# Every order of the steps of small worlds, deeper than the tests go; DEPTH=n for another depth, DEPTH=small for theirs.
exhaustive: $(READY)
	@$(BIN)/python -m noonmark.sim.exhaustive --calm-every 20 $(if $(DEPTH),--depth "$(DEPTH)")

# Anything at all as rules, cron expressions, keys, durations and URLs; EXAMPLES=n of each (default 20,000).
fuzz: $(READY)
	@NOONMARK_FUZZ="$(or $(EXAMPLES),20000)" $(BIN)/python -m pytest -q -n $(JOBS) --timeout 3000 tests/fuzz

clean:
	rm -rf $(VENV) noonmark-demo .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
