# SPDX-License-Identifier: Apache-2.0
"""Encrypted models and caches in the other tools, and what of them may be seen from outside."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

DATA = Path(__file__).resolve().parents[1] / "data"
KEY = bytes((i * 37 + 11) % 256 for i in range(32))


@pytest.fixture
def files(tmp_path, run_tool):
    (tmp_path / "key").write_bytes(KEY)
    (tmp_path / "key").chmod(0o600)
    done = run_tool(
        "mge-dump", "convert", DATA / "megengine/resnet.v2.mge", "plain.mge", cwd=tmp_path
    )
    assert done.code == 0, done.err
    run_tool("mge-crypt", "encrypt", "plain.mge", "sealed.mge", "--key-file", "key", cwd=tmp_path)
    return tmp_path


@pytest.fixture
def tool(run_tool, files):
    def run(name, *args, **kwargs):
        return run_tool(name, *args, cwd=files, **kwargs)

    return run


def outputs(tool, files, *args, **kwargs):
    done = tool("load_and_run", *args, "--dump-outputs", "out.npz", **kwargs)
    assert done.code == 0, done.err
    return (files / "out.npz").read_bytes()


def test_load_and_run_opens_them(tool, files):
    expected = outputs(tool, files, "plain.mge")
    assert outputs(tool, files, "sealed.mge", "--key-file", "key") == expected
    for file in ("mlp.aes.mge", "mlp.rc4.mge", "mlp.simple_fast_rc4.mge"):
        cipher = {"aes": "AES", "rc4": "RC4"}.get(
            file.split(".")[1], "SIMPLE_FAST_RC4"
        ) + "_default"
        same = outputs(tool, files, DATA / "crypt" / file, "--cipher", cipher)
        assert same == outputs(tool, files, DATA / "megengine/mlp.v2.mge")
    for file in (
        "mlp.packed.lite",
        "mlp.packed_aes.lite",
        "mlp.packed_rc4.lite",
        "mlp.by_mge.lite",
    ):
        same = outputs(tool, files, DATA / "packed" / file)
        assert same == outputs(tool, files, DATA / "megengine/mlp.v2.mge")


def test_several_loads_share_a_key_that_is_read_once(tool, files):
    expected = outputs(tool, files, "plain.mge")
    hexadecimal = {"MODEL_KEY": KEY.hex()}
    threads = ["--key-env", "MODEL_KEY", "--thread", "2"]
    assert outputs(tool, files, "sealed.mge", *threads, env=hexadecimal) == expected


def test_other_tools_open_them(tool, files):
    assert tool("mge-dump", "info", "sealed.mge", "--key-file", "key").code == 0
    assert tool("mge-dump", "convert", "sealed.mge", "again.mge", "--key-file", "key").code == 0
    assert tool("mge-dump", "convert", "plain.mge", "same.mge").code == 0
    assert (files / "again.mge").read_bytes() == (files / "same.mge").read_bytes()


def test_refusals(tool, files):
    (files / "other").write_bytes(bytes(32))
    (files / "other").chmod(0o600)
    for name, command in (("load_and_run", []), ("mge-dump", ["info"])):
        wrong = tool(name, *command, "sealed.mge", "--key-file", "other")
        assert wrong.code == 6 and "wrong key" in wrong.err
        plain = tool(name, *command, "plain.mge", "--key-file", "key")
        assert plain.code == 6 and "is not encrypted, although" in plain.err
    sealed = bytearray((files / "sealed.mge").read_bytes())
    for at in (20, 60, 90, 100, len(sealed) // 2, len(sealed) - 1):
        changed = bytearray(sealed)
        changed[at] ^= 1
        (files / "changed.mge").write_bytes(changed)
        assert tool("load_and_run", "changed.mge", "--key-file", "key").code == 6, at


def test_an_encrypted_cache(tool, files):
    measured = tool("load_and_run", "plain.mge", "--fast-run", "--fast-run-algo-policy", "cache.db")
    assert measured.code == 0, measured.err
    tool("mge-crypt", "encrypt", "cache.db", "sealed.db", "--key-file", "key")
    before = (files / "sealed.db").read_bytes()
    policy = ["--fast-run-algo-policy", "sealed.db"]
    chosen = [
        tool("load_and_run", "sealed.mge", "--key-file", "key", *policy),
        tool("load_and_run", "plain.mge", "--cache-key-file", "key", *policy),
        tool("load_and_run", "plain.mge", "--fast-run-algo-policy", "cache.db"),
    ]
    assert [c.code for c in chosen] == [0, 0, 0], [c.err for c in chosen]
    assert len({str(c.report["algorithms"]) for c in chosen}) == 1
    assert "cache" in str(chosen[0].report["algorithms"])
    assert (files / "sealed.db").read_bytes() == before
    (files / "other").write_bytes(bytes(32))
    wrong = tool("load_and_run", "plain.mge", "--cache-key-file", "other", *policy)
    assert wrong.code == 6
    plain = ["--fast-run-algo-policy", "cache.db", "--cache-key-file", "key"]
    assert tool("load_and_run", "plain.mge", *plain).code == 6


def pieces(content, count=40, length=24):
    """Pieces of content that cannot be anywhere by chance."""
    step = max(1, len(content) // count)
    found = [content[i : i + length] for i in range(0, len(content) - length, step)]
    return [p for p in found if len(set(p)) > length // 2]


@pytest.mark.skipif(not shutil.which("strace"), reason="needs strace")
def test_nothing_secret_is_written(files, tool_path):
    """Every byte that the process writes, anywhere, and every argument of its system calls."""
    trace = files / "trace"
    calls = "write,pwrite64,writev,pwritev,sendto,sendmsg,execve,openat,memfd_create,rename"
    command = [tool_path("load_and_run"), "sealed.mge", "--key-file", "key", "--verbose"]
    command += ["--json", "report.json"]
    done = subprocess.run(
        ["strace", "-f", "-xx", "-s", "100000000", "-e", f"trace={calls}", "-o", trace, *command],
        cwd=files,
        capture_output=True,
        env={**os.environ, "MGE_LOG": "all", "XDG_CACHE_HOME": str(files)},
    )
    if b"Operation not permitted" in done.stderr:
        pytest.skip("strace may not trace here")
    assert done.returncode == 0, done.stderr
    seen = b"".join(
        bytes.fromhex(text.replace("\\x", ""))
        for text in re.findall(r'"((?:\\x[0-9a-f]{2})*)"', trace.read_text())
    )
    assert b"report.json" in seen and b'"outputs"' in seen, "the trace has what is written"
    secrets = [KEY, KEY.hex().encode(), *pieces((files / "plain.mge").read_bytes()[4096:])]
    assert len(secrets) > 20
    assert [s for s in secrets if s in seen] == []
    written = re.findall(
        r'openat\([^"]*"((?:\\x[0-9a-f]{2})*)", [^)]*O_(?:WRONLY|RDWR)', trace.read_text()
    )
    names = {bytes.fromhex(w.replace("\\x", "")).decode() for w in written}
    assert all(n.startswith(("report.json", "/dev/", "/proc/")) for n in names), names
    for file in files.iterdir():
        if file.name not in ("key", "plain.mge", "trace"):
            assert [s for s in secrets if s in file.read_bytes()] == [], file


def readable_memory(process):
    """(content, flags) of each mapping of a process that is the program's own."""
    flags, place = {}, None
    for line in Path(f"/proc/{process}/smaps").read_text().splitlines():
        if match := re.match(r"([0-9a-f]+)-([0-9a-f]+) (r)", line):
            place = int(match[1], 16), int(match[2], 16)
        elif line.startswith("VmFlags:"):
            flags[place] = line.split()[1:]
    with open(f"/proc/{process}/mem", "rb", buffering=0) as memory:
        for (begin, end), words in flags.items():
            if "io" in words or "pf" in words:
                continue
            try:
                memory.seek(begin)
                yield memory.read(end - begin), words
            except (OSError, ValueError, OverflowError):
                continue


@pytest.mark.skipif("MGE_SANITIZED" in os.environ, reason="the sanitizer's own memory is terabytes")
def test_what_memory_holds_while_it_runs(files, tool_path):
    """Neither key nor file in dumps; the model's own pages are left out of them."""
    command = [tool_path("load_and_run"), "sealed.mge", "--key-file", "key", "--duration", "8"]
    running = subprocess.Popen(
        command, cwd=files, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    )
    try:
        plain = (files / "plain.mge").read_bytes()
        wait_until_it_runs(running)
        try:
            memory = list(readable_memory(running.pid))
        except PermissionError:
            pytest.skip("the memory of other processes may not be read here")
    finally:
        running.kill()
        running.communicate()
    assert len(memory) > 10
    for secret in (KEY, KEY.hex().encode()):
        assert sum(content.count(secret) for content, _ in memory) == 0
    start = plain[
        :64
    ]  # the file's header: the whole file, not weights that a kernel packed for itself
    holding = [words for content, words in memory if start in content]
    assert len(holding) == 1 and "dd" in holding[0]


def wait_until_it_runs(process):
    """Until it has used a second of processor time: it has read the model long before."""
    import time

    ticks = os.sysconf("SC_CLK_TCK")
    for _ in range(600):
        used = Path(f"/proc/{process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        if (int(used[11]) + int(used[12])) / ticks > 1:
            return
        time.sleep(0.05)
    pytest.fail("it does not run")
