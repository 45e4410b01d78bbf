# SPDX-License-Identifier: Apache-2.0
"""``python -m megengine.tools.<name>``: doors to the tools, and programs of Python."""

import json
import os
import pickle
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from argparse import Namespace
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("megengine")

import megengine.functional as F
from megengine.jit import trace
from megengine.tools import svg_viewer
from megengine.tools.compare_binary_iodump import check, load_tensor_binary
from megengine.tools.load_network_and_run import _Maker, make_data_given_desc
from megengine.tools.native import find_tool


@pytest.fixture
def run(build_dir, tmp_path):
    def run(name, *arguments, code=0):
        result = subprocess.run(
            [sys.executable, "-m", f"megengine.tools.{name}", *map(str, arguments)],
            cwd=tmp_path,
            env={**os.environ, "MGE_TOOLS": str(build_dir / "bin")},
            capture_output=True,
            text=True,
        )
        assert result.returncode == code, result.stdout + result.stderr
        return result.stdout + result.stderr

    return run


@pytest.fixture
def model(tmp_path):
    @trace(symbolic=True, capture_as_const=True)
    def net(data, label):
        return F.exp(data) + label

    net(F.ones((2, 3)), F.ones((2, 3)))
    path = tmp_path / "net.mge"
    net.dump(str(path), arg_names=["data", "label"], output_names=["y"])
    return path


def test_load_network_and_run(run, model):
    for option in ("--calc-output-rms", "--output-name=y"):
        printed = run("load_network_and_run", model, "--iter", 2, "--warm-up", 1, option)
        assert "output_rms y:" in printed


def test_inputs_from_a_pickle(run, model, tmp_path):
    data = {"data": np.zeros((1, 3), "float32"), "label": np.full((1, 3), 2, "float32")}
    (tmp_path / "data.pkl").write_bytes(pickle.dumps(data))
    options = ("--load-input-data", "data.pkl", "--batchsize", 4)
    printed = run("load_network_and_run", model, *options, "--calc-output-rms")
    assert "output_rms y: 3" in printed


def test_inputs_by_rules(run, model):
    rules = "data:randint(low=0,high=1,size={});label:uniform(5, 5, {})"
    shapes = "data:4,2;label:4,2"
    options = ("--rng", rules, "--input-desc", shapes, "--calc-output-rms")
    assert "output_rms y: 6" in run("load_network_and_run", model, *options)


def test_the_batch_size_goes_before_other_shapes():
    args = Namespace(input_desc="x:1,2", rng="y:normal(size={})", batchsize=4, seed=0)
    inputs = {"x": ((9, 2), "float32"), "y": ((9,), "float16"), "z": ((), "int32")}
    made = make_data_given_desc(args, inputs)
    assert [made[name].shape for name in "xyz"] == [(4, 2), (4,), ()]


@pytest.mark.parametrize("option", ["--rng", "--input-desc", "--output-name"])
def test_names_that_the_model_does_not_have(run, model, option):
    printed = run("load_network_and_run", model, option, "wrong:2", code=1)
    assert "load_network_and_run: the model has no" in printed


@pytest.mark.parametrize(
    "rule", ["uniform(foo=1)", "__class__()", "nothing({})", "randint", "uniform(open('x'))"]
)
def test_only_numpy_generators_are_allowed(rule):
    with pytest.raises(ValueError):
        _Maker(0).make((2,), rule)


def test_the_log_of_a_run(run, model, tmp_path):
    run("load_network_and_run", model, "--log", "run.log", "--profile", "run.json")
    assert (tmp_path / "run.log").stat().st_size > 0
    fused = "fused_elementwise"
    assert "total device time" in run("profile_analyze", "run.json")
    assert fused in run("profile_analyze", "run.json", "--confluence", "-t", 1, "--type", fused)


def test_missing_options_are_reported(run, model):
    printed = run("load_network_and_run", model, "--embed-input", code=2)
    assert "--embed-input is not available" in printed


def test_exit_codes_are_the_tools(run, tmp_path):
    (tmp_path / "bad.mge").write_bytes(b"nothing")
    run("load_network_and_run", "bad.mge", code=5)
    run("profile_analyze", "nothing.json", code=2)


def test_network_visualize(run, model):
    printed = run("network_visualize", model, "--cal_flops", "--cal_params", "--logging_to_stdout")
    assert "flops stats" in printed and "param stats" in printed and "activations" not in printed
    assert "input has no effect" in run("network_visualize", model, "--load_input_data", "x")
    assert "network_visualize:" in run("network_visualize", "nothing.mge", code=1)


def test_network_visualize_for_tensorboard(run, model, tmp_path):
    pytest.importorskip("tensorboard")
    run("network_visualize", model, "--all")
    assert len(list((tmp_path / "log").iterdir())) == 1


def test_compare_binary_iodump(run, model, build_dir, tmp_path):
    for folder, value in (("a", 1), ("b", 1), ("c", 2)):
        (tmp_path / folder).mkdir()
        inputs = f"data:{{2,3}};label:[[{value},2,3],[4,5,6]]"
        command = [build_dir / "bin" / "load_and_run", model, "--iter", "1", "--input", inputs]
        subprocess.run([*command, "--bin-io-dump", tmp_path / folder], check=True)
    run("compare_binary_iodump", "a", "b")
    values = [load_tensor_binary(str(path)) for path in (tmp_path / "c").iterdir()]
    owners = {name.split(" owner_opr_inputs=")[0]: array for array, name in values}
    (label,) = (array for name, array in owners.items() if "name:label" in name)
    np.testing.assert_array_equal(label.ravel(), [2, 2, 3, 4, 5, 6])
    run("compare_binary_iodump", "a", "c", code=7)


@pytest.mark.parametrize(
    "other, message",
    [
        ([[1, 2.1]], r"x not equal: shape=\(1, 2\) nonequal_idx=\(0, 1\) v0=2.0 v1=2.09"),
        ([1, 2], r"x shape mismatch: \(1, 2\) vs \(2,\)"),
        ([[1, np.nan]], "x not finite: sum=3.0 vs sum=nan"),
    ],
)
def test_values_that_differ(other, message):
    with pytest.raises(AssertionError, match=message):
        check(np.array([[1.0, 2.0]]), np.array(other), "x", 1e-3)


@pytest.mark.parametrize("content", [b"", bytes(40)[:30], bytes([0] * 4 + [77] + [0] * 35)])
def test_dumps_that_are_damaged(tmp_path, content):
    (tmp_path / "value").write_bytes(content)
    with pytest.raises(ValueError, match="load_tensor_binary"):
        load_tensor_binary(str(tmp_path / "value"))


def test_optimisations_reach_the_tool(run, model):
    printed = run("load_network_and_run", model, "--enable-hwcd4", "--enable-fuse-conv-bias-with-z")
    assert "Performance summary" in printed


def test_missing_tools(monkeypatch, tmp_path):
    monkeypatch.setenv("MGE_TOOLS", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(FileNotFoundError, match="no_such_tool is not installed.*MGE_TOOLS"):
        find_tool("no_such_tool")


SCRIPT = """
import sys
import beside
import megengine.functional as F
print(sys.argv, beside.x, __name__)
F.exp(F.ones(3))
"""


@pytest.mark.parametrize("as_module", [False, True])
def test_profiler(run, tmp_path, as_module):
    (tmp_path / "script.py").write_text(SCRIPT)
    (tmp_path / "beside.py").write_text("x = 7")
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "1.chrome_timeline.json").write_text("{}")
    what = ["-m", "script"] if as_module else ["script.py"]
    printed = run("profiler", "-o", "out", "--clean", *what, "--flag", "value")
    assert "'--flag', 'value'] 7 __main__" in printed
    (path,) = (tmp_path / "out").iterdir()
    assert "exp" in {event["name"] for event in json.loads(path.read_text())["traceEvents"]}
    run("profiler", "-o", "out", "--merge_trace_events")
    assert (tmp_path / "out" / "merge.chrome_timeline.json").exists()
    assert "a script is needed" in run("profiler", code=2)


def test_svg_viewer():
    with svg_viewer.make_server("127.0.0.1", 0) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        url = f"http://127.0.0.1:{server.server_port}"
        try:
            with urllib.request.urlopen(f"{url}/") as answer:
                assert answer.read() == Path(svg_viewer._PAGE).read_bytes()
            with pytest.raises(urllib.error.HTTPError, match="404"):
                urllib.request.urlopen(f"{url}/../native.py")
        finally:
            server.shutdown()
            thread.join()
