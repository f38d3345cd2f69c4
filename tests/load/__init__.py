"""Load as kube-apiserver's webhook client puts it on a server: a Go program (main.go) and what starts it (program.py)."""
