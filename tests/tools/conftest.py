# SPDX-License-Identifier: Apache-2.0
"""The tools as users run them: processes, with their output, exit code and checked report."""

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import jsonschema
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))  # common part of the tests

ROOT = Path(__file__).resolve().parents[2]
SCHEMAS = ROOT / "docs/schemas"

# Seconds after which a tool hangs. Beside other work, one that does not may take many times as long
# as alone: only the waiting for a failure gets longer.
TIMEOUT = 600


@dataclass
class Result:
    code: int
    out: str
    err: str
    report: dict | None  # the report of --json

    @property
    def result(self):
        return self.report["result"]


def check_report(tool, report):
    """A report has to fit the schema of all tools and that of its own."""
    for name in ("envelope", tool):
        schema = SCHEMAS / f"{name}.schema.json"
        if schema.exists():
            jsonschema.validate(
                report, json.loads(schema.read_text()), cls=jsonschema.Draft202012Validator
            )


@pytest.fixture(scope="session")
def build_dir():
    """The build tree under test: $MGE_BUILD_DIR, or the release one."""
    folder = Path(os.environ.get("MGE_BUILD_DIR", ROOT / "build/release")).resolve()
    if not (folder / "bin").exists():
        pytest.fail(f"no tools in {folder}; scripts/test builds them, MGE_BUILD_DIR names a tree")
    return folder


@pytest.fixture(scope="session")
def tool_path(build_dir):
    """tool_path("mge-dump") → its path."""
    return lambda name: build_dir / "bin" / name


@pytest.fixture
def run_tool(tool_path, tmp_path):
    """run_tool(name, *args, stdin=None, env=None, cwd=None, json=True, timeout=TIMEOUT) → Result.

    Each call asks for a report, in a file unless the arguments say where, and checks it; without
    one (`json=False`, --help …) Result.report is None. stdout and stderr are text.
    """

    def run(name, *args, stdin=None, env=None, cwd=None, json=True, timeout=TIMEOUT):
        args = [str(a) for a in args]
        file = tmp_path / "report.json"
        file.unlink(missing_ok=True)
        if json and not any(a.split("=")[0] == "--json" for a in args):
            args += ["--json", str(file)]
        done = subprocess.run(
            [str(tool_path(name)), *args],
            input=stdin,
            capture_output=True,
            text=True,
            errors="replace",
            env={"XDG_CACHE_HOME": str(tmp_path), **os.environ, **(env or {})},
            cwd=cwd,
            timeout=timeout,
            check=False,
        )
        return Result(
            done.returncode, done.stdout, done.stderr, read_report(name, args, file, done)
        )

    return run


def read_report(tool, args, file, done):
    if file.exists():
        text = file.read_text()
    elif "--json" in args and args[args.index("--json") + 1] == "-" and done.stdout:
        text = done.stdout
    else:
        return None
    report = json.loads(text)
    check_report(tool, report)
    if done.returncode:
        assert report["error"]["code"] == done.returncode, report
    return report


@pytest.fixture(scope="session")
def small_model(tmp_path_factory):
    """A .mge file: y = relu(x @ w + b) for x of shape (2, 3)."""
    import numpy as np

    import megengine as mge
    import megengine.functional as F
    from megengine.jit import trace

    random = np.random.RandomState(1)
    w = mge.Tensor(random.standard_normal((3, 4)).astype("float32"))
    b = mge.Tensor(random.standard_normal(4).astype("float32"))
    traced = trace(symbolic=True, capture_as_const=True)(lambda x: F.relu(F.matmul(x, w) + b))
    traced(mge.Tensor(np.ones((2, 3), "float32")))
    path = tmp_path_factory.mktemp("models") / "small.mge"
    traced.dump(str(path), arg_names=["x"], output_names=["y"], keep_var_name=0)
    return path


@pytest.fixture(scope="session")
def write_model(tmp_path_factory):
    """write_model(name, function, {input: array}, output) → the traced function as a .mge file."""
    import megengine as mge
    from megengine.jit import trace

    def write(name, function, inputs, output):
        traced = trace(symbolic=True, capture_as_const=True)(function)
        traced(*[mge.Tensor(value) for value in inputs.values()])
        path = tmp_path_factory.mktemp("models") / f"{name}.mge"
        names = {"arg_names": list(inputs), "output_names": [output]}
        traced.dump(str(path), **names, no_change_graph=True, keep_var_name=0)
        return path

    return write


@pytest.fixture(scope="session")
def image_net():
    """A small net for images."""
    import megengine as mge
    import megengine.functional as F
    import megengine.module as M

    class Net(M.Module):
        def __init__(self):
            super().__init__()
            self.conv = M.Conv2d(3, 4, 3, padding=1)
            self.bn = M.BatchNorm2d(4)
            self.fc = M.Linear(4, 5)

        def forward(self, x):
            x = F.relu(self.bn(self.conv(x)))
            return F.softmax(self.fc(F.flatten(F.adaptive_avg_pool2d(x, 1), 1)), axis=1)

    mge.random.seed(3)
    net = Net()
    net.eval()
    return net


@pytest.fixture(scope="session")
def image_model(write_model, image_net):
    """That net for images (1, 3, 8, 6) named data, with all names kept."""
    import numpy as np

    image = np.ones((1, 3, 8, 6), "float32")
    return write_model("image", lambda x: image_net(x), {"data": image}, "prob")


@pytest.fixture(scope="session")
def two_inputs(write_model):
    """c = 2 a + b for a of shape (2, 3) and b of shape (3,)."""
    import numpy as np

    inputs = {"a": np.ones((2, 3), "float32"), "b": np.ones(3, "float32")}
    return write_model("two", lambda a, b: a * 2 + b, inputs, "c")


@pytest.fixture(scope="session")
def conv_net():
    """A function that measuring and layouts make a difference for, and its input."""
    import numpy as np

    import megengine as mge
    import megengine.functional as F

    random = np.random.RandomState(2)

    def weight(*shape):
        return mge.Tensor(random.standard_normal(shape).astype("float32") / 10)

    a, b = weight(16, 16, 3, 3), weight(16, 16, 3, 3)

    def net(x):
        return F.conv2d(F.relu(F.conv2d(x, a, padding=1)), b, padding=1)

    return net, np.ones((1, 16, 8, 8), "float32")


@pytest.fixture(scope="session")
def conv_model(write_model, conv_net):
    """That function as a .mge file, from x to y."""
    net, x = conv_net
    return write_model("conv", net, {"x": x}, "y")


@pytest.fixture(scope="session")
def outputs_of():
    """outputs_of(file, input…) → the model's outputs, run in this process."""
    import megengine as mge
    from megengine import _mge

    def run(path, *inputs):
        return [t.numpy() for t in _mge.load(str(path)).run([mge.Tensor(x) for x in inputs])]

    return run


@pytest.fixture
def profile(run_tool, small_model, tmp_path):
    """The path of a profile of ten runs, and the report of load_and_run."""
    path = tmp_path / "small.json"
    done = run_tool("load_and_run", small_model, "--iter", 10, "--profile", path)
    assert done.code == 0, done.err
    return path, done.result
