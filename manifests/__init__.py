"""The installation as files for kustomize. A package of data, so that `gatehouse manifests --all` finds them."""
