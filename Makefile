# Everything is installed into this folder. `make run` and `make test` need Python 3.11+ and make.
#
# apt packages, asked for by name, here and nowhere else:
#   python3-venv                  Debian's python3 comes without the module that makes environments
#   curl jq redis-server          the documents' commands are run; state is shared in a real Redis
#   chromium                      the page is looked at in a real browser
#   nginx-light caddy haproxy     what stands in front of us keeps our addresses as they are
#   prometheus docker-compose systemd    they read the files in deploy/
#   strace                        shows where a process really connected to
#   iproute2                      networks of their own with routes that lead nowhere
APT_VENV := python3-venv
APT_TEST := curl jq redis-server strace
APT_BROWSER := chromium
APT_DEPLOY := nginx-light caddy haproxy prometheus docker-compose systemd
NEED = @for program in $(1); do command -v $$program >/dev/null || missing=1; done; \
  [ -z "$$missing" ] || (apt-get update -qq && apt-get install -y -qq --no-install-recommends $(2)) >/dev/null

PYTHON ?= python3
BIN := .venv/bin
PIP_INSTALL := install --quiet --disable-pip-version-check

# What tells most gives its verdict first, within a minute; then all others in two groups of about the
# same length, the second with real servers.
FIRST := tests/test_architecture.py tests/test_docs.py tests/timegate/identifiers \
  tests/timegate/endpoints tests/timegate/server tests/timegate/pages \
  tests/timegate/resolution
SERVERS := tests/end_to_end tests/timegate/conformance
THEN := tests --ignore=tests/deploy $(addprefix --ignore=,$(FIRST) $(SERVERS))

# What fails is run once more by itself, since other programs of the machine can take a server's time.
# Both results are printed; what fails twice is a fault. $(1) names the group, $(2) its tests.
TWICE = $(BIN)/pytest -q -o cache_dir=.pytest_cache/$(1) $(2) || \
  $(BIN)/pytest -q -o cache_dir=.pytest_cache/$(1) --last-failed --last-failed-no-failures none $(2)

.PHONY: run test test-browser screenshots test-deploy lint check chaos load attack fuzz api format known bench quality architecture lock clean

# The demo: three small archives that come with timegate, at http://127.0.0.1:1208/.
run: .venv/run
	$(BIN)/timegate serve --demo

test: .venv/dev
	$(call NEED,curl jq redis-server strace,$(APT_TEST))
	$(call TWICE,first,$(FIRST))
	$(MAKE) .venv-pywb/ready .venv-moto/ready .venv-wacz/ready
	@# At the same time, on two processors; the output of the second is printed at the end.
	($(call TWICE,then,$(THEN))) & then=$$!; \
	  ($(call TWICE,servers,$(SERVERS))) > .end-to-end.txt 2>&1; servers=$$?; \
	  wait $$then; then=$$?; cat .end-to-end.txt; exit $$((then || servers))

test-browser: .venv/dev
	$(call NEED,chromium,$(APT_BROWSER))
	$(call TWICE,browser,tests/browser)

# Look at each of them after a change of the pages.
screenshots: .venv/dev
	$(call NEED,chromium,$(APT_BROWSER))
	$(BIN)/python -m tests.browser.screenshots

test-deploy: .venv/dev
	$(call NEED,nginx caddy haproxy promtool docker-compose systemd-analyze redis-server,$(APT_DEPLOY) $(APT_TEST))
	$(call TWICE,deploy,tests/deploy)

# Real processes are killed, stopped and flooded, on loopback only; figures beside their targets.
chaos: .venv/dev
	$(call NEED,haproxy redis-server strace ip,haproxy strace iproute2 $(APT_TEST))
	$(BIN)/python -m tests.chaos

load: .venv/dev
	$(BIN)/python -m tests.load

# Hostile archives, clients, files and surroundings, each with what was tried and seen.
attack: .venv/dev
	$(call NEED,strace,strace)
	$(BIN)/python -m tests.attack

# Atheris on every parser and every seam, SECONDS in all; `make test` runs a fixed number of cases.
SECONDS ?= 3600
fuzz: .venv-fuzz/ready
	.venv-fuzz/bin/python -m tests.fuzz --seconds $(SECONDS)

# Schemathesis: generated requests to the demo, EXAMPLES for each operation; every answer must be
# one that /openapi.json describes, and no valid request may be refused.
EXAMPLES ?= 10
api: .venv/dev .venv-api/ready
	$(BIN)/python -m tests.api --examples $(EXAMPLES)

check: lint .venv-pywb/ready .venv-moto/ready .venv-wacz/ready
	$(BIN)/pytest -q --cov --cov-report=term --ignore=tests/deploy

lint: .venv/dev
	$(BIN)/ruff format --check
	$(BIN)/ruff check
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/deptry .

format: .venv/dev
	$(BIN)/ruff format
	$(BIN)/ruff check --fix

bench: .venv/dev
	$(BIN)/python -m tests.bench

# After a change in archives/known: the same as one file, which commands read faster.
known: .venv/run
	$(BIN)/python -c 'from archives.registry import write_known; write_known()'

# How well contents are judged: precision and recall over a corpus made here.
quality: .venv/dev
	$(BIN)/python -m tests.quality --errors

# Size of the source, and the files that one request runs through, beside their limits.
architecture: .venv/dev
	$(BIN)/python -m tests.architecture

# The environment: created once, brought up to date when a lock changes.
.venv/bin/python:
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || (apt-get update -qq && apt-get install -y -qq $(APT_VENV)) >/dev/null
	$(PYTHON) -m venv .venv

.venv/run: .venv/bin/python locks/run.txt pyproject.toml
	$(BIN)/pip $(PIP_INSTALL) --require-hashes -r locks/run.txt
	$(BIN)/pip $(PIP_INSTALL) --no-deps --no-build-isolation -e .
	@# As for installed packages: commands start in two thirds of the time, also where Python writes no bytecode.
	$(BIN)/python -m compileall -q timegate archives
	touch $@

.venv/dev: .venv/run locks/dev.txt
	$(BIN)/pip $(PIP_INSTALL) --require-hashes -r locks/dev.txt
	touch $@

# pywb is GPL and pins old libraries: it has an environment of its own and runs as a process.
.venv-pywb/ready: locks/pywb.txt
	$(PYTHON) -m venv .venv-pywb
	.venv-pywb/bin/pip $(PIP_INSTALL) --require-hashes -r locks/pywb.txt
	touch $@

# moto pins libraries of its own, too.
.venv-moto/ready: locks/moto.txt
	$(PYTHON) -m venv .venv-moto
	.venv-moto/bin/pip $(PIP_INSTALL) --require-hashes -r locks/moto.txt
	touch $@

# The validator of WACZ files pins many libraries as well.
.venv-wacz/ready: locks/wacz.txt
	$(PYTHON) -m venv .venv-wacz
	.venv-wacz/bin/pip $(PIP_INSTALL) --require-hashes -r locks/wacz.txt
	touch $@

# Schemathesis pins many libraries, too, and runs as a process.
.venv-api/ready: locks/api.txt
	$(PYTHON) -m venv .venv-api
	.venv-api/bin/pip $(PIP_INSTALL) --require-hashes -r locks/api.txt
	touch $@

# atheris has wheels for some versions of Python only.
.venv-fuzz/ready: locks/fuzz.txt locks/run.txt pyproject.toml
	$(PYTHON) -m venv .venv-fuzz
	.venv-fuzz/bin/pip $(PIP_INSTALL) --require-hashes -r locks/run.txt
	.venv-fuzz/bin/pip $(PIP_INSTALL) --require-hashes -r locks/fuzz.txt
	.venv-fuzz/bin/pip $(PIP_INSTALL) --no-deps --no-build-isolation -e .
	touch $@

# Locks are pinned by version and hash, never by address. Run after changing pyproject.toml.
lock:
	$(PYTHON) -m venv .venv-lock
	.venv-lock/bin/pip $(PIP_INSTALL) uv
	.venv-lock/bin/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-strip-extras \
	  --no-header --no-emit-index-url pyproject.toml --extra fast --extra redis --extra s3 --extra documents --extra content --extra images --group build -o locks/run.txt
	.venv-lock/bin/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-strip-extras \
	  --no-header --no-emit-index-url pyproject.toml --extra fast --extra redis --extra s3 --extra documents --extra content --extra images --extra mcp --extra otel --group build --group dev -o locks/dev.txt
	.venv-lock/bin/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-strip-extras \
	  --no-header --no-emit-index-url locks/pywb.in -o locks/pywb.txt
	.venv-lock/bin/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-strip-extras \
	  --no-header --no-emit-index-url locks/moto.in -o locks/moto.txt
	.venv-lock/bin/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-strip-extras \
	  --no-header --no-emit-index-url locks/wacz.in -o locks/wacz.txt
	.venv-lock/bin/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-strip-extras \
	  --no-header --no-emit-index-url locks/fuzz.in -o locks/fuzz.txt
	.venv-lock/bin/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-strip-extras \
	  --no-header --no-emit-index-url locks/api.in -o locks/api.txt

clean:
	rm -rf .venv .venv-api .venv-fuzz .venv-lock .venv-moto .venv-pywb .venv-wacz .fuzz
