# SPDX-License-Identifier: Apache-2.0
"""Numbers and values that users give: none is cut, wrapped or dropped without a word."""

import json

import numpy as np
import pytest

import megengine as mge
import megengine.functional as F
from megengine.jit import trace

USAGE = 2


@pytest.fixture(scope="module")
def identity(tmp_path_factory):
    """identity("int8") → a model that gives its input x of shape (2, 3) back, as (6,)."""
    folder = tmp_path_factory.mktemp("identity")

    def dump(dtype):
        path = folder / f"{dtype}.mge"
        if not path.exists():
            traced = trace(symbolic=True, capture_as_const=True)(lambda x: F.reshape(x, (6,)))
            traced(mge.Tensor(np.ones((2, 3), dtype)))
            traced.dump(str(path), arg_names=["x"], output_names=["y"])
        return path

    return dump


def one_error(ran):
    assert ran.code == USAGE, ran.err
    lines = [line for line in ran.err.splitlines() if not line.startswith("===")]
    assert len(lines) == 1 and len(lines[0]) < 300, ran.err
    return lines[0]


# Numbers of options


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (
            ["--percentile", "nan"],
            "--percentile: 'nan' is not a number: expected a number from 0 to 100",
        ),
        (["--percentile", "50,101"], "'101' is out of range: expected a number from 0 to 100"),
        (["--duration", "nan"], "'nan' is not a number: expected a number from 0 to 86400"),
        (["--rate", "nan"], "'nan' is not a number"),
        (["--rtol", "-1"], "--rtol: '-1' is out of range: expected a number of at least 0"),
        (["--rtol", "nan"], "'nan' is not a number: expected a number of at least 0"),
        (["--iter", "1e3"], "'1e3' is not an integer: expected an integer from 1 to 100000000"),
        (["--seed", "-1"], "'-1' is out of range: expected an integer of at least 0"),
        (
            ["--seed", "99999999999999999999999"],
            "is out of range: expected an integer of at least 0",
        ),
        (["--workspace-limit", "-1"], "'-1' is not a size"),
        (["--workspace-limit", "1MB2"], "'1MB2' is not a size"),
        (["--mem-limit", "0"], "'0' is not a size"),
        (["--json="], "'--json=' has no value"),
        (["--input=", "--iter", "1"], "'--input=' has no value"),
        (["--", "--iter"], "cannot open '--iter'"),
    ],
    ids=lambda v: " ".join(v) if isinstance(v, list) else "",
)
def test_numbers_are_as_a_whole_and_in_their_range(run_tool, small_model, flags, message):
    assert message in one_error(run_tool("load_and_run", small_model, *flags, json=False))


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (
            ["mge-profile", "show", "x", "--top", "-1"],
            "'-1' is out of range: expected an integer from 0",
        ),
        (
            ["mge-profile", "show", "x", "--min-time", "nan"],
            "'nan' is not a number: expected a number of at least 0",
        ),
        (
            ["mge-dump", "iodiff", "x", "y", "-e", "-1"],
            "'-1' is out of range: expected a number of at least 0",
        ),
        (["mge-dump", "testcase", "x", "y", "--data", "z", "--seed", "-1"], "an integer"),
        (["mge-dump", "--", "info", "x"], "'--' comes before the command"),
    ],
    ids=lambda v: " ".join(v) if isinstance(v, list) else "",
)
def test_numbers_of_other_tools(run_tool, command, message):
    assert message in one_error(run_tool(*command, json=False))


@pytest.mark.parametrize("limit", ["64 MiB", "64mb", "65536K", "67108864"])
def test_bytes_have_units(run_tool, small_model, limit):
    ran = run_tool("load_and_run", small_model, "--workspace-limit", limit, "--mem-limit", limit)
    assert ran.code == 0 and ran.result["options"]["workspace_limit"] == 64 << 20


def test_the_largest_seed(run_tool, small_model):
    assert run_tool("load_and_run", small_model, "--seed", 2**64 - 1).result["seed"] == 2**64 - 1


def test_percentiles_keep_their_digits(run_tool, small_model):
    ran = run_tool("load_and_run", small_model, "--percentile", "99.99999,100")
    assert set(ran.result["tests"][0]["percentiles_ms"]) == {"p99.99999", "p100"}
    assert "percentile(99.99999%)" in ran.out


def test_file_after_the_double_dash(run_tool, small_model, tmp_path):
    (tmp_path / "-odd.mge").write_bytes(small_model.read_bytes())
    ran = run_tool("mge-dump", "info", "--json", "r.json", "--", "-odd.mge", cwd=tmp_path)
    assert ran.code == 0


# Values of inputs


def given(run_tool, tmp_path, model, value):
    """The value read by the model; the error for an invalid one."""
    ran = run_tool(
        "load_and_run", model, "--iter", 1, "--input", value, "--dump-outputs", tmp_path / "y.npz"
    )
    if ran.code:
        return one_error(ran)
    return np.load(tmp_path / "y.npz")["y"].tolist()


@pytest.mark.parametrize(
    ("dtype", "value"),
    [
        ("uint8", "[-1,2,3,4,5,6]"),
        ("uint8", "[1,2,3,4,5,256]"),
        ("int8", "[[300.0,2,3],[1,2,3]]"),
        ("int32", "[1e10,2,3,4,5,6]"),
        ("float16", "[70000,2,3,4,5,6]"),
        ("float32", "[1e99,2,3,4,5,6]"),
        ("int8", "#rand(-1000,1000)"),
        ("float16", "#rand(-1e9,1e9)"),
    ],
)
def test_out_of_range_numbers(run_tool, identity, tmp_path, dtype, value):
    message = given(run_tool, tmp_path, identity(dtype), value)
    assert f"does not fit the input's dtype {dtype}" in message
    value = value.removeprefix("[").removesuffix("]") if "rand" in value else None
    if value:
        ran = run_tool("mge-dump", "testcase", identity(dtype), tmp_path / "t.mge", "--data", value)
        assert "does not fit" in one_error(ran)


def test_files_with_out_of_range_numbers(run_tool, identity, tmp_path):
    np.save(tmp_path / "x.npy", np.array([[300, -1, 5], [1, 2, 3]], "int16"))
    entry = {"shape": [2, 3], "type": "int8", "raw": [1, 2, 3, 4, 5, 128]}
    (tmp_path / "x.json").write_text(json.dumps({"x": entry}))
    for file in ("x.npy", "x.json"):
        message = given(run_tool, tmp_path, identity("int8"), f"x:{tmp_path / file}")
        assert "does not fit the input's dtype int8" in message
    assert given(run_tool, tmp_path, identity("int32"), f"x:{tmp_path}/x.npy")[0] == 300
    data = ("--data", tmp_path / "x.npy")
    ran = run_tool("mge-dump", "testcase", identity("int8"), tmp_path / "t.mge", *data)
    assert "[--data] the number 300 does not fit the input's dtype int8" in one_error(ran)


def test_extremes_fit(run_tool, identity, tmp_path):
    for dtype in ("int8", "uint8", "int16", "uint16", "int32"):
        low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
        np.save(tmp_path / "x.npy", np.array([[low, high, 0], [1, 1, 1]], dtype))
        got = given(run_tool, tmp_path, identity(dtype), f"x:{tmp_path}/x.npy")
        assert got[:2] == [low, high]
    assert given(run_tool, tmp_path, identity("float16"), "[65504,-65504,0,0,0,0]")[0] == 65504


def test_blanks_and_cases(run_tool, identity, tmp_path):
    x = np.arange(6, dtype="float32").reshape(2, 3)
    np.save(tmp_path / "a b.npy", x)
    (tmp_path / "a b.npy").rename(tmp_path / "A B.NPY")
    model = identity("float32")
    assert given(run_tool, tmp_path, model, f" x : {tmp_path}/A B.NPY ") == x.ravel().tolist()


def test_the_other_extents_of_random_numbers(run_tool, identity, tmp_path):
    model = identity("float32")
    whole = given(run_tool, tmp_path, model, "#rand(0,1)")
    for value in ("#rand(0,1,...)", "#rand(0, 1, 2, ...)", "x:#rand(0,1,2,3)"):
        assert given(run_tool, tmp_path, model, value) == whole


def test_an_input_is_given_once(run_tool, identity, tmp_path):
    message = given(run_tool, tmp_path, identity("float32"), "x:1,2,3,4,5,6;x:#rand(0,1)")
    assert "the input 'x' is given twice" in message


# Names from files


def test_names_with_control_characters_break_no_line(run_tool, tmp_path):
    name = "a\n\x1b[31mb\x7fé"
    traced = trace(symbolic=True, capture_as_const=True)(lambda x, longer: x + longer)
    traced(mge.Tensor(1.0), mge.Tensor(2.0))
    traced.dump(str(tmp_path / "odd.mge"), arg_names=[name, "longer name"], output_names=["y"])
    message = one_error(run_tool("load_and_run", tmp_path / "odd.mge", "--input", "z:1"))
    assert r"a\n\x1b[31mb\x7fé" in message
    ran = run_tool("mge-dump", "info", tmp_path / "odd.mge")
    assert "\x1b" not in ran.out and ran.result["inputs"][0]["name"] == name
    lines = ran.out.splitlines()[:3]
    assert len({line.index("float32") for line in lines[1:]}) == 1, "columns stand below each other"
