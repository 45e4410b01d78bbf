# SPDX-License-Identifier: Apache-2.0
"""Servers as processes, and the models that they serve."""

import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
DATA = ROOT / "tests/data"
PYTHON = Path(os.environ.get("MGE_SERVE_PYTHON", ROOT / "build/serve-venv/bin/python"))
START_SECONDS = 60  # beside other work


def free_ports(count):
    """Port numbers that nothing uses now."""
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]


def request(url, body=None, timeout=30):
    """The status and the decoded answer of an HTTP request."""
    data = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
    headers = {"Content-Type": "application/json"}
    try:
        with urllib.request.urlopen(
            urllib.request.Request(url, data, headers), timeout=timeout
        ) as answer:
            status, content = answer.status, answer.read()
    except urllib.error.HTTPError as error:
        status, content = error.code, error.read()
    try:
        return status, json.loads(content)
    except ValueError:
        return status, content.decode(errors="replace")


def tensor(name, array):
    """An input in JSON."""
    kinds = {"f": "FP", "i": "INT", "u": "UINT"}
    datatype = f"{kinds[array.dtype.kind]}{8 * array.dtype.itemsize}"
    shape = list(array.shape)
    return {"name": name, "datatype": datatype, "shape": shape, "data": array.ravel().tolist()}


@dataclass
class Server:
    process: subprocess.Popen
    http: str
    grpc: str
    metrics: str
    log: Path

    def infer(self, name, arrays, **more):
        body = {"inputs": [tensor(key, value) for key, value in arrays.items()], **more}
        return request(f"{self.http}/v2/models/{name}/infer", body)

    def metric(self, name):
        """The sum of a metric over its labels."""
        lines = request(f"{self.metrics}/metrics")[1].splitlines()
        return sum(float(line.rpartition(" ")[2]) for line in lines if line.startswith(name + "{"))


def wait_until_ready(server):
    end = time.monotonic() + START_SECONDS
    while time.monotonic() < end:
        assert server.process.poll() is None, server.log.read_text()
        with contextlib.suppress(OSError):
            if request(f"{server.http}/v2/health/ready", timeout=5)[0] == 200:
                return
        time.sleep(0.05)
    pytest.fail(f"no server after {START_SECONDS} s: {server.log.read_text()}")


def build_dir():
    return Path(os.environ.get("MGE_BUILD_DIR", ROOT / "build/release"))


def environment():
    """The variables of servers, which find Triton's server beside their own packages."""
    triton = PYTHON.parents[1] / "triton/pytriton/tritonserver/bin"
    return {
        **os.environ,
        "PATH": f"{triton}:{os.environ['PATH']}",
        "PYTHONPATH": str(build_dir() / "python"),
        "PYTHONWARNINGS": "ignore",
    }


def backends():
    """The folder that has Triton's backends."""
    return Path(os.environ.get("MGE_TRITON_BACKENDS", build_dir() / "lib/triton"))


def has_triton():
    return (backends() / "mge/libtriton_mge.so").exists() and shutil.which(
        "tritonserver", path=environment()["PATH"]
    )


@contextlib.contextmanager
def running(python, folder, arguments, repository=None, triton_repository=None):
    """A server of one model, or of a repository by the server's own command."""
    ports = dict(zip(("http_port", "grpc_port", "metrics_port"), free_ports(3), strict=True))
    http, grpc, metrics = ports.values()
    if triton_repository is not None:
        command = ["tritonserver", "--model-repository", triton_repository]
        command += ["--backend-directory", backends()]
        for name, port in ports.items():
            kind = name.partition("_")[0]
            command += [f"--{name.replace('_', '-')}", port, f"--{kind}-address", "127.0.0.1"]
    elif repository is None:
        command = [python, "-m", "megengine.serve", *map(str, arguments)]
        for name, port in ports.items():
            command += [f"--{name.replace('_', '-')}", port]
    else:
        settings = repository / "settings.json"
        settings.write_text(json.dumps(json.loads(settings.read_text()) | ports))
        command = [python.with_name("mlserver"), "start", repository]
    log = folder / f"server.{http}.log"
    with log.open("w") as stream:
        process = subprocess.Popen(
            list(map(str, command)),
            cwd=folder,
            env=environment(),
            stdout=stream,
            stderr=subprocess.STDOUT,
        )
    server = Server(
        process,
        f"http://127.0.0.1:{http}",
        f"127.0.0.1:{grpc}",
        f"http://127.0.0.1:{metrics}",
        log,
    )
    try:
        wait_until_ready(server)
        yield server
        assert process.poll() is None, f"the server died: {log.read_text()}"
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=30) == 0, log.read_text()
        # MLServer's own command shows tracebacks at its end with newer releases of uvicorn.
        assert repository or "Traceback" not in log.read_text().partition("Shutting down")[2]
    finally:
        process.kill()
        process.wait()


def dump_classifier(path):
    """ "data" (1, 3, 16, 16) to "score" (1, 10); any batch."""
    import megengine as mge
    import megengine.functional as F
    import megengine.module as M
    from megengine.jit import trace

    random = np.random.RandomState(0)
    first, last = M.Conv2d(3, 8, 3, stride=2), M.Linear(8, 10)
    for parameter in [*first.parameters(), *last.parameters()]:
        parameter[...] = mge.Tensor(random.randn(*parameter.shape).astype("float32") / 3)

    def forward(data):
        return F.softmax(last(F.relu(first(data)).mean(-1).mean(-1)), 1)

    run = trace(forward, symbolic=True, capture_as_const=True)
    run(mge.Tensor(np.zeros((1, 3, 16, 16), np.float32)))
    run.dump(str(path), arg_names=["data"], output_names=["score"])


def dump_two_inputs(path):
    """ "a" (4,) float32 and "b" (4,) int32 to "sum" and "product", without a batch."""
    import megengine as mge
    from megengine.jit import trace

    run = trace(lambda a, b: (a + b, (a * b).sum()), symbolic=True, capture_as_const=True)
    run(mge.Tensor(np.zeros(4, np.float32)), mge.Tensor(np.zeros(4, np.int32)))
    run.dump(str(path), arg_names=["a", "b"], output_names=["sum", "product"])


def dump_rows(path):
    """ "x" (1, 8) to "y" (1, 3); any batch."""
    import megengine as mge
    import megengine.functional as F
    from megengine.jit import trace

    weight = mge.Tensor(np.random.RandomState(0).randn(8, 3).astype("float32"))
    run = trace(lambda x: F.matmul(x, weight), symbolic=True, capture_as_const=True)
    run(mge.Tensor(np.zeros((1, 8), np.float32)))
    run.dump(str(path), arg_names=["x"], output_names=["y"])


def dump_centred(path):
    """ "x" (2, 3) to "y" (2, 3), whose rows depend on each other."""
    import megengine as mge
    from megengine.jit import trace

    run = trace(lambda x: x - x.mean(axis=0), symbolic=True, capture_as_const=True)
    run(mge.Tensor(np.zeros((2, 3), np.float32)))
    run.dump(str(path), arg_names=["x"], output_names=["y"])


def write_embedding(path):
    """ONNX: "index" (batch, length) int64 to "row" (batch, length, 4); 10 indices."""
    from onnx import TensorProto, helper, numpy_helper, save

    table = np.random.RandomState(1).randn(10, 4).astype("float32")
    graph = helper.make_graph(
        [helper.make_node("Gather", ["table", "index"], ["row"])],
        "embedding",
        [helper.make_tensor_value_info("index", TensorProto.INT64, ["batch", "length"])],
        [helper.make_tensor_value_info("row", TensorProto.FLOAT, ["batch", "length", 4])],
        [numpy_helper.from_array(table, "table")],
    )
    save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), path)


def write_squeezed(path):
    """ONNX: "x" (n, 3) to "y" (3) if n is 1, else (n, 3)."""
    from onnx import parser, save

    text = """<ir_version: 8, opset_import: ["": 17]>
    squeezed (float[n, 3] x) => (float[] y)
    <int64 at = {0}, int64 one = {1}, int64[1] axes = {0}> {
        shape = Shape(x)
        size = Gather(shape, at)
        is_one = Equal(size, one)
        y = If(is_one) <
            then_branch = then () => (float[] a) { a = Squeeze(x, axes) },
            else_branch = other () => (float[] b) { b = Identity(x) }
        >
    }"""
    save(parser.parse_model(text), path)


def write_masked(path):
    """ONNX: "mask" bool and "x" float64 (n, 2) to "kept", x or 0, and "hidden", the other mask."""
    from onnx import parser, save

    text = """<ir_version: 8, opset_import: ["": 17]>
    masked (bool[n, 2] mask, double[n, 2] x) => (double[n, 2] kept, bool[n, 2] hidden)
    <double zero = {0}> {
        kept = Where(mask, x, zero)
        hidden = Not(mask)
    }"""
    save(parser.parse_model(text), path)


def direct(path, arrays=None):
    """The inputs, by default random ones, and outputs of a run without a server."""
    sys.path.insert(0, environment()["PYTHONPATH"])
    from megenginelite import LiteNetwork

    network = LiteNetwork()
    network.load(path)
    if arrays is None:
        random = np.random.RandomState(3)
        arrays = {}
        for name in network.get_all_input_name():
            layout = network.get_io_tensor(name).layout
            shape = [size or 1 for size in layout.shapes]
            arrays[name] = (random.rand(*shape) * 2).astype(layout.dtype)
    for name, array in arrays.items():
        network.get_io_tensor(name).set_data_by_share(array)
    network.forward()
    network.wait()
    names = network.get_all_output_name()
    return arrays, {name: network.get_io_tensor(name).to_numpy() for name in names}
