# SPDX-License-Identifier: Apache-2.0
"""docs/formats/encrypted.md, written again with `cryptography`: each side reads the other."""

import os
import struct

import pytest
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives import hashes, padding
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

MAGIC = b"\x89MGX\r\n\x1a\n"
KEY = bytes.fromhex("c0ffee" + 29 * "5a")
HEADER, ONLY_HEADER, CHUNK, LAST_CHUNK = 80, 0, 1, 2


def hkdf(key, salt, info, length):
    return HKDF(hashes.SHA256(), length, salt, info).derive(key)


def nonce(use, number):
    return bytes([0, 0, 0, use]) + struct.pack("<Q", number)


def seal(content, key, chunk_bytes=1 << 20):
    header = MAGIC + struct.pack("<IIIIQ", 1, 1, chunk_bytes, 96, len(content))
    header += hkdf(key, b"mge", b"key id", 16) + os.urandom(32)
    cipher = AESGCM(hkdf(key, header[48:], header, 32))
    chunks = [content[i : i + chunk_bytes] for i in range(0, len(content), chunk_bytes)] or [b""]
    sealed = header + cipher.encrypt(nonce(ONLY_HEADER, 0), b"", header)
    for number, chunk in enumerate(chunks):
        use = LAST_CHUNK if number == len(chunks) - 1 else CHUNK
        sealed += cipher.encrypt(nonce(use, number), chunk, None)
    return sealed


def unseal(file, key):
    header = file[:HEADER]
    version, cipher_id, chunk_bytes, header_bytes, length = struct.unpack("<IIIIQ", header[8:32])
    assert (header[:8], version, cipher_id, header_bytes) == (MAGIC, 1, 1, 96)
    assert header[32:48] == hkdf(key, b"mge", b"key id", 16)
    cipher = AESGCM(hkdf(key, header[48:], header, 32))
    assert cipher.decrypt(nonce(ONLY_HEADER, 0), file[HEADER:96], header) == b""
    content, at, number = b"", 96, 0
    while at < len(file):
        end = at + chunk_bytes + 16
        use = LAST_CHUNK if end >= len(file) else CHUNK
        content += cipher.decrypt(nonce(use, number), file[at:end], None)
        at, number = end, number + 1
    assert len(content) == length
    return content


@pytest.fixture
def crypt(run_tool, tmp_path):
    (tmp_path / "key").write_bytes(KEY)
    (tmp_path / "key").chmod(0o600)

    def run(command, *args):
        done = run_tool("mge-crypt", command, "in", "out", *args, cwd=tmp_path)
        assert done.code == 0, done.err

    return run


SIZES = [0, 1, 15, 16, 17, 1000, (1 << 20) - 1, 1 << 20, (1 << 20) + 1, 3 * (1 << 20) + 5]


@pytest.mark.parametrize("size", SIZES)
def test_both_sides_read_each_other(crypt, tmp_path, size):
    content = os.urandom(size)
    (tmp_path / "in").write_bytes(content)
    crypt("encrypt", "--key-file", "key")
    assert unseal((tmp_path / "out").read_bytes(), KEY) == content
    (tmp_path / "in").write_bytes(seal(content, KEY, chunk_bytes=1 << 20 if size % 2 else 1 << 16))
    crypt("decrypt", "--key-file", "key")
    assert (tmp_path / "out").read_bytes() == content


def test_description_is_refused(crypt, tmp_path):
    sealed = bytearray(seal(b"content", KEY))
    sealed[100] ^= 1
    with pytest.raises(InvalidTag):
        unseal(bytes(sealed), KEY)


def test_megengines_aes(crypt, tmp_path):
    """Compatible with MegEngine's script, `openssl enc -aes-256-cbc`."""
    key, iv, content = bytes(range(32)), os.urandom(16), os.urandom(1234)
    padder = padding.PKCS7(128).padder()
    padded = padder.update(content) + padder.finalize()
    encryptor = Cipher(algorithms.AES(key), modes.CBC(iv)).encryptor()
    file = iv + encryptor.update(padded) + encryptor.finalize() + struct.pack(">Q", len(content))
    (tmp_path / "in").write_bytes(file)
    crypt("decrypt", "--cipher", "AES_default")
    assert (tmp_path / "out").read_bytes() == content
    (tmp_path / "in").write_bytes(content)
    crypt("encrypt", "--cipher", "AES_default")
    file = (tmp_path / "out").read_bytes()
    decryptor = Cipher(algorithms.AES(key), modes.CBC(file[:16])).decryptor()
    unpadder = padding.PKCS7(128).unpadder()
    padded = decryptor.update(file[16:-8]) + decryptor.finalize()
    assert unpadder.update(padded) + unpadder.finalize() == content
    assert struct.unpack(">Q", file[-8:]) == (len(content),)
