# What a developer runs; `make help` lists it. Every target sets up what it needs:
# a virtual environment in .venv, made once, and again when pyproject.toml changes.
# Needs make and Python 3.11 or newer: `make PYTHON=python3.11 test` names another.

PYTHON ?= python3
# How many tests run at once: as many as there are processors where the tests compute, three
# times as many where they wait for processes most of the time.
JOBS ?= $(shell getconf _NPROCESSORS_ONLN)
WAITING_JOBS ?= $(shell expr 3 '*' $(JOBS))

BIN := .venv/bin
FOR_USE := .venv/.ready-for-use
FOR_WORK := .venv/.ready-for-work
FOR_BENCH := .bench/.ready
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check --editable

# Nothing of the shell's own Python may reach ours. Compiled tests are kept: to rewrite the
# assertions of all of them takes each process of pytest some ten seconds.
unexport PYTHONHOME PYTHONPATH PYTHONDONTWRITEBYTECODE VIRTUAL_ENV

# The storms take minutes: CI runs each with one seed, which the commit draws; `proof` runs all
# seeds, and a worker in a container, where an engine answers.
ifeq ($(CI),true)
LEAVE_OUT := -m "not docker and not browser and not gh and not sshd and not groups"
# A machine of CI may be slower than usual: what fails there is tried once more, and the
# summary names it (docs/decisions.md, "A second try, in CI alone").
ON_CI := --draw --hypothesis-profile ci -raR --reruns 1 --reruns-delay 2
else
LEAVE_OUT := -m "not storm and not docker and not browser and not gh and not sshd and not groups"
ON_CI :=
endif

# What is quick reaches every package all the same (tests/repository/test_quick_tests.py).
QUICK := --quick -m "not storm and not real and not slow and not docker and not browser and not gh and not sshd and not groups" --ignore tests/journeys

# A script's first line cannot name an interpreter whose path holds a space,
# so the `sow` in .venv/bin would not start.
ifneq ($(words $(CURDIR)),1)
$(error This folder's path holds a space, and sow cannot be set up in it: $(CURDIR))
endif

.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help run run-hosts test test-quick test-of test-real test-versions test-browser test-groups check format executor bench proof dist system-packages clean

help: ## List the targets.
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-16s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

run: $(FOR_USE) ## Run the main job once, end to end, with an agent of sow's own.
	$(BIN)/sow demo

run-hosts: $(FOR_WORK) ## Run a batch on three hosts, which share a queue on a server, on this machine; as root.
	PYTHONPATH=tests $(BIN)/python -m hosts.page_story

# Most of what a test waits for is the disk: in memory nothing is synced.
MEMORY := $(shell test -w /dev/shm && ! grep -q ' /dev/shm .*noexec' /proc/mounts && \
	df -Pk /dev/shm | awk 'NR == 2 && $$4 > 8000000 { print "-p /dev/shm" }')
IN_MEMORY = folder=$$(mktemp -d $(MEMORY)) && trap 'rm -rf "$$folder"' EXIT && chmod 711 "$$folder" && set -x && TMPDIR=$$folder

test: $(FOR_WORK) ## Run the tests; under CI=true one seed of each storm as well.
	@$(IN_MEMORY) $(BIN)/pytest -n $(WAITING_JOBS) --dist loadgroup --no-loadscope-reorder $(ON_CI) $(LEAVE_OUT)

# Which newer versions of Python are here: a program that only says how to get one is none of them.
ifneq ($(filter test-versions,$(MAKECMDGOALS))$(filter true,$(CI)),)
VERSIONS := $(foreach version,3.12 3.13,$(if $(shell python$(version) -c 'print("yes")' 2>/dev/null),$(version)))
endif

ifeq ($(CI),true)
test: test-versions
endif

test-versions: $(VERSIONS:%=tested-with-%) ## Run the tests of modules, schemas and jobs with Python 3.12 and 3.13, where they are.
	@echo "newer versions of Python that were here: $(or $(strip $(VERSIONS)),none)"

tested-with-%: .versions/%/.ready
	.versions/$*/bin/python -m pytest --quiet -n $(JOBS) --dist loadgroup --no-loadscope-reorder --hypothesis-profile quick \
		-p no:cacheprovider tests/repository/test_every_module.py tests/schema tests/jobs

.PRECIOUS: .versions/%/.ready
.versions/%/.ready: pyproject.toml scripts/sow
	python$* -m venv --clear .versions/$*
	.versions/$*/bin/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	touch $@

test-quick: $(FOR_WORK) ## Run the tests in process, a few cases of each, and no worker, real agent or container: a minute.
	@$(IN_MEMORY) $(BIN)/pytest -n $(JOBS) --dist loadgroup --no-loadscope-reorder --hypothesis-profile quick $(QUICK)

# make takes each word for a target: `make test-of sow/calls/wait.py` names two.
ifeq (test-of,$(firstword $(MAKECMDGOALS)))
PATHS := $(wordlist 2,$(words $(MAKECMDGOALS)),$(MAKECMDGOALS))
.PHONY: $(PATHS)
$(PATHS): ;@:
endif

test-of: $(FOR_WORK) ## Run what belongs to files: make test-of sow/calls/wait.py worker/launch.py.
	@tests=$$($(BIN)/python tests/tests_of.py $(PATHS)) && set -x && $(BIN)/pytest -n $(JOBS) $(LEAVE_OUT) $$tests

# Two at a time: each agent that starts keeps a processor busy for seconds.
test-real: $(FOR_WORK) ## Run every case with the real agent CLIs: an hour and more; CLI=opencode those of one.
	@$(IN_MEMORY) $(BIN)/pytest -n 2 --dist loadgroup --no-loadscope-reorder $(if $(CLI),-k $(CLI)) tests/real

check: $(FOR_WORK) ## Check format, lint, types and the import contract.
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(FOR_WORK) ## Format the code and mend what the linter can mend.
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

executor: $(FOR_WORK) ## Begin an executor for a CLI that sow does not know: make executor NAME=foo.
	$(BIN)/python tests/executors/new_executor.py $(NAME)
	$(BIN)/python tests/executors/compatibility.py

test-browser: $(FOR_WORK) ## Look at the report's page in Chromium (apt-get install chromium), without a network.
	$(BIN)/pytest -m browser tests/browser

test-groups: $(FOR_WORK) ## Try limits that the kernel keeps, in a virtual machine (apt-get install qemu-system-x86 busybox-static).
	CI=true $(BIN)/pytest -m groups tests/machine

bench: $(FOR_BENCH) ## Measure; print a table and write it to bench/results.
	.bench/bin/python -m bench $(BENCH_OPTIONS)

proof: $(FOR_WORK) ## Run all storms and kill points with all seeds and write docs/proof.md; about an hour.
	$(BIN)/python -m proof $(PROOF_OPTIONS)

# The same commit gives the same bytes: their times are the commit's (docs/releasing.md), or in an
# unpacked sdist, which may lie in somebody else's repository, those of its own files.
TIME := if test -e .git; then git log -1 --format=%ct; else date -r PKG-INFO +%s; fi

dist: $(FOR_WORK) ## Build the sdist, and of it the wheel, into dist; the same bytes each time.
	rm -rf dist
	SOURCE_DATE_EPOCH=$${SOURCE_DATE_EPOCH:-$$($(TIME))} $(BIN)/python -P -m build --no-isolation --outdir dist

# Debian's PostgreSQL starts a server of its own where nobody says otherwise.
CLUSTERS := /etc/postgresql-common/createcluster.d

system-packages: ## Install, as root, what tests need of the system: bubblewrap, tinyproxy, PostgreSQL, ip.
	{ command -v bwrap && command -v tinyproxy && command -v ip && ls /usr/lib/postgresql/*/bin/initdb; } || \
		{ mkdir -p $(CLUSTERS) && echo "create_main_cluster = false" >$(CLUSTERS)/none.conf && \
		apt-get update && apt-get install --yes --no-install-recommends bubblewrap tinyproxy-bin postgresql iproute2; }

clean: ## Remove all that these targets have made.
	rm -rf .venv .versions .bench .tools .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
	rm -rf build dist bench/results
	find sow worker tests bench proof -name __pycache__ -type d -prune -exec rm -rf {} +

$(BIN)/python:
	@$(PYTHON) -c 'import sys; v = sys.version_info; sys.exit(v < (3, 11) and f"sow needs Python 3.11 or newer; $(PYTHON) is {v[0]}.{v[1]}. Name another: make PYTHON=python3.11")'
	$(PYTHON) -m venv .venv || { rm -rf .venv; false; }

$(FOR_USE): pyproject.toml scripts/sow | $(BIN)/python
	$(INSTALL) .
	touch $@

# What a user has: installed as a package, with nothing but what sow itself needs.
$(FOR_BENCH): pyproject.toml scripts/sow $(shell find sow worker -name '*.py')
	$(PYTHON) -m venv --clear .bench
	.bench/bin/python -m pip install --quiet --disable-pip-version-check . matplotlib
	touch $@

$(FOR_WORK): pyproject.toml scripts/sow | $(BIN)/python
	$(INSTALL) '.[dev]'
	touch $(FOR_USE) $@
