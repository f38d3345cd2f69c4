"""Blocks that tests/docs does not run itself, by page and beginning, each with what runs it, or why nothing does."""

from __future__ import annotations

from typing import Final

from tests.docs.pages import Block

Listed = dict[tuple[str, str], str]  # (page, how the first line of the block begins) -> what about it

_REPLICAS: Final = "needs replicas that run, so kubelets; its parts are run in tests/apiserver and tests/e2e"
_CLIENTS: Final = "tests/apiserver/test_client_certificate.py starts an API server with it"
_BOUNDS: Final = "tests/controllers/config/test_bounds_docs.py"
_ENTRIES: Final = "tests/webhook/sidecars/entries/test_entry_docs.py reads it as an entry"
_OWN_RULE: Final = "tests/examples/test_page.py"
_LISTS: Final = "tests/controllers/pod_ip/test_page.py parses it"

# Run by tests/apiserver/test_docs.py against a real API server, in this order.
ON_A_CLUSTER: Final[Listed] = {
    ("README.md", "make deploy"): "installs",
    ("docs/operations.md", "make deploy"): "upgrades, and goes back",
    ("docs/installation.md", "make deploy"): "installs and takes away",
    ("docs/installation.md", "gatehouse manifests --all --no-webhooks"): "installs with the program alone",
    ("docs/operations.md", "kubectl apply -k manifests/overlays/monitoring"): "brings alerts",
    ("docs/database-instance.md", "kubectl apply -f manifests/base/10-crd-databaseinstances.yaml"): "makes instances",
    ("docs/database-instance.md", "kubectl get databaseinstances -A"): "reads them",
    ("docs/pod-ip.md", "kubectl apply -f manifests/base/10-crd-addresses.yaml"): "makes a pool and workloads",
    ("docs/pod-bounds.md", "gatehouse manifests --config gatehouse.yaml"): "registers a policy",
    ("docs/pod-bounds.md", "kubectl delete validatingwebhookconfiguration"): "opens what is closed",
    ("docs/operations.md", "kubectl -n kube-system get configmap"): "checks what is installed",
    ("docs/operations.md", "make undeploy"): "takes all away",
    ("docs/quick-start.md", "kubectl apply -f examples/sidecars/"): "applies what step 2 is about",
    ("examples/README.md", "kubectl apply -f examples/sidecars/"): "applies every example; no replica is asked any more",
}

BY_OTHER_TESTS: Final[Listed] = {
    ("docs/quick-start.md", "make image"): "tests/e2e does so on its own cluster, and on kind where there is one",
    ("examples/README.md", "kubectl annotate node"): "tests/apiserver/test_examples.py has the API server take each",
    ("docs/explain.md", "gatehouse explain node edge-7"): "tests/apiserver/test_examples.py asks a cluster and a replica",
    ("docs/explain.md", "kubectl -n kube-system port-forward"): "tests/apiserver/test_examples.py asks a replica",
    ("docs/explain.md", "source <(gatehouse completion bash)"): "tests/controllers/cli/test_completion.py, in real shells",
    ("docs/own-rule.md", ".venv/bin/pip install --no-deps"): f"{_OWN_RULE} has pip install it",
    ("docs/own-rule.md", "gatehouse review"): f"{_OWN_RULE} runs it where the package is installed",
    ("docs/own-rule.md", "examples/own-rule/review.yaml:2"): f"{_OWN_RULE} compares it",
    ("docs/own-rule.md", "gatehouse explain pod"): f"{_OWN_RULE} runs it where the package is installed",
    ("docs/own-rule.md", "# examples/own-rule/gatehouse.yaml"): f"{_OWN_RULE} compares it with the file",
    ("docs/own-rule.md", "# gatehouse.yaml"): f"{_OWN_RULE} has an installation of it printed",
    ("docs/own-rule.md", "# cases/inherits_the_owner"): f"{_OWN_RULE} compares it with the file",
    ("docs/own-rule.md", "# cases/refuses_a_pod"): f"{_OWN_RULE} compares it with the file",
    ("docs/own-rule.md", "# examples/own-rule/cluster"): f"{_OWN_RULE} compares it with the file",
    ("docs/own-rule.md", ".venv/bin/pip install pytest"): "tests/examples/test_packages.py runs these tests",
    ("docs/own-rule.md", "make image WITH"): "tests/server/test_binary_with.py makes the binary that goes into it",
    ("docs/own-rule.md", "gatehouse check gatehouse.yaml"): "tests/apiserver/test_own_rule.py applies what these print",
    ("docs/installation.md", "# mine/kustomization.yaml"): "kubectl builds it in tests/apiserver/test_docs.py",
    ("docs/pod-bounds.md", "name: modest "): f"{_BOUNDS} reads its keys",
    ("docs/pod-bounds.md", "$ kubectl apply -f pod.yaml"): f"{_BOUNDS} asks for the same refusal",
    (
        "docs/pod-defaults.md",
        "metadata:",
    ): "a result; tests/controllers/config/test_defaults.py reads the sets that it comes from",
    ("docs/pod-ip.md", "allocatable-ips: 10.20.0.7_"): _LISTS,
    ("docs/pod-ip.md", 'allocatable-ips: "10.20.0.0/28'): _LISTS,
    ("docs/sidecar-entries.md", "containers:"): _ENTRIES,
    ("docs/sidecar-entries.md", "logCollector:"): _ENTRIES,
    ("docs/status-page.md", "gatehouse serve --local"): "tests/controllers/status/web/test_process.py reads the page of one",
    ("docs/e2e.md", "make e2e"): "a part of .ci/run",
    ("docs/runbooks.md", "kubectl -n kube-system get pods"): "tests/e2e/test_docs.py",
    ("docs/binary.md", "make binary"): "tests/server/test_binary.py runs what it makes",
    ("docs/security.md", "# kubeconfig.yaml"): _CLIENTS,
    ("docs/security.md", "# admission.yaml"): _CLIENTS,
    ("docs/security.md", "# mine/kustomization.yaml"): _CLIENTS,
}

NOT_RUN: Final[Listed] = {
    ("docs/profiling.md", "make bench"): "takes many minutes; .ci/run has the short form of make bench",
    (
        "docs/installation.md",
        "gatehouse serve --kubeconfig",
    ): "serves until it is stopped; tests/apiserver/gatehouse.py does so",
    ("docs/status-page.md", "gatehouse serve"): "serves until it is stopped; tests/controllers/status/web asks for the page",
    ("examples/README.md", "kubectl annotate node NODE"): "NODE is the reader's",
    ("docs/binary.md", "ctr --namespace k8s.io images import"): "needs containerd, Docker and kind",
    ("docs/security.md", "# kubeadm.yaml"): "needs kubeadm and a node of its own",
    ("docs/security.md", "kubectl -n kube-system exec"): _REPLICAS,
    ("docs/database-instance.md", "$ kubectl get databaseinstances"): "a transcript of a cluster that has run for days",
    ("docs/pod-ip.md", "calicoctl apply"): "needs Calico; tests/apiserver/addresses has a stand-in for its kinds",
    ("docs/pod-ip.md", "$ kubectl -n shop get pods"): _REPLICAS,
    ("docs/pod-ip.md", "$ kubectl -n shop delete statefulset db"): _REPLICAS,
    ("docs/pod-ip.md", "gatehouse ip list [-n NAMESPACE]"): "a summary; tests/apiserver/addresses/test_command.py runs each",
}
MOST_NOT_RUN: Final = 12  # so that the list is not the easy way out
EVERYTHING: Final[Listed] = ON_A_CLUSTER | BY_OTHER_TESTS | NOT_RUN


def is_meant(block: Block, key: tuple[str, str]) -> bool:
    """Whether *key* of a list is about *block*."""
    page, beginning = key
    return block.page == page and block.text.startswith(beginning)


def is_listed(block: Block) -> bool:
    """Whether one of the lists is about *block*."""
    return any(is_meant(block, key) for key in EVERYTHING)
