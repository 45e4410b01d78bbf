# SPDX-License-Identifier: Apache-2.0
"""mge-dump testcase: what it writes, and what load_and_run makes of it."""

import numpy as np
import pytest

TOOL = "mge-dump"


def run_test_cases(run_tool, model):
    ran = run_tool("load_and_run", model, "--iter", 1)
    assert ran.code == 0
    return ran.result["testcases"]


def test_random_test_case(run_tool, two_inputs, tmp_path):
    out = tmp_path / "out.mge"
    assert run_tool(TOOL, "testcase", two_inputs, out, "--data", "#rand(-1,1)").code == 0
    (case,) = run_test_cases(run_tool, out)
    assert case["compared"] and case["passed"]


def test_seed(run_tool, two_inputs, tmp_path):
    def written(seed):
        out = tmp_path / "out.mge"
        run_tool(TOOL, "testcase", two_inputs, out, "--data", "#rand(-1,1)", "--seed", seed)
        return out.read_bytes()

    assert written(1) == written(1) != written(2)


def test_equal_random_test_cases_differ(run_tool, two_inputs, tmp_path):
    out, dump = tmp_path / "out.mge", tmp_path / "dump"
    data = ("--data", "#rand(-1,1)", "--data", "#rand(-1,1)")
    assert run_tool(TOOL, "testcase", two_inputs, out, *data).code == 0
    run_tool("load_and_run", out, "--iter", 1, "--bin-out-dump", dump)
    outputs = {file.read_bytes() for file in dump.iterdir()}
    assert len(outputs) == 2


def test_parts_by_name(run_tool, two_inputs, tmp_path):
    np.save(tmp_path / "b.npy", np.arange(3, dtype="float32"))
    out = tmp_path / "out.mge"
    data = f"b:{tmp_path}/b.npy;a:#rand(0,1,5,...)"
    ran = run_tool(TOOL, "testcase", two_inputs, out, "--data", data)
    assert [i["shape"] for i in ran.result["test_cases"][0]["inputs"]] == [[5, 3], [3]]
    assert run_test_cases(run_tool, out)[0]["passed"]


def test_list_of_test_cases_and_append(run_tool, two_inputs, tmp_path):
    (tmp_path / "list").write_text("#rand(0,1)\n\n#rand(2,3)\n")
    first, second = tmp_path / "1.mge", tmp_path / "2.mge"
    run_tool(TOOL, "testcase", two_inputs, first, "--data", f"@{tmp_path}/list")
    ran = run_tool(
        TOOL, "testcase", first, second, "--append", "--no-assert", "--data", "#rand(4,5)"
    )
    cases = run_test_cases(run_tool, second)
    assert [c["compared"] for c in cases] == [True, True, False]
    assert [c["name"] for c in cases] == ["#rand(0,1)", "#rand(2,3)", "#rand(4,5)"]
    assert run_tool(TOOL, "testcase", first, second, "--data", "#rand(4,5)").code == ran.code == 0
    assert len(run_test_cases(run_tool, second)) == 1


@pytest.mark.parametrize(
    "data, message",
    [
        ("a:#rand(0,1)", "has 1 part, the model has 2 inputs"),
        ("a:#rand(0,1);z:#rand(0,1)", "no input 'z'"),
        ("a:#rand(0,1);a:#rand(0,1)", "given twice"),
        ("a:#rand(0,1,7);b:#rand(0,1)", "rank 1"),
        ("#rand(0,x)", "'x' is not a number"),
        ("#rand(2,1)", "2 is above 1"),
        ("#rand(0,1,...,3)", "last dimension"),
        ("a:/proc/nonexistent;b:#rand(0,1)", "/proc/nonexistent"),
        ("@/proc/nonexistent", "/proc/nonexistent"),
    ],
)
def test_bad_data(run_tool, two_inputs, tmp_path, data, message):
    ran = run_tool(TOOL, "testcase", two_inputs, tmp_path / "out.mge", "--data", data)
    assert ran.code == 2 and message in ran.err and len(ran.err.splitlines()) == 1
    assert not (tmp_path / "out.mge").exists()


def test_maxerr_is_kept_and_decides(run_tool, conv_model, tmp_path):
    out, other = tmp_path / "out.mge", tmp_path / "other.mge"
    data = ["--data", "#rand(-1,1)"]
    ran = run_tool(TOOL, "testcase", conv_model, out, *data, "--maxerr", "1e-3")
    assert ran.code == 0 and ran.result["test_cases"][0]["max_error"] == 1e-3
    # Another rewriting keeps it.
    assert run_tool(TOOL, "convert", out, other).code == 0
    ran = run_tool(TOOL, "info", other)
    assert ran.result["test_cases"][0]["max_error"] == 1e-3 and "largest error 0.001" in ran.out
    assert run_test_cases(run_tool, other)[0]["passed"]
    # Level 2 does not compute bit by bit what the plain graph did.
    assert run_tool(TOOL, "testcase", conv_model, out, *data, "--maxerr", "0").code == 0
    ran = run_tool("load_and_run", out, "--iter", 1)
    (case,) = ran.result["testcases"]
    assert (ran.code == 7) == (case["largest_error"] > 0)
    assert run_tool(TOOL, "testcase", conv_model, out, *data).code == 0
    assert "max_error" not in run_tool(TOOL, "info", out).result["test_cases"][0]
    for flags in (["--maxerr=-1"], ["--maxerr=nan"], ["--maxerr=1", "--no-assert"]):
        assert run_tool(TOOL, "testcase", conv_model, out, *data, *flags).code == 2, flags
