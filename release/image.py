"""`python -m release.image BINARY ARCHIVE REFERENCE`: a minimal image around the file, without Docker or a registry.

Its root is what four Debian packages hold (the C library, zlib, CA certificates, the files that say which Debian this is), a
user without rights and the file. Written as a docker-archive of one layer, which `ctr images import`, `docker load`,
`podman load` and `kind load image-archive` read (moby image-spec v1.2). The same packages and file give the same bytes.
`python -m release.image BINARY FOLDER` writes the root alone: the Dockerfile does.
Raises ImageError.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from release.binary import EPOCH_S

PACKAGES: Final = ("base-files", "ca-certificates", "libc6", "zlib1g")  # PyInstaller's launcher is linked with zlib
USER: Final = 65532  # the "nonroot" of distroless images
ENTRY: Final = "/usr/local/bin/gatehouse"
BUNDLE: Final = "etc/ssl/certs/ca-certificates.crt"  # as update-ca-certificates(8) writes it
# Of the packages: what a program needs to run, and what a scanner or a lawyer reads.
KEPT: Final = (
    "lib",
    "lib64",
    "usr/lib",
    "usr/share/ca-certificates",
    "usr/share/doc/*/copyright",
    "etc/debian_version",
    "etc/os-release",
)
LEFT_OUT: Final = ("usr/lib/*/gconv", "lib/*/gconv", "usr/lib/mime", "usr/lib/locale")
ARCHITECTURES: Final = {"x86_64": "amd64", "aarch64": "arm64"}


class ImageError(Exception):
    """The image could not be made; the message says why. A retry helps only when the package registry was away."""


def write_root(binary: Path, root: Path) -> list[str]:
    """Fill the empty folder *root*; the packages that went in, as "libc6=2.36-9"."""
    with tempfile.TemporaryDirectory(prefix="gatehouse-image-") as folder:
        archives = _download(Path(folder))
        for archive in archives:
            whole = Path(folder) / archive.stem
            _run(["dpkg-deb", "--extract", str(archive), str(whole)])
            _keep(whole, root)
            _register(archive, root)
    certificates = sorted((root / "usr/share/ca-certificates").rglob("*.crt"))
    _write(root / BUNDLE, b"".join(path.read_bytes() for path in certificates))
    _write(root / "etc/passwd", f"root:x:0:0:root:/:/sbin/nologin\nnonroot:x:{USER}:{USER}:nonroot:/:/sbin/nologin\n".encode())
    _write(root / "etc/group", f"root:x:0:\nnonroot:x:{USER}:\n".encode())
    _write(root / "etc/nsswitch.conf", b"hosts: files dns\n")
    for name in ("tmp", "proc", "sys", "dev"):
        (root / name).mkdir(exist_ok=True)
    (root / "tmp").chmod(0o1777)
    _write(root / ENTRY.lstrip("/"), binary.read_bytes(), 0o755)
    return [archive.stem.rsplit("_", 1)[0].replace("_", "=", 1).replace("%3a", ":") for archive in archives]


def _download(folder: Path) -> list[Path]:
    """The packages of this machine's Debian; apt checks their signatures."""
    if shutil.which("apt-get") is None:
        raise ImageError("without apt-get (Debian, Ubuntu) an image is made by `docker build .`, which does the same")
    folder.chmod(0o755)
    command = ["apt-get", "-qq", "-o", "APT::Sandbox::User=root", "download", *PACKAGES]
    if subprocess.run(command, cwd=folder, capture_output=True).returncode:  # lists missing, or older than the archive
        _run(["apt-get", "-qq", "update"])
        _run(command, folder)
    return sorted(folder.glob("*.deb"))


def _keep(whole: Path, root: Path) -> None:
    """Move what is wanted of the unpacked package *whole* into *root*."""
    for pattern in LEFT_OUT:
        for path in whole.glob(pattern):
            shutil.rmtree(path)
    for pattern in KEPT:
        for path in whole.glob(pattern):
            target = root / path.relative_to(whole)
            target.parent.mkdir(parents=True, exist_ok=True)
            if path.is_dir() and not path.is_symlink():
                shutil.copytree(path, target, symlinks=True, dirs_exist_ok=True)
            else:
                shutil.copy2(path, target, follow_symlinks=False)


def _register(archive: Path, root: Path) -> None:
    """Leave word for scanners which package it is, where distroless images have it."""
    fields = _run(["dpkg-deb", "--field", str(archive)])
    _write(root / "var/lib/dpkg/status.d" / archive.name.split("_")[0], fields)


def _write(path: Path, content: bytes, mode: int = 0o644) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    path.chmod(mode)


def _run(command: Sequence[str], folder: Path = Path("/")) -> bytes:
    done = subprocess.run(command, cwd=folder, capture_output=True)
    if done.returncode:
        raise ImageError(f"{' '.join(command)}: {done.stderr.decode(errors='replace')[-2000:]}")
    return done.stdout


def layer(root: Path) -> bytes:
    """*root* as a tar in which nothing is of this machine: names in order, everything root's, one date."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.GNU_FORMAT) as archive:
        for path in sorted(root.rglob("*")):
            header = archive.gettarinfo(path, path.relative_to(root).as_posix())
            header.uid = header.gid = 0
            header.uname = header.gname = ""
            header.mtime = EPOCH_S
            if not header.issym():  # whatever the umask was
                header.mode = 0o1777 if header.name == "tmp" else 0o755 if header.isdir() or header.mode & 0o100 else 0o644
            with path.open("rb") if header.isreg() else io.BytesIO() as content:
                archive.addfile(header, content)
    return buffer.getvalue()


def write_image(root: Path, target: Path, reference: str) -> str:
    """Write the archive *target* with one image, called *reference*; the digest that `docker images` shows."""
    content = layer(root)
    unpacked = hashlib.sha256(content).hexdigest()
    config = json.dumps(
        {
            "architecture": ARCHITECTURES.get(os.uname().machine, os.uname().machine),
            "os": "linux",
            "created": f"{datetime.fromtimestamp(EPOCH_S, UTC):%Y-%m-%dT%H:%M:%SZ}",
            "config": {
                "Entrypoint": [ENTRY],
                "User": f"{USER}:{USER}",
                "WorkingDir": "/",
                "Env": ["PATH=/usr/local/bin", f"SSL_CERT_FILE=/{BUNDLE}"],
                "Labels": {"org.opencontainers.image.title": "gatehouse", "org.opencontainers.image.licenses": "Apache-2.0"},
            },
            "rootfs": {"type": "layers", "diff_ids": [f"sha256:{unpacked}"]},
        }
    ).encode()
    digest = hashlib.sha256(config).hexdigest()
    name = f"{unpacked}/layer.tar"
    manifest = json.dumps([{"Config": f"{digest}.json", "RepoTags": [reference], "Layers": [name]}]).encode()
    fresh = target.with_name(target.name + ".new")
    with tarfile.open(fresh, "w") as archive:
        for member, data in ((f"{digest}.json", config), (name, content), ("manifest.json", manifest)):
            header = tarfile.TarInfo(member)
            header.size, header.mtime = len(data), EPOCH_S
            archive.addfile(header, io.BytesIO(data))
    fresh.replace(target)
    return f"sha256:{digest}"


def _load(archive: Path) -> str | None:
    """The engine that took the archive; None where there is no engine that works (a client alone is none)."""
    for engine in ("docker", "podman"):
        works = shutil.which(engine) and not subprocess.run([engine, "info"], capture_output=True, timeout=30).returncode
        if works and not subprocess.run([engine, "load", "--input", str(archive)], capture_output=True).returncode:
            return engine
    return None


def main(arguments: Sequence[str]) -> int:
    """Carry out the command line; the exit code."""
    try:
        if len(arguments) == 2:
            print("\n".join(write_root(Path(arguments[0]), Path(arguments[1]))))
            return 0
        binary, archive, reference = Path(arguments[0]), Path(arguments[1]), arguments[2]
        with tempfile.TemporaryDirectory(prefix="gatehouse-root-") as folder:
            packages = write_root(binary, Path(folder))
            digest = write_image(Path(folder), archive, reference)
    except ImageError as error:
        print(f"image: {error}", file=sys.stderr)
        return 1
    engine = _load(archive)
    print(f"{digest}  {archive}: {reference}, {archive.stat().st_size / 2**20:.1f} MiB, of {', '.join(packages)}")
    print(f"loaded into {engine}" if engine else f"no working docker or podman: `ctr images import {archive}`")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
