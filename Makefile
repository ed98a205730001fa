# `make run` and `make test` do everything from a clean clone; only `make deps` needs root. `make help` lists the rest.
PYTHON ?= python3
BUILD ?= build
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/pip install -q --disable-pip-version-check
export DPUBENCH_SHARED_DATA ?= $(abspath ../shared/data)
# Builds of several trees share what they compile, where ccache is there.
ifeq ($(origin CXX),default)
CXX := $(strip $(notdir $(shell command -v ccache 2>/dev/null)) g++)
endif
export CXX
SECONDS_PER_FUZZER ?= 600
# CI sets it: a warning of the compiler fails the build there, but not that of a user with another compiler.
WERROR ?= false

.PHONY: help run test arm vm-test docs docs-site wheel wheel-test bench fuzz soak mutate lock lint format deps deps-test deps-arm build build-tests venv venv-test clean
.DEFAULT_GOAL := help

help:  ## this list
	@sed -n 's/^\([a-z-]*\):.*##/\1\t/p' $(MAKEFILE_LIST) | expand -t 14

run: deps build  ## install what is missing, build, measure every operator with the quick plan, write the report
	$(BIN)/dpubench run

deps:  ## list and install missing packages (needs root, or sudo)
	@scripts/deps.sh build engine data trace

deps-test: deps
	@scripts/deps.sh test

deps-arm:
	@scripts/deps.sh build arm

$(VENV)/stamp: pyproject.toml requirements/run.txt
	$(PYTHON) -m venv $(VENV)
	$(PIP) --require-hashes -r requirements/run.txt
	$(PIP) --no-deps --no-build-isolation -e .
	touch $@

# What tests need beyond that, so that whoever only measures does not depend on it.
$(VENV)/test-stamp: $(VENV)/stamp requirements/test.txt
	$(PIP) --require-hashes -r requirements/test.txt
	touch $@

venv: $(VENV)/stamp

venv-test: $(VENV)/test-stamp

build: venv  ## build the native programs and install the command in .venv/bin
	@scripts/build.sh $(BUILD)

build-tests: venv-test
	@scripts/build.sh $(BUILD) -Dtests=true -Dwerror=$(WERROR)

test: deps-test build-tests  ## install what is missing, build, run every test
	@scripts/test.sh $(BUILD)

arm: deps-arm venv  ## cross-compile for 64-bit Arm and run the native tests under an emulator (x86-64 hosts, Debian)
	@scripts/arm.sh $(BUILD)-aarch64

vm-test: deps-arm deps-test build-tests  ## boot emulated 64-bit Arm machines and run every study on them (long; Debian)
	@scripts/vm.sh $(BUILD)

# In an environment of its own, since its packages have nothing to do with measuring.
$(VENV)-docs/stamp: requirements/docs.txt
	$(PYTHON) -m venv $(VENV)-docs
	$(VENV)-docs/bin/pip install -q --disable-pip-version-check --require-hashes -r requirements/docs.txt
	touch $@

docs: build docs-site  ## the documentation as a site, in build-docs/site

docs-site: venv $(VENV)-docs/stamp
	@$(BIN)/python scripts/docs.py $(BUILD)-docs
	@NO_MKDOCS_2_WARNING=1 $(VENV)-docs/bin/mkdocs build -q --strict -f $(BUILD)-docs/mkdocs.yml

wheel: deps venv  ## a wheel with the native programs inside, in dist/
	@scripts/build.sh $(BUILD)-wheel -Dwerror=$(WERROR)
	@$(BIN)/python scripts/make_wheel.py $(BUILD)-wheel dist

wheel-test: wheel deps-test venv-test  ## install the wheel where nothing else is: Debian 12, and C library 2.31 (long; x86-64, Debian)
	@DPUBENCH_WHEEL=$(abspath dist) $(BIN)/python -m pytest -q -m wheel --durations 5 tests/python/wheel

bench: deps-test build-tests  ## ratios against bare loops, and the instrument measured (long)
	$(BIN)/python -m benchmarks

fuzz: deps-test build-tests  ## every fuzzer for SECONDS_PER_FUZZER seconds (default 600)
	@scripts/fuzz.sh $(SECONDS_PER_FUZZER)

soak: deps-test build-tests  ## client and server for SECONDS (default 3600): memory stays flat, no packet unaccounted for
	@DPUBENCH_PROGRAMS=$(abspath $(BUILD))/native SECONDS=$(or $(SECONDS),3600) $(BIN)/python tests/soak.py

# A virtual environment of its own keeps cosmic-ray and what it needs away from the other tests.
$(VENV)-mutate/stamp: requirements/mutate.txt
	$(PYTHON) -m venv $(VENV)-mutate
	$(VENV)-mutate/bin/pip install -q --disable-pip-version-check --require-hashes -r requirements/mutate.txt
	touch $@

mutate: $(VENV)-mutate/stamp  ## plant faults in the code that decides: do the fast tests notice them? (MUTATE="--native", "--sample 50", ...)
	@DPUBENCH_PROGRAMS=$(abspath $(BUILD))/native $(VENV)-mutate/bin/python scripts/mutate.py $(MUTATE)

lock:  ## resolve the Python packages anew, with their hashes (requirements/)
	@scripts/lock.sh

lint: deps-test build-tests  ## clang-format, clang-tidy, shellcheck, biome, ruff, mypy, strict build of the documentation
	@scripts/lint.sh $(BUILD)

format: deps-test venv-test  ## rewrite the sources in the project's format
	git ls-files '*.cpp' '*.hpp' | xargs clang-format-14 -i
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

clean:  ## remove everything built
	rm -rf $(BUILD) $(BUILD)-* $(VENV) $(VENV)-docs $(VENV)-mutate dist
