"""Tests of both packages. They mirror the source tree; `cluster` is the local Kubernetes that some of them run on."""
