# Every target makes what it needs; the first line of each comment is its text in `make help`.
PYTHON ?= python3
RUN    := .venv
DEV    := .venv-dev
BUILD  := .venv-binary
PIP    := -m pip --disable-pip-version-check -q install -c constraints.txt

comma  := ,
KUBECTL   ?= kubectl
IMAGE     ?= gatehouse:dev
# One of manifests/overlays, or a kustomization of your own: OVERLAY=../mine
INSTALLED  = $(if $(OVERLAY),$(if $(wildcard manifests/overlays/$(OVERLAY)),manifests/overlays/$(OVERLAY),$(OVERLAY)),manifests/base)
# Of the cluster of the tests: KUBERNETES=1.34 takes that one, nothing the newest (tests/cluster/binaries.py).
KUBERNETES ?=
VERSIONS   ?= 1.34 1.35 1.36
# Every warning is an error, in the processes under test as well.
STRICT := PYTHONDEVMODE=1 PYTHONWARNINGS=error

.DEFAULT_GOAL := help
.PHONY: help run test check format test-server test-apiserver test-versions e2e bench bench-cache bench-creates performance performance-pages soak binary image requirements deploy undeploy manifests schema docs constraints clean

## help: this text
help:
	@awk '/^## /{sub(/^## /, ""); split($$0, part, ": "); printf "  %-16s %s\n", part[1], substr($$0, length(part[1]) + 3)}' $(MAKEFILE_LIST)

# A virtual environment is made once, and again when the project's dependencies change. $(1): folder, $(2): what to install.
define environment
$(1)/.ready: setup.cfg pyproject.toml constraints.txt
	@echo "preparing $(1) (once) ..."
	@$$(PYTHON) -c 'import sys; sys.exit(None if sys.version_info >= (3, 11) else "Gatehouse needs Python 3.11 or newer, this is " + sys.version.split()[0])'
	@$$(PYTHON) -m venv $(1)
	@$(1)/bin/python $$(PIP) -e $(2)
	@touch $$@
endef
$(eval $(call environment,$(RUN),.))
$(eval $(call environment,$(DEV),.[test$(comma)dev]))

## run: serve the example cluster without Kubernetes and show what is decided (ONCE=1 ends after the examples)
run: $(RUN)/.ready
	@$(RUN)/bin/python examples/demo.py $(if $(ONCE),--once)

## test: everything that needs neither a cluster nor minutes
test: $(DEV)/.ready
	$(STRICT) $(DEV)/bin/python -m pytest --ignore=tests/apiserver --ignore=tests/e2e --ignore=tests/server --ignore=tests/soak

## check: format, lint, types, and the rules of imports and purity
check: $(DEV)/.ready
	$(DEV)/bin/ruff format --check .
	$(DEV)/bin/ruff check .
	$(DEV)/bin/mypy
	$(DEV)/bin/python -m pytest -q tests/test_layers.py tests/test_project.py

## format: rewrite the sources the way `check` wants them
format: $(DEV)/.ready
	$(DEV)/bin/ruff check --fix .
	$(DEV)/bin/ruff format .

## test-server: the server on loopback against clients that are silent, slow, broken or many
test-server: $(DEV)/.ready
	$(STRICT) $(DEV)/bin/python -m pytest tests/server

## test-apiserver: a real kube-apiserver and controller manager in a network namespace of their own (root, Go; first build: 6-8 min; KUBERNETES=1.34)
test-apiserver: $(DEV)/.ready
	KUBERNETES=$(KUBERNETES) $(STRICT) $(DEV)/bin/python -m pytest tests/apiserver

## test-versions: the same against every older Kubernetes that is supported (VERSIONS="1.34 1.35 1.36"; 8 min to build each, once)
test-versions: $(DEV)/.ready
	@for version in $(VERSIONS); do echo "Kubernetes $$version ..." && $(MAKE) --no-print-directory test-apiserver KUBERNETES=$$version || exit; done

## e2e: the installation on a cluster with real nodes: image, replicas, pods, chaos (root, Go; E2E_CLUSTER=kind on kind instead)
e2e: $(DEV)/.ready
	$(STRICT) E2E_CLUSTER="$(E2E_CLUSTER)" $(DEV)/bin/python -m pytest tests/e2e

## soak: the long forms: 2 million requests and inputs, new inputs for the property tests, half an hour of mixed load, 200 forced changes of leader, 100,000 schedules of addresses and the oldest Kubernetes (root, Go; three hours)
soak: $(DEV)/.ready
	$(DEV)/bin/python $(PIP) -e .[soak]
	$(DEV)/bin/python -m pytest tests/soak
	$(DEV)/bin/python -m pytest --hypothesis-profile=new-inputs $$(git grep -l '^from hypothesis' 'tests/webhook/**/test_*.py' 'tests/controllers/**/test_*.py' 'tests/server/test_*.py')
	$(DEV)/bin/python -m tests.soak.elections --changes 200
	$(DEV)/bin/python -m tests.soak.databases --count 200
	LONG=1 $(DEV)/bin/python -m pytest --hypothesis-profile=new-inputs $$(grep -l 'apiserver.lengths' tests/apiserver/test_*.py)
	$(MAKE) --no-print-directory test-versions VERSIONS=1.34

## bench: what an admission costs beside controller-runtime, Flask and kopf (Go; 8 min; SHORT=1: 1 min, compared with what is committed; JSON=FILE, WARNINGS=FILE)
bench: $(DEV)/.ready
	$(if $(SHORT),,$(DEV)/bin/python $(PIP) -e .[bench])
	$(DEV)/bin/python -m tests.bench $(if $(SHORT),--short --compare) $(if $(JSON),--json $(JSON)) $(if $(WARNINGS),--warnings $(WARNINGS))

## bench-cache: watch caches beside client-go's: time to sync, memory, time per event (root, Go; 12 min, SHORT=1: 2 min)
bench-cache: $(DEV)/.ready
	$(DEV)/bin/python -m tests.bench.caches $(if $(SHORT),--short) $(if $(JSON),--json $(JSON))

## bench-creates: pod creates at a real API server, without a webhook, with Gatehouse, with the peer (root, Go; 3 min, SHORT=1: 1 min)
bench-creates: $(DEV)/.ready
	$(DEV)/bin/python -m tests.bench.creates $(if $(SHORT),--short) $(if $(JSON),--json $(JSON))

## performance: all three, written to docs/performance.json, and the pages that are made from it (root, Go; 25 min on a quiet machine)
performance: $(DEV)/.ready
	$(DEV)/bin/python $(PIP) -e .[bench]
	$(DEV)/bin/python -m tests.bench --write
	$(DEV)/bin/python -m tests.bench.creates --write
	$(DEV)/bin/python -m tests.bench.caches --write

## performance-pages: only make the pages again from docs/performance.json
performance-pages: $(DEV)/.ready
	@$(DEV)/bin/python -m tests.bench.page

# One build at a time, whoever asks. The same sources, Python and packages give the same bytes (docs/binary.md).
$(BUILD)/.ready: setup.cfg pyproject.toml release/requirements.txt
	@echo "preparing $(BUILD) (once) ..."
	@$(PYTHON) -m venv $(BUILD)
	@$(BUILD)/bin/python -m pip --disable-pip-version-check -q install --no-compile --require-hashes -r release/requirements.txt
	@$(BUILD)/bin/python -m pip --disable-pip-version-check -q install --no-deps --no-build-isolation -e .
	@touch $@

SHIPPED := $(shell find webhook controllers manifests release -type f ! -name '*.pyc' 2>/dev/null)

# Packages of others that go in: WITH="path/to/own-rule path/to/another". What is in them may have changed, and the last build
# may have had others: then it is made anew.
WITH ?=
ifneq ($(strip $(WITH)$(shell cat dist/with 2>/dev/null)),)
.PHONY: dist/gatehouse
endif

dist/gatehouse: $(BUILD)/.ready $(SHIPPED)
	@echo "building $@ (half a minute) ..."
	@mkdir -p dist && flock dist $(BUILD)/bin/python -m release.binary $@ $(WITH)
	@echo "$(WITH)" > dist/with

dist/gatehouse-image.tar: dist/gatehouse release/image.py
	@flock dist $(BUILD)/bin/python -m release.image $< $@ $(IMAGE)

## binary: dist/gatehouse, the whole program as one executable file that needs no Python (WITH=path/to/own-rule: with that package in it)
binary: dist/gatehouse

## image: dist/gatehouse-image.tar, a minimal image around it for containerd and `docker load` (Debian; IMAGE=gatehouse:dev; WITH as above)
image: dist/gatehouse-image.tar

## requirements: renew release/requirements.txt, the hashes of all that goes into the binary
requirements:
	@rm -rf .venv-requirements && $(PYTHON) -m venv .venv-requirements
	@.venv-requirements/bin/python -m pip --disable-pip-version-check -q install pip-tools
	@(head -n 1 release/requirements.txt; .venv-requirements/bin/pip-compile -q --extra binary -c constraints.txt --generate-hashes --allow-unsafe \
	  --strip-extras --no-header --no-emit-index-url --no-emit-find-links --no-emit-trusted-host -o - setup.cfg) > requirements.new
	@mv requirements.new release/requirements.txt && rm -rf .venv-requirements

## deploy: install in the cluster of kubectl and wait until the replicas are ready (IMAGE=gatehouse:dev, OVERLAY=single-node)
deploy:
	@KUBECTL="$(KUBECTL)" IMAGE="$(IMAGE)" manifests/install.sh deploy $(INSTALLED)

## undeploy: take the installation away, webhooks first (whatever OVERLAY was deployed; kinds with objects stay unless PURGE=1)
undeploy:
	@KUBECTL="$(KUBECTL)" PURGE="$(PURGE)" manifests/install.sh undeploy $(INSTALLED)

## manifests: renew the webhook configurations in manifests/ from the table of services
manifests: $(DEV)/.ready
	@$(DEV)/bin/python -m tests.manifests.webhooks

## docs: renew what is generated of docs/: references, diagrams, the picture of the README, the tables of docs/sidecars.md
docs: $(DEV)/.ready
	@$(DEV)/bin/python -m tests.docs
	@$(DEV)/bin/python -m tests.webhook.sidecars.truth_table

## schema: renew webhook/objects/pod_types.json from the API server of tests/cluster (root, Go)
schema: $(DEV)/.ready
	$(DEV)/bin/python -m tests.schema

## constraints: renew constraints.txt with the newest versions that setup.cfg allows
constraints:
	@rm -rf .venv-constraints && $(PYTHON) -m venv .venv-constraints
	@.venv-constraints/bin/python -m pip --disable-pip-version-check -q install -e .[test,dev,soak,bench,binary]
	@(head -n 1 constraints.txt; .venv-constraints/bin/python -m pip freeze --exclude-editable) > constraints.new
	@mv constraints.new constraints.txt && rm -rf .venv-constraints

## clean: remove the virtual environments and caches
clean:
	rm -rf .venv .venv-dev .venv-binary .venv-constraints .venv-requirements *.egg-info build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
