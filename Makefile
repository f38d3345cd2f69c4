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
# Every warning is an error, in the processes under test as well.
STRICT := PYTHONDEVMODE=1 PYTHONWARNINGS=error

.DEFAULT_GOAL := help
.PHONY: help run test check format test-server test-apiserver bench soak binary image requirements deploy undeploy manifests schema docs constraints clean

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
	$(STRICT) $(DEV)/bin/python -m pytest --ignore=tests/apiserver --ignore=tests/server --ignore=tests/soak

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

## test-apiserver: a real kube-apiserver and controller manager in a network namespace of their own (root, Go; first build: 6-8 min)
test-apiserver: $(DEV)/.ready
	$(STRICT) $(DEV)/bin/python -m pytest tests/apiserver

## soak: the long forms: 2 million requests and inputs, 200 forced changes of leader, 100,000 schedules of addresses (root, Go; about two hours)
soak: $(DEV)/.ready
	$(DEV)/bin/python $(PIP) -e .[soak]
	$(DEV)/bin/python -m pytest tests/soak
	$(DEV)/bin/python -m tests.soak.elections --changes 200
	$(DEV)/bin/python -m tests.soak.databases --count 200

## bench: processor time per admission beside a bare cheroot application (Go; 3 min, SHORT=1 40 s, JSON=FILE writes the figures)
bench: $(DEV)/.ready
	$(DEV)/bin/python -m tests.bench $(if $(SHORT),--short) $(if $(JSON),--json $(JSON))

# One build at a time, whoever asks. The same sources, Python and packages give the same bytes (docs/binary.md).
$(BUILD)/.ready: setup.cfg pyproject.toml release/requirements.txt
	@echo "preparing $(BUILD) (once) ..."
	@$(PYTHON) -m venv $(BUILD)
	@$(BUILD)/bin/python -m pip --disable-pip-version-check -q install --no-compile --require-hashes -r release/requirements.txt
	@$(BUILD)/bin/python -m pip --disable-pip-version-check -q install --no-deps --no-build-isolation -e .
	@touch $@

SHIPPED := $(shell find webhook controllers manifests release -type f ! -name '*.pyc' 2>/dev/null)

dist/gatehouse: $(BUILD)/.ready $(SHIPPED)
	@echo "building $@ (half a minute) ..."
	@mkdir -p dist && flock dist $(BUILD)/bin/python -m release.binary $@

dist/gatehouse-image.tar: dist/gatehouse release/image.py
	@flock dist $(BUILD)/bin/python -m release.image $< $@ $(IMAGE)

## binary: dist/gatehouse, the whole program as one executable file that needs no Python
binary: dist/gatehouse

## image: dist/gatehouse-image.tar, a minimal image around it for containerd and `docker load` (Debian; IMAGE=gatehouse:dev)
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

## undeploy: take the installation away, webhooks first (OVERLAY as for deploy; kinds with objects stay unless PURGE=1)
undeploy:
	@KUBECTL="$(KUBECTL)" PURGE="$(PURGE)" manifests/install.sh undeploy $(INSTALLED)

## manifests: renew the webhook configurations in manifests/ from the table of services
manifests: $(DEV)/.ready
	@$(DEV)/bin/python -m tests.manifests.webhooks

## docs: renew the tables of docs/sidecars.md from tests/webhook/sidecars/truth.py
docs: $(DEV)/.ready
	$(DEV)/bin/python -m tests.webhook.sidecars.truth_table

## schema: renew webhook/objects/pod_types.json from the API server of tests/cluster (root, Go)
schema: $(DEV)/.ready
	$(DEV)/bin/python -m tests.schema

## constraints: renew constraints.txt with the newest versions that setup.cfg allows
constraints:
	@rm -rf .venv-constraints && $(PYTHON) -m venv .venv-constraints
	@.venv-constraints/bin/python -m pip --disable-pip-version-check -q install -e .[test,dev,soak,binary]
	@(head -n 1 constraints.txt; .venv-constraints/bin/python -m pip freeze --exclude-editable) > constraints.new
	@mv constraints.new constraints.txt && rm -rf .venv-constraints

## clean: remove the virtual environments and caches
clean:
	rm -rf .venv .venv-dev .venv-binary .venv-constraints .venv-requirements *.egg-info build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
