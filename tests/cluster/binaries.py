"""The programs of a cluster, built once from pinned Go modules and kept in a cache folder.

A binary's folder is named after a digest of everything that it is made of, so a change of go.mod or go.sum builds anew
and an old cluster keeps the file that it runs from. Two builds at once wait for each other (file lock). Needs Go; as
root it installs missing system tools with apt.
Raises BuildError with the tail of the compiler's output.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

# The newest is the one that everything is written against; KUBERNETES=1.34 in the environment asks for another one. Of each the
# newest patch that is a module.
VERSIONS = {"1.34": "v1.34.4", "1.35": "v1.35.4", "1.36": "v1.36.3", "1.37": "v1.37.2"}
NEWEST = "1.37"
CONTAINERD = "github.com/containerd/containerd/v2/cmd"
CONTAINERD_VERSION = "v2.4.2"
CNI = "github.com/containernetworking/plugins/plugins"
CNI_VERSION = "v1.10.0"
PROMTOOL = "github.com/prometheus/prometheus/cmd/promtool"
PROMTOOL_VERSION = "v0.316.0"
# Modules of which only files are read: the kinds that manifests/ uses of others. Not every version of them is a module.
CERT_MANAGER = "github.com/cert-manager/cert-manager@v1.21.2"
PROMETHEUS_OPERATOR = "github.com/prometheus-operator/prometheus-operator@v0.85.0"

# What each part of a cluster needs from the system: command -> Debian package.
CONTROL_PLANE_TOOLS = {"ip": "iproute2", "nsenter": "util-linux"}
NODE_TOOLS = {"runc": "runc", "iptables": "iptables"}

_SOURCES = Path(__file__).parent
_PROGRESS_S = 15.0


class BuildError(Exception):
    """A program could not be built or a tool is missing; the message says which and why. A retry does not help."""


def kubernetes(asked: str | None = None) -> str:
    """The version of Kubernetes that clusters are of, as a key of VERSIONS: *asked*, else $KUBERNETES, else the newest."""
    version = (os.environ.get("KUBERNETES", "") if asked is None else asked) or NEWEST
    if version not in VERSIONS:
        raise BuildError(f"KUBERNETES={version}: have {', '.join(VERSIONS)}")
    return version


def cache_folder() -> Path:
    """Where binaries and cluster states are kept: $XDG_CACHE_HOME or ~/.cache, then gatehouse-tests."""
    base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(base) / "gatehouse-tests"


def say(message: str) -> None:
    """One progress line on standard error."""
    print(f"cluster: {message}", file=sys.stderr, flush=True)


def install_tools(tools: Mapping[str, str]) -> None:
    """Install the Debian packages of those *tools* (command -> package) that are missing. Raises BuildError."""
    packages = sorted({package for command, package in tools.items() if shutil.which(command) is None})
    if not packages:
        return
    if os.geteuid() != 0 or shutil.which("apt-get") is None:
        raise BuildError(f"missing system packages: {' '.join(packages)}; install them and try again")
    say(f"installing {' '.join(packages)}")
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    _run("apt-get update", ["apt-get", "update", "-qq"], Path("/"), environment)
    install = ["apt-get", "install", "-y", "-qq", "--no-install-recommends", *packages]
    _run("apt-get install", install, Path("/"), environment)


def control_plane() -> Path:
    """The binary with every Kubernetes program, built if need be (minutes when cold)."""
    series = kubernetes()
    version = VERSIONS[series]
    install_tools(CONTROL_PLANE_TOOLS)
    source, flags = _SOURCES / "controlplane", []
    digest = _digest(source, version)
    if series != NEWEST:  # the same program, of other modules
        modules = _SOURCES / "versions" / series
        flags, digest = [f"-modfile={modules / 'go.mod'}"], _digest(modules, version, (source / "main.go").read_bytes())
    folder = cache_folder() / "bin" / f"controlplane-{digest}"
    binary = folder / "controlplane"
    with _building(folder, [binary]) as missing:
        if missing:
            package = "k8s.io/component-base/version"
            major, minor = series.split(".")
            stamps = {"gitVersion": version, "gitMajor": major, "gitMinor": minor}
            linking = "-s -w " + " ".join(f"-X {package}.{key}={value}" for key, value in stamps.items())
            _go_build(f"Kubernetes {version}", source, binary, linking, flags=flags)
    return binary


def node_programs() -> Path:
    """The folder with containerd, its shim, ctr, the CNI plugins and the pause program, built if need be."""
    install_tools(CONTROL_PLANE_TOOLS | NODE_TOOLS)
    source = _SOURCES / "pause"
    folder = cache_folder() / "bin" / f"node-{_digest(source, CONTAINERD_VERSION + CNI_VERSION)}"
    names = {
        f"{CONTAINERD}/{{}}@{CONTAINERD_VERSION}": ("containerd", "containerd-shim-runc-v2", "ctr"),
        f"{CNI}/{{}}@{CNI_VERSION}": ("main/bridge", "main/loopback", "ipam/host-local", "meta/portmap"),
    }
    programs = [folder / Path(name).name for group in names.values() for name in group] + [folder / "pause"]
    with _building(folder, programs) as missing:
        if missing:
            environment = {**os.environ, "GOBIN": str(folder)}
            for pattern, group in names.items():
                command = ["go", "install", *(pattern.format(name) for name in group)]
                _run(f"building {', '.join(Path(name).name for name in group)}", command, source, environment)
            _go_build("pause", source, folder / "pause", "-s -w", {"CGO_ENABLED": "0"})
    return folder


def promtool() -> Path:
    """Prometheus's checker of rules, built if need be (a few minutes when cold)."""
    folder = cache_folder() / "bin" / f"promtool-{PROMTOOL_VERSION}"
    program = folder / "promtool"
    with _building(folder, [program]) as missing:
        if missing:
            # Without service discovery, which is the clients of a dozen clouds and nothing that rules need.
            command = ["go", "install", "-tags", "remove_all_sd", "-ldflags", "-s -w", f"{PROMTOOL}@{PROMTOOL_VERSION}"]
            _run("building promtool", command, _SOURCES, {**os.environ, "GOBIN": str(folder)})
    return program


def go_program(name: str, source: Path) -> Path:
    """The program *name* of the Go module in *source*, built if need be."""
    folder = cache_folder() / "bin" / f"{name}-{_digest(source, name)}"
    program = folder / name
    with _building(folder, [program]) as missing:
        if missing:
            _go_build(name, source, program, "-s -w")
    return program


def module_files(module: str) -> Path:
    """The folder with the files of *module* ("path@version"), fetched if need be; nothing is built. Read-only."""
    found = json.loads(_run(f"fetching {module}", ["go", "mod", "download", "-json", module], Path("/"), os.environ))
    return Path(found["Dir"])


def _digest(source: Path, salt: str, more: bytes = b"") -> str:
    digest = hashlib.sha256(salt.encode() + more)
    for path in sorted(source.iterdir()):
        digest.update(path.name.encode() + path.read_bytes())
    return digest.hexdigest()[:16]


@contextlib.contextmanager
def _building(folder: Path, programs: Sequence[Path]) -> Iterator[bool]:
    """Hold the folder's build lock; yields whether one of *programs* is missing."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / ".lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say(f"waiting for another build in {folder}")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield not all(program.exists() for program in programs)


def _go_build(
    what: str, source: Path, binary: Path, linking: str, extra: Mapping[str, str] | None = None, flags: Sequence[str] = ()
) -> None:
    fresh = binary.with_suffix(".new")  # a build that is cut short never leaves a half-written program under the name
    command = ["go", "build", "-buildvcs=false", *flags, "-ldflags", linking, "-o", str(fresh), "."]
    _run(f"building {what}", command, source, {**os.environ, **(extra or {})})
    fresh.replace(binary)


def _run(what: str, command: Sequence[str], folder: Path, environment: Mapping[str, str]) -> str:
    """The output of *command*, with a progress line every 15 s; it is shown only when it fails."""
    if shutil.which(command[0]) is None:
        raise BuildError(f"{what}: {command[0]} is not installed (Go 1.26 or newer: https://go.dev/dl)")
    started_s = time.monotonic()
    say(f"{what} …")
    process = subprocess.Popen(
        command, cwd=folder, env=dict(environment), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    done = threading.Event()
    ticker = threading.Thread(target=_tick, args=(what, started_s, done), name="build/progress", daemon=True)
    ticker.start()
    try:
        output, _ = process.communicate()
    except BaseException:
        process.terminate()
        process.wait()
        raise
    finally:
        done.set()
        ticker.join()
    if process.returncode:
        raise BuildError(f"{what}: {' '.join(command)} failed ({process.returncode}):\n{output[-4000:]}")
    say(f"{what}: done in {time.monotonic() - started_s:.0f} s")
    return output


def _tick(what: str, started_s: float, done: threading.Event) -> None:
    while not done.wait(_PROGRESS_S):
        say(f"{what}: {time.monotonic() - started_s:.0f} s so far (cold: 6 to 10 minutes on two cores)")
