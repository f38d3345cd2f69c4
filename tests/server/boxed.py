"""The image as a container runtime would run it, without one: unpacked, read-only, process 1, a user without rights."""

from __future__ import annotations

import io
import json
import tarfile
from pathlib import Path

# Read-only but for /tmp (the emptyDir of the manifests), no privileges to be gained.
SCRIPT = """\
set -e
mount --bind "$1" "$1"
mount -t proc proc "$1/proc"
if [ -n "$2" ]; then
    mount -t tmpfs -o mode=1777,nosuid,nodev tmpfs "$1/tmp"
    mkdir "$1/tmp/example" && mount --bind "$2" "$1/tmp/example"
fi
mount -o remount,bind,ro "$1"
cd "$1"
shift 2
exec env -i "$@"
"""


def unpack(archive: Path, folder: Path) -> dict[str, object]:
    """Unpack the image's layer to *folder*; its configuration (entry point, user, environment)."""
    with tarfile.open(archive) as outer:

        def member(name: str) -> bytes:
            found = outer.extractfile(name)
            assert found is not None
            return found.read()

        (manifest,) = json.loads(member("manifest.json"))
        (layer,) = manifest["Layers"]
        with tarfile.open(fileobj=io.BytesIO(member(layer))) as inner:
            inner.extractall(folder, filter="tar")
        config: dict[str, object] = json.loads(member(manifest["Config"]))["config"]
    return config


def command(root: Path, example: Path | None, config: dict[str, object], *arguments: str) -> list[str]:
    """The command that runs the image's entry point with *arguments* (as root).

    Its /tmp is writable and has *example* at /tmp/example; without an *example* nothing is writable.
    """
    variables, entry = config["Env"], config["Entrypoint"]
    assert isinstance(variables, list)
    assert isinstance(entry, list)
    box = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "sh", "-c", SCRIPT, "sh", str(root), str(example or "")]
    start = ["/usr/bin/setpriv", "--no-new-privs", "/usr/sbin/chroot", f"--userspec={config['User']}", str(root)]
    return [*box, *variables, *start, *entry, *arguments]
