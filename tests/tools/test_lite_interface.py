# SPDX-License-Identifier: Apache-2.0
"""`load_and_run --lite` goes through MegEngine Lite's interface; what comes out is the graph's, bit
for bit, and so are errors and their exit codes."""

from pathlib import Path

import numpy as np
import pytest

DATA = Path(__file__).resolve().parents[1] / "data"
USAGE, FORMAT, MEMORY = 2, 5, 8
KEY = bytes(range(32))


@pytest.fixture
def both(run_tool, tmp_path):
    """The runs with --mdl and with --lite; they succeed, and their outputs are the same bytes."""

    def run(model, *args):
        runs, bits = [], []
        for flag in ("--mdl", "--lite"):
            file = tmp_path / f"out{flag}.npz"
            done = run_tool("load_and_run", model, flag, "--iter", 3, "--dump-outputs", file, *args)
            assert done.code == 0, done.err
            with np.load(file) as arrays:
                bits.append({name: arrays[name].tobytes() for name in arrays})
            runs.append(done)
        assert bits[0] and bits[0] == bits[1]
        return runs

    return run


@pytest.mark.parametrize(
    "args",
    [
        (),
        ("--input", "data:{5,3,16,12}"),
        ("--multithread", "2"),
        ("--streams", "2"),
        ("--thread", "2"),
        ("--fake-first",),
        ("--enable-nchw88",),
        ("--graph-opt-level=0",),
        ("--record-comp-seq2", "--no-sanity-check"),
        ("--force-output-use-user-specified-memory",),
        ("--force-output-dynamic-alloc",),
        ("--copy-to-host",),
        ("--const-shape",),
        ("--check-finite",),
    ],
    ids=" ".join,
)
def test_outputs_are_the_same(both, image_model, args):
    runs = both(image_model, *args)
    assert [done.result["interface"] for done in runs] == ["mdl", "lite"]
    assert runs[0].result["options"] == runs[1].result["options"]


def test_run_time_shapes(both, write_model):
    import megengine.functional as F

    x = np.array([[1, -2, 3], [-4, 5, 6]], "float32")
    model = write_model("chosen", lambda x: F.cond_take(x > 0, x)[0] * 2, {"x": x}, "y")
    both(model, "--input", "[[1,-2,3],[-4,5.0,-6]]")


def test_measured_times_are_kept_and_found(both, conv_net, write_model, tmp_path):
    function, image = conv_net
    cache = tmp_path / "cache.sqlite"
    model = write_model("conv", function, {"x": image}, "y")
    first, second = both(model, "--fast-run", "--fast-run-algo-policy", cache)
    sources = [{step["source"] for step in done.result["algorithms"]} for done in (first, second)]
    assert "measured" in sources[0] and "cache" in sources[1] and "measured" not in sources[1]


def test_a_packed_and_an_encrypted_model(both, run_tool, image_model, tmp_path):
    key, sealed, packed = (tmp_path / name for name in ("key", "sealed.mge", "packed.lite"))
    key.write_bytes(KEY)
    key.chmod(0o600)
    assert run_tool("mge-crypt", "encrypt", image_model, sealed, "--key-file", key).code == 0
    both(sealed, "--key-file", key)
    (tmp_path / "info.json").write_text('{"name": "image"}')
    done = run_tool("mge-dump", "pack", image_model, packed, "--info", tmp_path / "info.json")
    assert done.code == 0, done.err
    both(packed)
    both(DATA / "crypt/mlp.aes.mge", "--cipher", "AES_default")


def test_profile_and_values_inside(run_tool, image_model, tmp_path):
    for flag in ("--mdl", "--lite"):
        done = run_tool(
            "load_and_run", image_model, flag, "--profile", tmp_path / f"{flag}.json",
            "--bin-io-dump", tmp_path / flag,
        )  # fmt: skip
        assert done.code == 0, done.err
    assert (tmp_path / "--lite.json").stat().st_size > 0
    assert len(list((tmp_path / "--lite").iterdir())) > 3


@pytest.mark.parametrize("flag", ["--fitting", "--optimize-for-inference", "--share-param-mem"])
def test_missing_interface_calls(run_tool, image_model, flag):
    done = run_tool("load_and_run", image_model, "--lite", flag)
    assert done.code == USAGE
    assert f"--lite cannot be combined with {flag}" in done.err.replace("[--lite] ", "--lite ")


def test_errors_keep_their_codes(run_tool, image_model, tmp_path):
    broken = tmp_path / "broken.mge"
    broken.write_bytes(image_model.read_bytes()[:700])
    for model, args, code in (
        (broken, (), FORMAT),
        (image_model, ("--mem-limit", "1KiB"), MEMORY),
        (image_model, ("--input", "data:{1,4,8,6}"), USAGE),
        (tmp_path / "none.mge", (), USAGE),
    ):
        runs = [run_tool("load_and_run", model, flag, *args) for flag in ("--mdl", "--lite")]
        assert [done.code for done in runs] == [code, code], [done.err for done in runs]
