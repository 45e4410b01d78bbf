# SPDX-License-Identifier: Apache-2.0
"""mge-dump pack and unpack."""

import json
import shutil
from pathlib import Path

import pytest

TOOL = "mge-dump"
DATA = Path(__file__).resolve().parents[1] / "data"
MODEL = DATA / "megengine/mlp.v2.mge"


@pytest.fixture
def key(tmp_path):
    file = tmp_path / "key"
    file.write_bytes(bytes(range(32)))
    return file


def test_pack_and_unpack(run_tool, tmp_path):
    packed, model, info = (tmp_path / name for name in ("m.lite", "m.mge", "m.json"))
    (tmp_path / "info.json").write_text(json.dumps({"author": "test"}))
    ran = run_tool(TOOL, "pack", MODEL, packed, "--info", tmp_path / "info.json", "--name", "net")
    assert ran.code == 0 and ran.result["packed"]["has_info"]
    assert ran.result["packed"]["bytes"] == packed.stat().st_size
    ran = run_tool(TOOL, "unpack", packed, model, "--info", info)
    assert ran.code == 0 and ran.result["parts"] == {"model": str(model), "info": str(info)}
    assert model.read_bytes() == MODEL.read_bytes()
    stored = json.loads(info.read_text().rstrip("\0"))
    assert stored["author"] == "test" and stored["name"] == "net"
    operators = run_tool(TOOL, "info", MODEL).result["operators"]
    assert run_tool(TOOL, "info", packed).result["operators"] == operators


def test_files_of_onnx(run_tool, tmp_path):
    """They go in as they are; a key hides them."""
    source = DATA / "onnx/torch_unet_ts.onnx"
    packed, key = tmp_path / "m.lite", tmp_path / "key"
    key.write_bytes(bytes(range(32)))
    for flags in ([], ["--cipher", "aes-256-gcm", "--key-file", key]):
        assert run_tool(TOOL, "pack", source, packed, *flags).code == 0
        ran = run_tool("load_and_run", packed, "--iter", 1, *flags[2:])
        assert ran.code == 0, ran.err
        back = tmp_path / "back.onnx"
        assert run_tool(TOOL, "unpack", packed, back, *flags[2:]).code == 0
        assert back.read_bytes() == source.read_bytes()


def test_cache_is_stored_in_the_file(run_tool, tmp_path):
    cache, packed = tmp_path / "cache.sqlite", tmp_path / "m.lite"
    run_tool("load_and_run", MODEL, "--fast-run", "--fast-run-algo-policy", cache, "--iter", 1)
    assert run_tool(TOOL, "pack", MODEL, packed, "--cache", cache).result["packed"]["has_cache"]
    assert run_tool(TOOL, "unpack", packed, "--cache", tmp_path / "back").code == 0
    assert (tmp_path / "back").read_bytes()


def test_the_packed_model_may_replace_the_model(run_tool, tmp_path):
    model = tmp_path / "m.mge"
    shutil.copy(MODEL, model)
    ran = run_tool("load_and_run", model, "--packed-model-dump", model, "--iter", 1)
    assert ran.code == 0, ran.err
    assert run_tool(TOOL, "unpack", model, tmp_path / "back").code == 0
    assert (tmp_path / "back").read_bytes() == MODEL.read_bytes()
    assert run_tool("load_and_run", model, "--iter", 1).code == 0


def test_the_original_is_packed_even_if_it_is_replaced(run_tool, tmp_path):
    model, packed = tmp_path / "m.mge", tmp_path / "m.lite"
    shutil.copy(MODEL, model)
    flags = ("--packed-model-dump", packed, "--layout-transform-dump", model, "--iter", 1)
    ran = run_tool("load_and_run", model, "--layout-transform", "cpu", *flags)
    assert ran.code == 0, ran.err
    assert run_tool(TOOL, "unpack", packed, tmp_path / "back").code == 0
    assert (tmp_path / "back").read_bytes() == MODEL.read_bytes()


def test_the_cache_that_a_run_fills_can_be_packed(run_tool, tmp_path):
    cache, packed = tmp_path / "cache.sqlite", tmp_path / "m.lite"
    flags = ("--fast-run-algo-policy", cache, "--packed-model-dump", packed, "--pack-cache", cache)
    ran = run_tool("load_and_run", MODEL, "--fast-run", *flags, "--iter", 1)
    assert ran.code == 0, ran.err
    assert run_tool(TOOL, "unpack", packed, "--cache", tmp_path / "back").code == 0


@pytest.mark.parametrize("cipher", ["AES_default", "RC4_default", "SIMPLE_FAST_RC4_default"])
def test_encrypted(run_tool, tmp_path, cipher):
    packed, model = tmp_path / "m.lite", tmp_path / "m.mge"
    (tmp_path / "info.json").write_text("{}")
    flags = ["--cipher", cipher, "--info-cipher", cipher, "--info", tmp_path / "info.json"]
    key = tmp_path / "key"
    key.write_bytes(bytes(range(32 if cipher.startswith("AES") else 16)))
    ran = run_tool(TOOL, "pack", MODEL, packed, *flags, "--key-file", key)
    assert ran.code == 0, ran.err
    assert ran.result["packed"]["model_cipher"] == cipher
    assert "warning" in ran.err  # these ciphers do not notice changes
    assert MODEL.read_bytes()[200:400] not in packed.read_bytes()
    assert run_tool(TOOL, "unpack", packed, model, "--key-file", key).code == 0
    assert model.read_bytes() == MODEL.read_bytes()
    key.write_bytes(bytes(len(key.read_bytes())))
    assert run_tool(TOOL, "unpack", packed, model, "--key-file", key).code in (5, 6)


def test_files_of_megengine(run_tool, tmp_path):
    ran = run_tool(TOOL, "unpack", DATA / "packed/mlp.packed.lite", tmp_path / "m.mge")
    assert ran.code == 0
    assert run_tool(TOOL, "info", tmp_path / "m.mge").result["summary"]["operators"] > 0


def test_usage(run_tool, tmp_path, key):
    ran = run_tool(TOOL, "pack", MODEL, tmp_path / "m.lite", "--key-file", key)
    assert ran.code == 2 and "--cipher" in ran.report["error"]["hint"]
    assert run_tool(TOOL, "pack", MODEL, tmp_path / "m.lite", "--cipher", "rot13").code == 2
    ran = run_tool(TOOL, "unpack", DATA / "packed/mlp.packed.lite")
    assert ran.code == 2 and "no output file is given" in ran.err
    ran = run_tool(TOOL, "unpack", DATA / "packed/mlp.packed.lite", "--cache", tmp_path / "c")
    assert ran.code == 0 and ran.result["parts"] in (
        {"cache": None},
        {"cache": str(tmp_path / "c")},
    )
    assert run_tool(TOOL, "unpack", MODEL, tmp_path / "m.mge").code == 5
