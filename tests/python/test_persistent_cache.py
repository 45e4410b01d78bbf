# SPDX-License-Identifier: Apache-2.0
"""Caches that persist after the process ends."""

import logging
import os
import subprocess
import sys
from pathlib import Path

import pytest

from megengine.utils.persistent_cache import PersistentCache, PersistentCacheOnServer

MEASURE = """
import numpy as np
import megengine as mge
import megengine.functional as F
mge.config.benchmark_kernel = True
F.conv2d(mge.Tensor(np.ones((1, 8, 9, 9), "float32")), mge.Tensor(np.ones((8, 8, 3, 3), "float32")))
"""


def run(folder, *arguments, **environment):
    result = subprocess.run(
        [sys.executable, *arguments],
        env={
            **os.environ,
            "MGE_FASTRUN_CACHE_TYPE": "FILE",
            "MGE_FASTRUN_CACHE_DIR": str(folder),
            "MGE_LOG": "dispatch",
            **environment,
        },
        capture_output=True,
        text=True,
        check=True,
    )
    return result.stdout + result.stderr


def clean(folder):
    return run(folder, "-m", "megengine.utils.persistent_cache", "clean")


def test_times_are_measured_once_per_machine(tmp_path):
    folder = tmp_path / "kept"
    assert "[measured]" in run(folder, "-c", MEASURE)
    assert (folder / "fastrun.sqlite").exists()
    printed = run(folder, "-c", MEASURE)
    assert "[cache]" in printed and "[measured]" not in printed
    assert int(clean(folder).split()[0]) > 1
    assert clean(folder) == "0 cache entries deleted\n"
    assert "[measured]" in run(folder, "-c", MEASURE)


def test_times_are_stored_for_the_tools(tmp_path):
    run("", "-c", MEASURE, XDG_CACHE_HOME=str(tmp_path))
    assert (tmp_path / "mge" / "fastrun.sqlite").exists()


def test_nothing_is_kept_on_request(tmp_path):
    for _ in range(2):
        assert "[measured]" in run(tmp_path, "-c", MEASURE, MGE_FASTRUN_CACHE_TYPE="MEMORY")
    assert not list(tmp_path.iterdir())


def test_other_file_is_not_modified(tmp_path):
    path = tmp_path / "fastrun.sqlite"
    path.write_bytes(b"something else" * 100)
    printed = run(tmp_path, "-c", MEASURE)
    assert "[measured]" in printed and str(path) in printed
    assert path.read_bytes() == b"something else" * 100
    run(tmp_path / "fastrun.sqlite" / "below", "-c", MEASURE)


@pytest.fixture
def in_files(monkeypatch, tmp_path):
    monkeypatch.setenv("MGE_FASTRUN_CACHE_TYPE", "FILE")
    monkeypatch.setenv("MGE_FASTRUN_CACHE_DIR", str(tmp_path / "kept"))
    monkeypatch.delenv("MGE_FASTRUN_CACHE_URL", raising=False)


def test_values_stay(in_files):
    cache = PersistentCacheOnServer()
    assert cache.config is None
    cache.put("a", "key", "value")
    cache.put("a", "key", "another")
    cache.put("b", "key", b"\x00")
    assert cache.config.type == "in-file"
    cache.flush()
    other = PersistentCacheOnServer()
    assert other.get("a", "key") == b"another" and other.get("b", "key") == b"\x00"
    assert other.get("a", "none") is None
    assert other.clean() == 2 and cache.get("a", "key") is None


def test_values_in_memory(monkeypatch):
    monkeypatch.setenv("MGE_FASTRUN_CACHE_TYPE", "MEMORY")
    cache = PersistentCacheOnServer()
    cache.put("a", "key", "value")
    assert cache.config.type == "in-memory" and cache.get("a", "key") == b"value"
    assert PersistentCacheOnServer().get("a", "key") is None


def test_the_next_place_is_taken(in_files, monkeypatch, tmp_path, caplog):
    monkeypatch.setattr(logging.getLogger("megengine.utils.persistent_cache"), "propagate", True)
    monkeypatch.setenv("MGE_FASTRUN_CACHE_URL", "redis://localhost:1")
    cache = PersistentCacheOnServer()
    cache.put("a", "key", "value")
    assert cache.config.type == "in-file" and "no cache on a server" in caplog.text
    (tmp_path / "kept" / "values.sqlite").write_bytes(b"no database" * 100)
    cache = PersistentCacheOnServer()
    assert cache.get("a", "key") is None and cache.config.type == "in-memory"
    with pytest.raises(RuntimeError, match="no usable place"):
        PersistentCache().get("a", "key")


def test_one_process_at_a_time(in_files):
    cache = PersistentCacheOnServer()
    folder = cache.get_cache_dir()
    with cache.lock_cache_file(folder):
        command = ["flock", "-n", os.path.join(folder, "cache.lock"), "true"]
        assert subprocess.run(command).returncode == 1
    assert subprocess.run(command).returncode == 0


def test_lock_wait_is_bounded(in_files, monkeypatch):
    monkeypatch.setattr("megengine.utils.persistent_cache._LOCK_SECONDS", 0.1)
    cache = PersistentCacheOnServer()
    folder = cache.get_cache_dir()
    with (
        cache.lock_cache_file(folder),
        pytest.raises(TimeoutError, match=r"has kept '.*cache.lock' locked for 0.1 s"),
        cache.lock_cache_file(folder),
    ):
        pass


def test_damaged_file_raises(in_files):
    cache = PersistentCacheOnServer()
    for i in range(100):
        cache.put("c", str(i), bytes(1000))
    path = cache.get_cache_file(cache.get_cache_dir())
    content = bytearray(Path(path).read_bytes())
    content[8192:] = b"x" * (len(content) - 8192)
    Path(path).write_bytes(content)
    damaged = PersistentCacheOnServer()
    for use in (lambda: damaged.get("c", "55"), lambda: damaged.put("c", "55", b"")):
        with pytest.raises(OSError, match=r"\[PersistentCache\].*malformed"):
            use()
