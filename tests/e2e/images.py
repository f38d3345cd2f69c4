"""The stand-in image of every pod: BusyBox with all its commands, under the name that log collectors use by default.

No registry is reached: pods use it with imagePullPolicy Never, or IfNotPresent as log collectors do.
"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from tests.cluster import binaries
from tests.cluster.image import write_image

REFERENCE = "docker.io/library/busybox:1.37"
NAME = "busybox:1.37"


def write_stand_in(folder: Path) -> Path:
    """The archive of the image, below the empty *folder*. Installs BusyBox if need be; raises binaries.BuildError."""
    binaries.install_tools({"busybox": "busybox-static"})
    busybox = Path(str(shutil.which("busybox"))).resolve()
    commands = folder / "bin"
    commands.mkdir()
    shutil.copy(busybox, commands / "busybox")
    listed = subprocess.run([busybox, "--list"], capture_output=True, text=True, check=True, timeout=30).stdout.split()
    for name in listed:
        if name != "busybox":
            (commands / name).symlink_to("busybox")
    archive = folder / "busybox.tar"
    write_image(archive, REFERENCE, ["/bin/sh"], {"/bin": commands})
    return archive
