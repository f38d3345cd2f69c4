"""What a user names to be read: files, pipes and standard input, each bounded, so that /dev/urandom costs 64 MiB and no more.

The one way in which commands and the process read what somebody has named. One thread. Errors: OSError, whose `strerror` says
why in words; EFBIG for what has more than the limit.
"""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from typing import BinaryIO, Final

LIMIT_BYTES: Final = 64 * 2**20  # of one file: 60 times what an object of the API server may have (etcd --max-request-bytes)
_MIB: Final = 2**20


def read_file(file: str | Path, limit_bytes: int = LIMIT_BYTES) -> bytes:
    """What *file* holds, which may be a pipe or a device. Raises OSError, also when it has more than *limit_bytes*."""
    with open(file, "rb") as stream:
        status = os.fstat(stream.fileno())
        if stat.S_ISREG(status.st_mode) and status.st_size > limit_bytes:
            raise _too_large(str(file), limit_bytes)
        return read_stream(stream, str(file), limit_bytes)


def read_stream(stream: BinaryIO, name: str, limit_bytes: int = LIMIT_BYTES) -> bytes:
    """What comes out of *stream* to its end. Raises OSError after *limit_bytes*, and reads one byte more at most."""
    found = bytearray()
    while len(found) <= limit_bytes:
        part = stream.read(min(_MIB, limit_bytes + 1 - len(found)))
        if not part:
            return bytes(found)
        found += part
    raise _too_large(name, limit_bytes)


def _too_large(name: str, limit_bytes: int) -> OSError:
    size = f"{limit_bytes // _MIB} MiB" if limit_bytes % _MIB == 0 else f"{limit_bytes} bytes"
    return OSError(errno.EFBIG, f"it is larger than {size}, the most that is read of one file", name)
