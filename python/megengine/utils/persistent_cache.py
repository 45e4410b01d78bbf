# SPDX-License-Identifier: Apache-2.0
"""Persistent caches: times of algorithms, and small values by name.

With ``config.benchmark_kernel`` each problem is measured once per machine: the times are stored in
``fastrun.sqlite``, the file that the tools use, too. Environment variables select the place:

- ``MGE_FASTRUN_CACHE_TYPE``: ``FILE`` (the default), or ``MEMORY`` to store nothing.
- ``MGE_FASTRUN_CACHE_DIR``: the folder; by default the user's, which ``mge-fastrun-cache`` reads.

``python -m megengine.utils.persistent_cache clean`` forgets all of it.
"""

import argparse
import contextlib
import fcntl
import functools
import os
import sqlite3
import time
from collections.abc import Iterator
from typing import NamedTuple

from .. import _mge
from ..logger import get_logger

_TYPE, _FOLDER, _SERVER = (f"MGE_FASTRUN_CACHE_{name}" for name in ("TYPE", "DIR", "URL"))
_MEASURED, _VALUES, _LOCK = "fastrun.sqlite", "values.sqlite", "cache.lock"
_LOCK_SECONDS = 60  # that another process may keep the lock


def _folder() -> str | None:
    """Folder of the files; None if nothing can be stored."""
    if folder := os.environ.get(_FOLDER):
        return os.path.abspath(os.path.expanduser(folder))
    place = _mge.cache_folder()
    return place and os.path.join(place, "mge")


def _try_lock(file) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


@functools.cache
def _keeps(kind: str) -> bool:
    if kind not in ("FILE", "MEMORY"):
        get_logger(__name__).warning(
            "[%s] %r is neither FILE nor MEMORY; FILE is taken", _TYPE, kind
        )
    return kind != "MEMORY"


def _is_kept() -> bool:
    return _keeps(os.environ.get(_TYPE) or "FILE")


def _measured_path() -> str | None:
    folder = _folder() if _is_kept() else None
    return folder and os.path.join(folder, _MEASURED)


def keep_measurements() -> None:
    """Make this process store its measurements in the configured place, and use existing ones.

    A file that cannot be used is left unchanged, with a warning.
    """
    path = _measured_path()
    if path is not None:
        with contextlib.suppress(OSError):  # the cache reports the error
            os.makedirs(os.path.dirname(path), exist_ok=True)
    _mge.keep_measurements(path)


class CacheConfig(NamedTuple):
    """Place of the cached values."""

    type: str
    options: dict[str, str]


class PersistentCache:
    """Values by category and key.

    The first place of ``add_config`` that can be used is used, from the first ``get`` or ``put``.
    Every value is safe in its file, whatever becomes of the process, once ``put`` has returned;
    several processes may use one file.
    """

    def __init__(self):
        self._places: list[tuple[CacheConfig, str, str]] = []
        self._database: sqlite3.Connection | None = None
        self._config: CacheConfig | None = None

    @property
    def config(self) -> CacheConfig | None:
        """The place in use; None before the first use."""
        return self._config

    def add_config(self, type: str, options: dict[str, str], hint: str, failure: str) -> None:
        """Add a place, to be used where those before it fail.

        Args:
            type: ``"in-memory"``, or ``"in-file"`` with the option ``path``.
            options: of the place.
            hint: is logged when it is used.
            failure: is logged when it cannot be used.
        """
        self._places.append((CacheConfig(type, dict(options)), hint, failure))

    def _open(self) -> sqlite3.Connection:
        if self._database is None:
            for config, hint, failure in self._places:
                try:
                    self._database = _connected(config)
                except (OSError, ValueError, sqlite3.Error) as error:
                    get_logger(__name__).error("%s: %s", failure, error)
                    continue
                get_logger(__name__).debug(hint)
                self._config = config
                return self._database
            raise RuntimeError("[PersistentCache] there is no usable place: add_config")
        return self._database

    @contextlib.contextmanager
    def _used(self) -> Iterator[sqlite3.Connection]:
        database = self._open()
        try:
            with database:
                yield database
        except sqlite3.DatabaseError as error:
            raise OSError(f"[PersistentCache] {self._config}: {error}") from None

    def get(self, category: str, key: str) -> bytes | None:
        """A value; None if it is missing.

        Raises:
            RuntimeError: there is no usable place.
            OSError: it cannot be read.
        """
        query = "SELECT value FROM cached WHERE category = ? AND key = ?"
        with self._used() as database:
            row = database.execute(query, (category, key)).fetchone()
        return row and row[0]

    def put(self, category: str, key: str, value: str | bytes) -> None:
        """Keep a value, in the place of an older one.

        Raises:
            RuntimeError: there is no usable place.
            OSError: it cannot be written.
        """
        content = value.encode() if isinstance(value, str) else bytes(value)
        with self._used() as database:
            database.execute("REPLACE INTO cached VALUES (?, ?, ?)", (category, key, content))

    def clean(self) -> int:
        """Forget all values.

        Returns:
            Their number.
        Raises:
            RuntimeError: there is no usable place.
            OSError: they cannot be read or removed.
        """
        with self._used() as database:
            return database.execute("DELETE FROM cached").rowcount

    def flush(self) -> None:
        """No effect: ``put`` writes directly to the file."""


def _connected(config: CacheConfig) -> sqlite3.Connection:
    if config.type not in ("in-file", "in-memory"):
        raise ValueError(f"there are no caches of the type {config.type!r} here")
    path = config.options["path"] if config.type == "in-file" else ":memory:"
    database = sqlite3.connect(path, timeout=60, check_same_thread=False)
    database.execute(
        "CREATE TABLE IF NOT EXISTS cached (category TEXT, key TEXT, value BLOB,"
        " PRIMARY KEY (category, key)) WITHOUT ROWID"
    )
    return database


class PersistentCacheOnServer(PersistentCache):
    """The cache named by the environment. Server caches are not supported: with
    ``MGE_FASTRUN_CACHE_URL`` a file is used, and an error is logged.

    Example:
        >>> isinstance(PersistentCacheOnServer(), PersistentCacheOnServer)
        True
        >>> cache = PersistentCacheOnServer()
        >>> folder = cache.get_cache_dir()
        >>> os.path.dirname(cache.get_cache_file(folder)) == folder
        True
        >>> with cache.lock_cache_file(folder):
        ...     pass  # no other process is here
        >>> cache.get_redis_config() is None
        True
    """

    def __init__(self):
        super().__init__()
        if _is_kept():
            if server := self.get_redis_config():
                failed = "no cache on a server; the one in a file is used"
                self.add_config("redis", server, "", failed)
            with contextlib.suppress(FileNotFoundError):
                path = self.get_cache_file(self.get_cache_dir())
                self.add_config(
                    "in-file", {"path": path}, f"cache in {path}", f"no cache in {path}"
                )
        self.add_config("in-memory", {}, "cache in memory", "no cache in memory")

    def get_cache_dir(self) -> str:
        """The folder of the files, made where it is not there.

        Raises:
            OSError: it cannot be created; FileNotFoundError: this user has no folder for files.
        """
        folder = _folder()
        if folder is None:
            raise FileNotFoundError(f"this user has no place for files; set {_FOLDER} to a folder")
        os.makedirs(folder, exist_ok=True)
        return folder

    def get_cache_file(self, cache_dir: str) -> str:
        """The file of the values."""
        return os.path.join(cache_dir, _VALUES)

    @contextlib.contextmanager
    def lock_cache_file(self, cache_dir: str) -> Iterator[None]:
        """A context for one process at a time. Values do not need it: see ``put``.

        Raises:
            OSError: the lock file cannot be created.
            TimeoutError: another process has kept the lock for too long.
        """
        path, end = os.path.join(cache_dir, _LOCK), time.monotonic() + _LOCK_SECONDS
        with open(path, "w") as lock:
            while not _try_lock(lock):
                if time.monotonic() > end:
                    raise TimeoutError(
                        f"[lock_cache_file] another process has kept '{path}' locked for "
                        f"{_LOCK_SECONDS} s"
                    )
                time.sleep(0.02)
            yield

    def get_redis_config(self) -> dict[str, str] | None:
        """The value of ``MGE_FASTRUN_CACHE_URL``; None if it is not set."""
        url = os.environ.get(_SERVER)
        return {"url": url} if url else None

    def clean(self) -> int:
        """Forget all values and all measured times.

        Returns:
            The number of both.
        Raises:
            RuntimeError: the file of the times has another format.
        """
        path = _measured_path()
        count = _mge.forget_measurements(path) if path and os.path.exists(path) else 0
        return count + super().clean()


def main() -> None:
    """Run the program with this process's command line.

    Raises:
        SystemExit: the command line is wrong.
    Example:
        >>> import subprocess, sys
        >>> command = [sys.executable, "-m", "megengine.utils.persistent_cache", "--help"]
        >>> subprocess.run(command, check=True, capture_output=True, text=True).stdout[:6]
        'usage:'
    """
    parser = argparse.ArgumentParser(description="manage the persistent cache")
    actions = parser.add_subparsers(dest="action", required=True)
    actions.add_parser("clean", help="forget all measured times and values of this user")
    parser.parse_args()
    print(f"{PersistentCacheOnServer().clean()} cache entries deleted")


if __name__ == "__main__":
    main()
