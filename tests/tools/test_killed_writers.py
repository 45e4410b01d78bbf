# SPDX-License-Identifier: Apache-2.0
"""Tools that are killed at any moment: what they write is the old file or the new one, whole.

MGE_NIGHTLY=1 kills more of them.
"""

import json
import os
import random
import signal
import subprocess
import time
import zipfile
from pathlib import Path

import pytest

DATA = Path(__file__).resolve().parents[1] / "data"
KILLS = 100 if os.environ.get("MGE_NIGHTLY") == "1" else 5
KEY = ("--key-file", "key")


def is_report(content):
    return isinstance(json.loads(content), dict)


def is_archive(content, folder):
    (folder / "seen.npz").write_bytes(content)
    with zipfile.ZipFile(folder / "seen.npz") as archive:
        return archive.testzip() is None and bool(archive.namelist())


@pytest.fixture
def folder(tmp_path, run_tool):
    """With a plain model, the same encrypted, and a key."""
    (tmp_path / "key").write_bytes(bytes(range(32)))
    (tmp_path / "key").chmod(0o600)
    for command in (
        ("mge-dump", "convert", DATA / "megengine/resnet.v2.mge", "plain.mge"),
        ("mge-crypt", "encrypt", "plain.mge", "sealed.mge", *KEY),
    ):
        done = run_tool(*command, cwd=tmp_path)
        assert done.code == 0, done.err
    return tmp_path


def killed_at_random(command, folder, written):
    """Kills the command again and again, which starts anew from the old file each time.

    Gives what was found in the place of `written`, but for what was there before.
    """
    place = folder / written
    old = place.read_bytes()
    start = time.monotonic()
    subprocess.run(command, cwd=folder, check=True, capture_output=True)
    seconds = time.monotonic() - start
    found = [place.read_bytes()]
    for _ in range(KILLS):
        place.write_bytes(old)
        running = subprocess.Popen(
            command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        time.sleep(random.uniform(0, 1.1 * seconds))
        running.send_signal(signal.SIGKILL)
        running.wait()
        now = place.read_bytes()
        if now != old:
            found.append(now)
    return found


@pytest.mark.parametrize(
    "command",
    [
        ("mge-dump", "convert", "plain.mge", "old"),
        ("mge-dump", "optimize", "plain.mge", "old"),
        ("mge-dump", "pack", "plain.mge", "old"),
        ("mge-crypt", "decrypt", "sealed.mge", "old", *KEY),
    ],
    ids=lambda command: " ".join(command[:2]),
)
def test_models(tool_path, folder, command):
    (folder / "old").write_bytes(b"what was there before" * 1000)
    new = killed_at_random([tool_path(command[0]), *command[1:]], folder, "old")
    assert len(set(new)) == 1


@pytest.mark.parametrize("command", ["encrypt", "rekey"])
def test_encrypted_files_are_authentic(tool_path, run_tool, folder, command):
    """In place, too; each is encrypted anew."""
    name = "plain.mge" if command == "encrypt" else "sealed.mge"
    more = ("--new-key-file", "key") if command == "rekey" else ()
    run = [tool_path("mge-crypt"), command, name, name, *KEY, *more]
    for content in killed_at_random(run, folder, name):
        (folder / name).write_bytes(content)
        info = run_tool("mge-crypt", "info", name, *KEY, cwd=folder)
        assert info.code == 0 and info.result["authenticated"]


def test_all_output_files_of_a_run(tool_path, folder):
    outputs = {"r.json": "--json", "p.json": "--profile", "plan": "--save-plan"}
    outputs |= {"o.npz": "--dump-outputs", "t.json": "--memory-timeline"}
    flags = [word for name, flag in outputs.items() for word in (flag, name)]
    command = [tool_path("load_and_run"), "plain.mge", "--iter", "3", *flags]
    for name in outputs:
        (folder / name).write_bytes(b"old")
    for name in outputs:
        for content in killed_at_random(command, folder, name):
            assert is_archive(content, folder) if name == "o.npz" else is_report(content)


def test_an_encrypted_cache(tool_path, run_tool, folder):
    """It is written whole for each problem: what was stored stays."""
    cache = ("mge-fastrun-cache", "build", "c.db", "plain.mge", "--threads", "1", *KEY)
    assert run_tool(*cache, cwd=folder).code == 0
    rows = run_tool("mge-fastrun-cache", "list", "c.db", *KEY, cwd=folder).result["rows"]
    batches = ",".join(str(n) for n in range(2, 1000))
    for _ in range(KILLS):
        running = subprocess.Popen(
            [tool_path(cache[0]), *cache[1:], "--batch", batches],
            cwd=folder,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        time.sleep(random.uniform(0, 0.5))
        running.send_signal(signal.SIGKILL)
        running.wait()
        listed = run_tool("mge-fastrun-cache", "list", "c.db", *KEY, cwd=folder)
        assert listed.code == 0 and listed.result["rows"] >= rows, listed.err
        assert run_tool("mge-fastrun-cache", "verify", "c.db", *KEY, cwd=folder).code == 0
        rows = listed.result["rows"]
