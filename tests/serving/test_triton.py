# SPDX-License-Identifier: Apache-2.0
"""Models behind Triton: the bits of direct inference, batches, instances, completed settings."""

import json
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import onnx
import pytest
from server_processes import direct, dump_centred, has_triton, request

from megengine.serving.repository import Service, write_triton

CLIENTS = Path(__file__).with_name("clients.py")
HOSTILE = Path(__file__).with_name("hostile_clients.py")


@pytest.fixture(autouse=True)
def triton():
    if not has_triton():
        pytest.skip("this build has no backend for Triton, or there is no tritonserver")


def run_clients(python, *arguments):
    command = [python, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


def test_clients_get_the_bits_of_direct_inference(models, serve, serve_python, tmp_path):
    """One server has all kinds of files."""
    repository, cases = tmp_path / "repository", tmp_path / "cases"
    cases.mkdir()
    for name, path in models.items():
        arrays, outputs = direct(path)
        np.savez(cases / f"{name}.inputs.npz", **arrays)
        np.savez(cases / f"{name}.outputs.npz", **outputs)
        write_triton(Service(path, name), repository, copy_model=True)
    server = serve(triton_repository=repository)
    printed = run_clients(serve_python, CLIENTS, server.http, server.grpc, cases, "--binary")
    assert printed == f"{2 * len(models)} answers\n"
    # The backend completes shapes and batches.
    config = request(f"{server.http}/v2/models/classifier/config")[1]
    assert config["max_batch_size"] == 32
    assert [one["dims"] for one in config["input"]] == [["3", "16", "16"]] or [
        one["dims"] for one in config["input"]
    ] == [[3, 16, 16]]
    assert "dynamic_batching" in config
    config = request(f"{server.http}/v2/models/two/config")[1]
    assert config["max_batch_size"] == 0
    assert "dynamic_batching" not in config


def test_instances_and_batches(models, serve):
    server = serve(
        *(models["classifier"], "--engine", "triton", "--instances", 2),
        *("--max-batch", 8, "--max-delay", 100),
    )
    rows = np.random.RandomState(5).rand(16, 3, 16, 16).astype("float32")
    _, outputs = direct(models["classifier"], {"data": rows})
    with ThreadPoolExecutor(16) as pool:
        answers = list(
            pool.map(lambda i: server.infer("classifier", {"data": rows[i : i + 1]}), range(16))
        )
    for expected, (status, answer) in zip(outputs["score"], answers, strict=True):
        assert status == 200
        assert np.allclose(answer["outputs"][0]["data"], expected, rtol=1e-5)
    assert server.metric("nv_inference_count") == 16
    assert server.metric("nv_inference_exec_count") < 16
    (group,) = request(f"{server.http}/v2/models/classifier/config")[1]["instance_group"]
    assert int(group["count"]) == 2


def test_rows_that_depend_on_each_other_are_no_batch(serve, tmp_path):
    """Joined with the rows of another request, each would have another result."""
    dump_centred(tmp_path / "centred.mge")
    server = serve(tmp_path / "centred.mge", "--engine", "triton")
    config = request(f"{server.http}/v2/models/centred/config")[1]
    assert config["max_batch_size"] == 0
    assert "dynamic_batching" not in config
    rows = np.random.RandomState(5).rand(2, 3).astype("float32")
    status, answer = server.infer("centred", {"x": rows})
    assert status == 200
    expected = direct(tmp_path / "centred.mge", {"x": rows})[1]["y"]
    assert np.float32(answer["outputs"][0]["data"]).tobytes() == expected.tobytes()


def test_without_batches_the_first_dimension_of_an_output_stays_open(serve, tmp_path):
    text = (
        '<ir_version: 8, opset_import: ["": 17]> g (float[n, 3] x) => (float[n, 3] y) {y = Neg(x)}'
    )
    onnx.save(onnx.parser.parse_model(text), tmp_path / "neg.onnx")
    server = serve(tmp_path / "neg.onnx", "--engine", "triton", "--max-batch", 1)
    config = request(f"{server.http}/v2/models/neg/config")[1]
    assert config["max_batch_size"] == 0
    for one in (*config["input"], *config["output"]):
        assert int(one["dims"][0]) == -1, one
    rows = np.random.RandomState(5).rand(4, 3).astype("float32")
    status, answer = server.infer("neg", {"x": rows})
    assert status == 200
    assert answer["outputs"][0]["shape"] == [4, 3]
    assert np.array_equal(np.float32(answer["outputs"][0]["data"]), -rows.ravel())


def test_a_bad_request_does_not_fail_the_others_of_its_batch(models, serve):
    server = serve(
        *(models["embedding"], "--engine", "triton", "--max-batch", 8, "--max-delay", 200)
    )
    good, bad = np.int64([[1, 2]]), np.int64([[1, 99]])
    with ThreadPoolExecutor(8) as pool:
        cases = [good, bad, good, good]
        answers = list(pool.map(lambda x: server.infer("embedding", {"index": x}), cases))
    assert [status == 200 for status, _ in answers] == [True, False, True, True]


def test_wrong_requests_are_refused(models, serve, serve_python):
    server = serve(models["classifier"], "--engine", "triton")
    printed = run_clients(
        serve_python, HOSTILE, server.http, server.grpc, "classifier", 100, "--triton"
    )
    assert int(printed.split()[0]) >= 100
    arrays, outputs = direct(models["classifier"])
    status, answer = server.infer("classifier", arrays)
    assert status == 200
    assert np.float32(answer["outputs"][0]["data"]).tobytes() == outputs["score"].tobytes()


def test_write_only(models, run_serve, tmp_path):
    done = run_serve(
        *(models["classifier"], "--engine", "triton", "--max-batch", 1, "--name", "net"),
        *("--write-only", tmp_path / "r"),
    )
    assert (done.returncode, done.stderr) == (0, "")
    config = (tmp_path / "r/net/config.pbtxt").read_text()
    assert 'backend: "mge"' in config
    assert json.dumps("off") in config
    assert (tmp_path / "r/net/1/model.mge").read_bytes() == models["classifier"].read_bytes()


def test_a_model_that_cannot_be_loaded(models, run_serve):
    done = run_serve(models["two"], "--engine", "triton", "--max-batch", 4)
    assert done.returncode == 2
    assert "has no batch dimension" in done.stderr
