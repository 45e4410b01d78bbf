# SPDX-License-Identifier: Apache-2.0
"""mge-crypt as a process: its commands, where keys come from, what a refusal looks like."""

import os
import pty
import stat
import subprocess

import pytest

KEY = bytes(range(100, 132))
DATA = bytes(i * i % 251 for i in range(3_000_000))


@pytest.fixture
def files(tmp_path):
    (tmp_path / "plain").write_bytes(DATA)
    (tmp_path / "key").write_text(KEY.hex() + "\n")
    (tmp_path / "key").chmod(0o600)
    (tmp_path / "other").write_bytes(bytes(32))
    (tmp_path / "other").chmod(0o600)
    return tmp_path


@pytest.fixture
def crypt(run_tool, files):
    """crypt("encrypt", …) runs mge-crypt in the folder of the files."""

    def run(*args, **kwargs):
        return run_tool("mge-crypt", *args, cwd=files, **kwargs)

    return run


@pytest.fixture
def sealed(crypt, files):
    assert crypt("encrypt", "plain", "sealed", "--key-file", "key").code == 0
    return files / "sealed"


def test_encrypts_and_decrypts(crypt, files, sealed):
    assert DATA[:16] not in sealed.read_bytes()
    done = crypt("decrypt", "sealed", "opened", "--key-file", "key")
    assert done.code == 0 and done.err == ""
    assert (files / "opened").read_bytes() == DATA
    assert stat.S_IMODE((files / "opened").stat().st_mode) == 0o600
    assert done.result["cipher"] == "aes-256-gcm" and done.result["output_bytes"] == len(DATA)


def test_short_form(crypt, files):
    done = crypt("--aes", "plain", "sealed", "--key-file", "key")
    assert done.code == 0 and done.result["cipher"] == "aes-256-gcm"
    assert crypt("decrypt", "sealed", "opened", "--key-file", "key").code == 0
    assert (files / "opened").read_bytes() == DATA


def test_key_from_environment_and_descriptor(crypt, files, tool_path, sealed):
    done = crypt("decrypt", "sealed", "a", "--key-env", "MODEL_KEY", env={"MODEL_KEY": KEY.hex()})
    assert done.code == 0 and (files / "a").read_bytes() == DATA
    read, write = os.pipe()
    os.write(write, KEY)
    os.close(write)
    command = [tool_path("mge-crypt"), "decrypt", "sealed", "b", "--key-fd", str(read)]
    assert subprocess.run(command, cwd=files, pass_fds=[read]).returncode == 0
    assert (files / "b").read_bytes() == DATA


def at_terminal(command, cwd, typed):
    """Runs a command that asks at its terminal; returns exit code and what the terminal showed."""
    child, terminal = pty.fork()
    if child == 0:
        os.chdir(cwd)
        os.execv(command[0], command)
    shown = b""
    while b"hexadecimal: " not in shown:
        shown += os.read(terminal, 1000)
    os.write(terminal, typed)
    try:
        while part := os.read(terminal, 1000):
            shown += part
    except OSError:  # the other side is closed
        pass
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), shown


def test_key_typed_at_the_terminal(files, tool_path, sealed):
    command = [str(tool_path("mge-crypt")), "decrypt", "sealed", "opened"]
    code, shown = at_terminal(command, files, b"0" + b"\x7f" + KEY.hex().encode() + b"\r")
    assert code == 0, shown
    assert KEY.hex().encode() not in shown
    assert (files / "opened").read_bytes() == DATA
    assert at_terminal(command, files, b"12\x03")[0] == 130


def test_without_a_key(files, tool_path, sealed):
    done = subprocess.run(
        [tool_path("mge-crypt"), "decrypt", "sealed", "opened"],
        cwd=files,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 6
    assert "needs a key for aes-256-gcm (key id" in done.stderr and "--key-file" in done.stderr


def test_missing_key_does_not_blame_the_output(files, tool_path):
    done = subprocess.run(
        [tool_path("mge-crypt"), "encrypt", "plain", "sealed"],
        cwd=files,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 6 and not (files / "sealed").exists()
    assert "no key was given for aes-256-gcm" in done.stderr and "--key-file" in done.stderr
    assert "'sealed' needs" not in done.stderr


def test_info_prints_public_fields(crypt, files, sealed):
    without = crypt("info", "sealed")
    assert without.result["chunk_bytes"] == 1 << 20 and without.result["content_bytes"] == len(DATA)
    assert not without.result["authenticated"] and len(without.result["key_id"]) == 32
    with_key = crypt("info", "sealed", "--key-file", "key")
    assert with_key.result["authenticated"]
    for done in (without, with_key):
        assert KEY.hex() not in done.out + done.err + str(done.report)
    assert crypt("info", "plain").result["format"] == "unknown"


def test_refuses_a_wrong_key_and_changes(crypt, files, sealed):
    good = sealed.read_bytes()
    chunk = (1 << 20) + 16
    first, second = good[96 : 96 + chunk], good[96 + chunk : 96 + 2 * chunk]
    changes = {
        "bit": good[:1000] + bytes([good[1000] ^ 1]) + good[1001:],
        "last bit": good[:-1] + bytes([good[-1] ^ 128]),
        "header": good[:50] + bytes([good[50] ^ 1]) + good[51:],
        "cut": good[:-1],
        "a chunk less": good[: 96 + 2 * chunk],
        "order": good[:96] + second + first + good[96 + 2 * chunk :],
        "empty": b"",
    }
    (files / "opened").write_bytes(b"old")
    for name, content in changes.items():
        sealed.write_bytes(content)
        for command in (["decrypt", "sealed", "opened"], ["rekey", "sealed", "opened"]):
            more = ["--new-key-file", "other"] if command[0] == "rekey" else []
            done = crypt(*command, "--key-file", "key", *more)
            assert done.code == 6, (name, done.err)
            assert done.report["error"]["kind"] == "crypto"
        assert crypt("info", "sealed", "--key-file", "key").code == 6
    sealed.write_bytes(good)
    done = crypt("decrypt", "sealed", "opened", "--key-file", "other")
    assert done.code == 6 and "wrong key" in done.err
    assert (files / "opened").read_bytes() == b"old"
    assert not list(files.glob("*.part.*"))


def test_weaker_format_is_refused(crypt, files):
    for cipher in ("AES_default", "RC4_default", "SIMPLE_FAST_RC4_default"):
        done = crypt("encrypt", "plain", "weak", "--cipher", cipher)
        assert done.code == 0 and not done.result["authenticated"]
        assert cipher in done.err and "is public" in done.err
        assert len(done.result["warnings"]) == 2
        assert crypt("decrypt", "weak", "opened", "--key-file", "key").code == 6
        assert crypt("decrypt", "weak", "opened", "--cipher", cipher).code == 0
        assert (files / "opened").read_bytes() == DATA
        assert crypt("info", "weak").result["cipher"] == cipher
    assert crypt("decrypt", "plain", "opened", "--key-file", "key").code == 6


def test_rekey(crypt, files, sealed):
    done = crypt("rekey", "sealed", "sealed", "--key-file", "key", "--new-key-file", "other")
    assert done.code == 0
    assert crypt("decrypt", "sealed", "opened", "--key-file", "key").code == 6
    assert crypt("decrypt", "sealed", "opened", "--key-file", "other").code == 0
    assert (files / "opened").read_bytes() == DATA
    crypt("encrypt", "plain", "weak", "--cipher", "AES_default")
    done = crypt("rekey", "weak", "strong", "--cipher", "AES_default", "--new-key-file", "key")
    assert done.code == 0 and done.result["cipher"] == "aes-256-gcm"
    assert crypt("decrypt", "strong", "opened", "--key-file", "key").code == 0
    assert (files / "opened").read_bytes() == DATA


def test_keygen(crypt, files):
    done = crypt("keygen", "new")
    text = (files / "new").read_text()
    assert len(bytes.fromhex(text)) == 32 and stat.S_IMODE((files / "new").stat().st_mode) == 0o600
    assert text.strip() not in done.out + done.err + str(done.report)
    assert crypt("keygen", "new").code == 2 and (files / "new").read_text() == text
    assert crypt("keygen", "new", "--force").code == 0 and (files / "new").read_text() != text
    assert crypt("keygen", "rc4", "--cipher", "RC4_default").result["key_bytes"] == 16
    assert crypt("encrypt", "plain", "weak", "--cipher=RC4_default", "--key-file", "rc4").code == 0
    done = crypt("decrypt", "weak", "opened", "--cipher=RC4_default", "--key-file", "rc4")
    assert done.code == 0 and (files / "opened").read_bytes() == DATA


def test_keygen_keeps_links_to_folders_and_devices(crypt, files):
    (files / "folder").mkdir()
    for target, code in (("folder", 2), ("/dev/null", 0)):
        (files / "link").symlink_to(target)
        assert crypt("keygen", "link").code == code, target
        assert os.readlink(files / "link") == target
        (files / "link").unlink()


def test_usage(crypt, files, sealed):
    assert crypt("decrypt", "missing", "opened", "--key-file", "key").code == 2
    assert crypt("decrypt", "sealed", "opened", "--key-file", "missing").code == 2
    assert crypt("decrypt", "sealed", "opened", "--key-env", "NO_SUCH_VARIABLE").code == 2
    assert crypt("decrypt", "sealed", "opened", "--key", KEY.hex()).code == 2
    both = crypt("decrypt", "sealed", "opened", "--key-file", "key", "--key-env", "X")
    assert both.code == 2
    assert crypt("encrypt", "plain", "x", "--cipher", "rot13", "--key-file", "key").code == 2
    short = crypt("decrypt", "sealed", "opened", "--key-env", "K", env={"K": "abc"})
    assert short.code == 6 and "a key has 32 bytes" in short.err and "abc" not in short.err
    (files / "key").chmod(0o644)
    done = crypt("decrypt", "sealed", "opened", "--key-file", "key")
    assert done.code == 0 and "other users can read the key file" in done.err


def test_cache_has_the_usual_errors(crypt, files):
    import sqlite3

    with sqlite3.connect(files / "cache.sqlite") as database:
        database.execute("CREATE TABLE t (x)")
        database.execute("INSERT INTO t VALUES (42)")
    database.close()
    assert "SQLite" in crypt("info", "cache.sqlite").result["format"]
    assert crypt("encrypt", "cache.sqlite", "sealed.cache", "--key-file", "key").code == 0
    assert crypt("decrypt", "sealed.cache", "opened.sqlite", "--key-file", "key").code == 0
    with sqlite3.connect(files / "opened.sqlite") as database:
        assert database.execute("SELECT x FROM t").fetchone() == (42,)
    database.close()


def test_disk_full_leaves_nothing(crypt, files):
    done = crypt("encrypt", "plain", "/dev/full", "--key-file", "key")
    assert done.code == 2 and "No space left" in done.err
