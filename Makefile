# `make demo` and `make test` set up everything they need, Debian packages included, then do their job.
SHELL := /bin/bash
PYTHON ?= $(shell command -v /usr/bin/python3 || command -v python3)
BIN := .venv/bin
PATHS := src tests benchmarks

.PHONY: setup demo test soundness reskin quick lint format bench lock clean

setup: .venv/ready
	@$(BIN)/conjunct setup

.venv/ready: requirements.lock pyproject.toml .ci/packages
	@bash .ci/packages
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@

demo: setup
	@$(BIN)/conjunct vet examples/registry --fail-on never

TESTS ?= tests
test: setup
	@$(BIN)/python -m pytest -n auto $(TESTS)

SKILLS ?= 200
CONJUNCT_SEED ?= 1
soundness: setup
	@cd tests && ../$(BIN)/python -m soundness --commands --seed $(CONJUNCT_SEED) --skills $(SKILLS)
	@cd tests && ../$(BIN)/python -m soundness --seed $(CONJUNCT_SEED) --skills $(SKILLS) --contexts 6

reskin: setup
	@$(BIN)/python -m pytest -n 0 tests/acceptance/test_examples.py::test_a_reskinned_copy_gets_the_same_verdicts_and_triggers

quick: setup
	@$(BIN)/python -m pytest -n auto -m "not world and not slow"

lint: .venv/ready
	@$(BIN)/ruff check $(PATHS)
	@$(BIN)/ruff format --check $(PATHS)
	@$(BIN)/mypy

format: .venv/ready
	@$(BIN)/ruff format $(PATHS)
	@$(BIN)/ruff check --fix $(PATHS)

bench: setup
	@$(BIN)/python -m benchmarks
	@$(BIN)/conjunct bench gates --batches 2 --workers 2 --results .bench
	@$(BIN)/conjunct bench power --batches 3 --workers 2 --results .bench
	@$(BIN)/conjunct bench execute --batches 1 --skills 12 --adversaries 2 --results .bench --work .bench/executed
	@$(BIN)/conjunct bench report --results .bench --page .bench/benchmarks.md --no-plots

lock: .venv/ready
	@$(BIN)/pip-compile --quiet --generate-hashes --allow-unsafe --strip-extras --no-header \
	  --no-emit-index-url --no-emit-find-links --no-emit-trusted-host \
	  --extra dev --output-file requirements.lock pyproject.toml

clean:
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache
