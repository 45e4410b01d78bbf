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


def test_a_reference_to_compare_with(tool, files):
    outputs(tool, files, "plain.mge", "--seed", "3")
    tool("mge-crypt", "encrypt", "out.npz", "sealed.npz", "--key-file", "key")
    for name in ("other", "wrong"):
        (files / name).write_bytes(name.encode().ljust(32))
        (files / name).chmod(0o600)
    tool("mge-crypt", "encrypt", "plain.mge", "other.mge", "--key-file", "other")

    def compare(model, *flags):
        return tool("load_and_run", model, "--seed", "3", "--iter", "1", "--compare", *flags)

    own = ["--key-file", "key"]
    for good in (
        ["sealed.mge", "sealed.mge", *own],  # the model's key serves both
        ["sealed.mge", "plain.mge", *own],
        ["sealed.mge", "out.npz", *own],
        ["sealed.mge", "sealed.npz", *own],
        ["sealed.mge", "sealed.npz", *own, "--first-diff"],
        ["sealed.mge", "other.mge", *own, "--compare-key-file", "other"],
        ["plain.mge", "sealed.mge", "--compare-key-file", "key"],
        ["plain.mge", "sealed.mge", "--compare-key-file", "key", "--first-diff"],
        ["plain.mge", "sealed.npz", "--compare-key-file", "key"],
    ):
        done = compare(*good)
        assert done.code == 0, (good, done.err)
        compared = done.result.get("compare") or done.result["first_diff"]
        assert compared["compared"] > 0, good
    # Errors before the run have no line of it.
    for bad in (
        ["plain.mge", "sealed.mge"],
        ["plain.mge", "sealed.npz", "--compare-key-file", "wrong"],
        ["sealed.mge", "other.mge", *own],
        ["plain.mge", "plain.mge", "--compare-key-file", "key"],
        ["plain.mge", "out.npz", "--compare-key-file", "key"],
    ):
        done = compare(*bad)
        assert done.code == 6 and len(done.err.splitlines()) == 1, (bad, done.err)
    without = tool("load_and_run", "plain.mge", "--compare-key-file", "key")
    assert without.code == 2 and "--compare REF" in without.err
    tool("mge-crypt", "encrypt", "key", "text.sealed", "--key-file", "key")
    neither = compare("sealed.mge", "text.sealed", *own)
    assert neither.code == 5 and "neither a model nor an .npz" in neither.err


def test_a_reference_in_a_format_of_megengine(tool):
    models = [DATA / "megengine/mlp.v2.mge", "--compare", DATA / "crypt/mlp.aes.mge"]
    done = tool("load_and_run", *models, "--compare-cipher", "AES_default")
    assert done.code == 0 and done.result["compare"]["passed"], done.err
    assert tool("load_and_run", *models, "--compare-cipher", "RC4_default").code == 6


PLAIN_CACHE = b"SQLite format 3"


def content_of_cache(tool, files, path):
    """The rows of an encrypted cache, which is unreadable without the key."""
    assert PLAIN_CACHE not in (files / path).read_bytes()
    info = tool("mge-crypt", "info", path, "--key-file", "key")
    assert info.code == 0 and info.result["authenticated"], info.err
    shown = tool("mge-fastrun-cache", "show", path, "--key-file", "key")
    assert shown.code == 0, shown.err
    return shown.result["rows"]


def test_an_encrypted_cache_is_written_encrypted(tool, files):
    fast = ["--fast-run-algo-policy", "new.db", "--cache-key-file", "key", "--iter", "1"]
    done = tool("load_and_run", "plain.mge", "--fast-run", *fast)
    assert done.code == 0, done.err
    first = content_of_cache(tool, files, "new.db")
    assert first
    # Measured times are found again, and new ones are added.
    again = tool("load_and_run", "plain.mge", *fast)
    assert again.code == 0 and "cache" in str(again.report["algorithms"])
    before = (files / "new.db").read_bytes()
    assert tool("load_and_run", "plain.mge", "--fast-run", *fast).code == 0
    assert (files / "new.db").read_bytes() == before, "nothing was measured"
    assert tool("load_and_run", "plain.mge", "--fast-run", "--batch-size=2", *fast).code == 0
    more = content_of_cache(tool, files, "new.db")
    keys = {(r["problem"], r["algorithm"]) for r in more}
    assert len(more) > len(first) and {(r["problem"], r["algorithm"]) for r in first} < keys
    assert [f.name for f in files.iterdir() if PLAIN_CACHE in f.read_bytes()] == []
    # The model's key serves for a cache that is there.
    own = ["sealed.mge", "--key-file", "key", "--fast-run-algo-policy", "new.db", "--iter", "1"]
    assert tool("load_and_run", *own, "--fast-run", "--batch-size=3").code == 0
    assert len(content_of_cache(tool, files, "new.db")) > len(more)


def test_writers_of_an_encrypted_cache_lose_nothing(tool, files, tool_path):
    command = [tool_path("load_and_run"), "plain.mge", "--fast-run", "--iter", "1"]
    command += ["--fast-run-algo-policy", "new.db", "--cache-key-file", "key", "--threads", "1"]
    running = [
        subprocess.Popen([*command, f"--batch-size={n}"], cwd=files, stdout=subprocess.DEVNULL)
        for n in (2, 3)
    ]
    assert [r.wait() for r in running] == [0, 0]
    assert content_of_cache(tool, files, "new.db")
    for n in (2, 3):
        flags = ["--fast-run-algo-policy", "new.db", "--cache-key-file", "key", "--threads", "1"]
        done = tool("load_and_run", "plain.mge", "--require-cache", f"--batch-size={n}", *flags)
        assert done.code == 0, done.err


def test_unwritable_cache_does_not_stop_runs(tool):
    flags = ["--fast-run", "--fast-run-algo-policy", "/proc/none/new.db", "--cache-key-file", "key"]
    done = tool("load_and_run", "plain.mge", *flags)
    assert done.code == 0 and "going on without it" in done.err
    assert "measured" in str(done.report["algorithms"])
    done = tool("load_and_run", "plain.mge", *flags[:-1], "missing")
    assert done.code == 2 and "missing" in done.err, "before anything is measured"


def test_the_cache_tool_and_encrypted_caches(tool, files):
    def cache_tool(command, *arguments, key="key", code=0):
        done = tool("mge-fastrun-cache", command, *arguments, "--key-file", key)
        assert done.code == code, (command, done.err)
        return done

    one = ["--threads", "1"]
    cache_tool("build", "a.db", "sealed.mge", *one)  # the cache's key serves for the model
    rows = content_of_cache(tool, files, "a.db")
    again = cache_tool("build", "a.db", "plain.mge", *one).result["runs"][0]
    assert again["measured"] == 0 and again["from_cache"] > 0
    assert cache_tool("list", "a.db").result["rows"] == len(rows)
    assert cache_tool("verify", "a.db").result["intact"]
    explained = cache_tool("explain", "a.db", "sealed.mge", *one).result["runs"][0]
    assert explained["misses"] == [] and explained["hits"] > 0
    assert cache_tool("export", "a.db", "rows.json").result["rows"] == len(rows)
    cache_tool("import", "b.db", "rows.json")
    cache_tool("build", "b.db", "plain.mge", "--batch", "2", *one)
    b = content_of_cache(tool, files, "b.db")
    assert len(b) > len(rows)
    tool("mge-fastrun-cache", "build", "plain.db", "plain.mge", "--batch", "3", *one)
    cache_tool("merge", "all.db", "a.db", "b.db", "plain.db")
    merged = content_of_cache(tool, files, "all.db")
    assert len(merged) > len(b)
    cache_tool("prune", "all.db", "--keep-fastest", "1")
    assert 0 < len(content_of_cache(tool, files, "all.db")) < len(merged)
    # An invalid file.
    (files / "other").write_bytes(bytes(32))
    (files / "other").chmod(0o600)
    before = (files / "a.db").read_bytes()
    for command in (["list", "a.db"], ["prune", "a.db", "--here"], ["build", "a.db", "plain.mge"]):
        assert "wrong key" in cache_tool(*command, key="other", code=6).err
        assert tool("mge-fastrun-cache", *command).code == 6
        assert (files / "a.db").read_bytes() == before
    assert "not encrypted" in cache_tool("list", "plain.db", code=6).err
    assert cache_tool("list", "none.db", code=2).err.count("does not exist") == 1
    plain = [f.name for f in files.iterdir() if PLAIN_CACHE in f.read_bytes()]
    assert set(plain) <= {"plain.db", "plain.db-wal"}


def test_other_sources_of_the_keys(tool):
    keys = {"CACHE_KEY": KEY.hex(), "MODEL_KEY": KEY.hex()}
    build = ["build", "a.db", "sealed.mge", "--threads", "1", "--key-env", "CACHE_KEY"]
    done = tool("mge-fastrun-cache", *build, "--model-key-env", "MODEL_KEY", env=keys)
    assert done.code == 0, done.err
    # With a key of its own a model has to be encrypted.
    build[2] = "plain.mge"
    plain = tool("mge-fastrun-cache", *build, "--model-key-env", "MODEL_KEY", env=keys)
    assert plain.code == 6


def test_packing_refuses_an_encrypted_cache(tool):
    built = ["build", "a.db", "plain.mge", "--threads", "1", "--key-file", "key"]
    assert tool("mge-fastrun-cache", *built).code == 0
    done = tool("mge-dump", "pack", "plain.mge", "packed.lite", "--cache", "a.db")
    assert done.code == 5 and "a.db' is encrypted" in done.err


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
    command += ["--json", "report.json", "--fast-run", "--fast-run-algo-policy", "new.db"]
    command += ["--cache-key-file", "key"]
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
    secrets += [PLAIN_CACHE, b"CREATE TABLE measurement"]
    assert len(secrets) > 20
    assert [s for s in secrets if s in seen] == []
    written = re.findall(
        r'openat\([^"]*"((?:\\x[0-9a-f]{2})*)", [^)]*O_(?:WRONLY|RDWR)', trace.read_text()
    )
    names = {bytes.fromhex(w.replace("\\x", "")).decode() for w in written}
    # "." is where files without a name are made.
    known = ("report.json", "new.db", "/dev/", "/proc/")
    assert all(n.startswith(known) for n in names - {".", "./"}), names
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
def test_memory_during_a_run(files, tool_path):
    """Neither key nor file in dumps; the model's own pages are left out of them."""
    command = [tool_path("load_and_run"), "sealed.mge", "--key-file", "key", "--duration", "3600"]
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
    deadline = time.monotonic() + 600
    while process.poll() is None and time.monotonic() < deadline:
        used = Path(f"/proc/{process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        if (int(used[11]) + int(used[12])) / ticks > 1:
            return
        time.sleep(0.05)
    pytest.fail("it does not run")
