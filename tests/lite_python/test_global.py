# SPDX-License-Identifier: Apache-2.0
"""Functions of the process: ciphers, caches, log levels, devices, memory pairs."""

import importlib
import os
import subprocess
import sys

import numpy as np
import pytest

import megenginelite
from megenginelite import (
    LiteAlgoSelectStrategy,
    LiteConfig,
    LiteDeviceType,
    LiteGlobal,
    LiteLogLevel,
    LiteNetwork,
    decryption_func,
    get_log_level,
    set_log_level,
)

from .conftest import is_library_for_deployment, run, scores_of, tool


def test_version():
    assert len(megenginelite.version.split(".")) == 3
    assert all(part.isdigit() for part in megenginelite.version.split("."))


@pytest.mark.parametrize("module", ["tensor", "network", "utils", "global_setting"])
def test_modules_have_the_names_of_inner_modules(module):
    """Scripts import them from there, as MegEngine Lite's modules take all names of each other."""
    names = vars(importlib.import_module(f"megenginelite.{module}"))
    assert {"LiteTensor", "LiteTensorConcat", "LiteLayout", "LiteDataType", "LiteIOType"} <= set(
        names
    )
    if module != "tensor":
        assert {"LiteBackend", "LiteLogLevel", "LiteAlgoSelectStrategy", "MAX_DIM"} <= set(names)


def test_log_levels():
    before = get_log_level()
    for level in LiteLogLevel:
        set_log_level(level)
        assert get_log_level() == level
    set_log_level(before)
    with pytest.raises(RuntimeError):
        set_log_level(7)


def test_devices():
    assert LiteGlobal.get_device_count(LiteDeviceType.LITE_CPU) > 0
    assert LiteGlobal.get_device_count(LiteDeviceType.LITE_CUDA) >= 0
    assert LiteGlobal.get_device_count(LiteDeviceType.LITE_NPU) == 0


def test_models_that_mge_crypt_has_encrypted(models, image, expected, tmp_path):
    key, sealed = tmp_path / "key", tmp_path / "sealed"
    key.write_bytes(bytes(range(32)))
    key.chmod(0o600)
    tool("mge-crypt", "encrypt", models / "net.mge", sealed, "--key-file", key)
    LiteGlobal.update_decryption_key("aes-256-gcm", bytes(32))
    with pytest.raises(RuntimeError, match="wrong key"):
        LiteNetwork().load(sealed)
    LiteGlobal.update_decryption_key("aes-256-gcm", key.read_bytes())
    np.testing.assert_array_equal(scores_of(LiteNetwork(), sealed, image), expected)
    with pytest.raises(RuntimeError):
        LiteGlobal.update_decryption_key("aes-256-gcm", bytes(16))


def test_custom_cipher(models, image, expected, tmp_path):
    @decryption_func
    def exclusive_or(in_arr, key_arr, out_arr):
        if not out_arr:
            return in_arr.size
        for i in range(in_arr.size):
            out_arr[i] = in_arr[i] ^ key_arr[i % key_arr.size]
        return out_arr.size

    key = [15, 3, 99]
    plain = np.frombuffer((models / "two.mge").read_bytes(), np.uint8)
    hidden = plain ^ np.resize(np.array(key, np.uint8), plain.size)
    LiteGlobal.register_decryption_and_key("own_xor", exclusive_or, key)
    with pytest.raises(RuntimeError, match="own_xor"):
        LiteGlobal.register_decryption_and_key("own_xor", exclusive_or, key)
    config = LiteConfig()
    config.bare_model_cryption_name = "own_xor"
    network = LiteNetwork(config)
    network.load(hidden.tobytes())
    assert network.get_all_input_name() == ["a", "b"]
    LiteGlobal.update_decryption_key("own_xor", [1, 2])
    with pytest.raises(RuntimeError):
        LiteNetwork(config).load(hidden.tobytes())
    LiteGlobal.update_decryption_key("own_xor", key)
    LiteNetwork(config).load(hidden.tobytes())


def test_an_empty_key_is_a_key(models):
    keys = []

    @decryption_func
    def note(in_arr, key_arr, out_arr):
        keys.append(key_arr.tolist())
        if out_arr:
            out_arr[:] = in_arr
        return in_arr.size

    LiteGlobal.register_decryption_and_key("noting", note, np.array([1, 2], ">i4"))
    config = LiteConfig()
    config.bare_model_cryption_name = "noting"
    LiteNetwork(config).load(models / "two.mge")
    LiteGlobal.update_decryption_key("noting", [])
    LiteNetwork(config).load(models / "two.mge")
    assert keys[0] == [1, 2] and keys[-1] == []
    for cipher in ("AES_default", "RC4_default", "aes-256-gcm"):
        with pytest.raises(RuntimeError, match="has 0"):
            LiteGlobal.update_decryption_key(cipher, [])


@pytest.mark.parametrize("excess", [1, 2**40, -1])
def test_ciphers_that_write_another_length_than_announced(models, excess):
    @decryption_func
    def cipher(in_arr, key_arr, out_arr):
        return in_arr.size if not out_arr else in_arr.size + excess

    name = f"{excess} more"
    LiteGlobal.register_decryption_and_key(name, cipher, [1])
    config = LiteConfig()
    config.bare_model_cryption_name = name
    with pytest.raises(RuntimeError, match="has written"):
        LiteNetwork(config).load(models / "two.mge")


def test_cipher_exceptions_propagate_through_load(models):
    @decryption_func
    def cipher(in_arr, key_arr, out_arr):
        raise KeyError("no key server")

    LiteGlobal.register_decryption_and_key("raising", cipher, [1])
    config = LiteConfig()
    config.bare_model_cryption_name = "raising"
    network = LiteNetwork(config)
    with pytest.raises(KeyError, match="no key server"):
        network.load(models / "two.mge")


@pytest.mark.parametrize("cipher", ["AES_default", "RC4_default", "SIMPLE_FAST_RC4_default"])
def test_keys_of_other_lengths_are_refused_at_once(cipher):
    with pytest.raises(RuntimeError, match=cipher):
        LiteGlobal.update_decryption_key(cipher, [1, 2, 3])
    with pytest.raises(RuntimeError, match="no such"):
        LiteGlobal.update_decryption_key("no such", [1, 2, 3])


def test_measured_times_are_kept(models, tmp_path):
    code = f"""
from megenginelite import *
import numpy as np
LiteGlobal.set_persistent_cache({str(tmp_path / "cache")!r}, always_sync=True)
network = LiteNetwork()
network.set_network_algo_policy(LiteAlgoSelectStrategy.LITE_ALGO_PROFILE)
network.load({str(models / "net.mge")!r})
"""
    subprocess.run([sys.executable, "-c", code], check=True, env=os.environ)
    size = (tmp_path / "cache").stat().st_size
    assert size > 0
    subprocess.run([sys.executable, "-c", code], check=True, env=os.environ)
    LiteGlobal.dump_persistent_cache(tmp_path / "dumped")
    assert (tmp_path / "dumped").stat().st_size > 0
    (tmp_path / "wrong").write_text("no cache")
    with pytest.raises(RuntimeError, match="wrong"):
        LiteGlobal.set_persistent_cache(tmp_path / "wrong")


def test_dumping_before_any_cache_is_set(tmp_path):
    code = f"""
from megenginelite import LiteGlobal
LiteGlobal.dump_persistent_cache({str(tmp_path / "cache")!r})
LiteGlobal.set_persistent_cache({str(tmp_path / "cache")!r})
"""
    subprocess.run([sys.executable, "-c", code], check=True, env=os.environ)


def test_missing_build_features_are_reported(tmp_path):
    for use in (lambda: LiteGlobal.set_tensorrt_cache(tmp_path), LiteGlobal.dump_tensorrt_cache):
        with pytest.raises(RuntimeError, match="TensorRT"):
            use()
    with pytest.raises(RuntimeError, match="none.so"):
        LiteGlobal.set_loader_lib_path(tmp_path / "none.so")


def test_memory_pairs():
    cpu = LiteDeviceType.LITE_CPU
    LiteGlobal.register_memory_pair(4096, 81920, 256, cpu)
    assert LiteGlobal.lookup_physic_ptr(4096 + 200, cpu).value == 81920 + 200
    for address in (4096, 4096 + 255):
        with pytest.raises(RuntimeError):
            LiteGlobal.register_memory_pair(address, 0, 16, cpu)
    LiteGlobal.clear_memory_pair(4096, 81920, cpu)
    with pytest.raises(RuntimeError):
        LiteGlobal.lookup_physic_ptr(4096, cpu)


def test_free_memory_is_released(models, image, expected):
    network = LiteNetwork()
    scores_of(network, models / "net.mge", image)
    LiteGlobal.try_coalesce_all_free_memory()
    np.testing.assert_array_equal(run(network, image), expected)


def test_importing_needs_neither_numpy_nor_megengine():
    code = (
        "import sys, megenginelite; print([m for m in ('numpy', 'megengine') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout.strip() == "[]"


def test_missing_library_error_gives_the_remedy(tmp_path):
    for path, words in ((tmp_path / "none.so", "none.so"), (sys.executable, "LITE_LIB_PATH")):
        done = subprocess.run(
            [sys.executable, "-c", "import megenginelite"],
            env={**os.environ, "LITE_LIB_PATH": str(path)},
            capture_output=True,
            text=True,
        )
        assert done.returncode == 1 and "ImportError" in done.stderr and words in done.stderr


LOAD_SEALED = """
import sys
from megenginelite import LiteConfig, LiteNetwork

config = LiteConfig()
config.bare_model_cryption_name = sys.argv[2]
try:
    LiteNetwork(config).load(sys.argv[1])
except RuntimeError as error:
    print(error)
LiteNetwork(config).load(sys.argv[1])
"""


@pytest.mark.skipif(is_library_for_deployment(), reason="that library contains OpenSSL")
def test_without_openssl_dependent_functions_raise(tmp_path, models):
    (tmp_path / "libcrypto.so.3").write_bytes(b"")  # found before the real one
    paths = f"{tmp_path}:{os.environ.get('LD_LIBRARY_PATH', '')}"

    def load(cipher):
        return subprocess.run(
            [sys.executable, "-c", LOAD_SEALED, models / cipher, cipher],
            env={**os.environ, "LD_LIBRARY_PATH": paths},
            capture_output=True,
            text=True,
        )

    done = load("AES_default")
    assert done.returncode == 1
    for words in (done.stdout, done.stderr):
        assert "encrypted models need OpenSSL" in words and "libcrypto.so.3" in words
    done = load("RC4_default")
    assert done.returncode == 0, done.stderr


def test_policy_bits_combine():
    both = LiteAlgoSelectStrategy.LITE_ALGO_PROFILE | LiteAlgoSelectStrategy.LITE_ALGO_REPRODUCIBLE
    assert int(both) == 6


def test_a_cipher_is_a_function():
    with pytest.raises(TypeError, match="the decryption function is a function, got 3"):
        LiteGlobal.register_decryption_and_key("no function", 3, b"k")
