# SPDX-License-Identifier: Apache-2.0
"""Models behind MLServer: the bits of direct inference, batches, metrics, workers that die."""

import json
import os
import signal
import subprocess
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
from server_processes import direct, request, tensor

from megengine.serving.repository import Service, write_mlserver

CLIENTS = Path(__file__).with_name("clients.py")


def save(folder, name, arrays, outputs):
    np.savez(folder / f"{name}.inputs.npz", **arrays)
    np.savez(folder / f"{name}.outputs.npz", **outputs)


def test_clients_get_the_bits_of_direct_inference(models, serve, serve_python, tmp_path):
    """MLServer's own command serves a folder of all kinds of files."""
    cases = tmp_path / "cases"
    cases.mkdir()
    for name, path in models.items():
        save(cases, name, *direct(path))
        write_mlserver(Service(path, name, max_batch=1), tmp_path / "repository", copy_model=True)
    server = serve(repository=tmp_path / "repository")
    done = subprocess.run(
        [serve_python, CLIENTS, server.http, server.grpc, cases],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"{2 * len(models)} answers\n"


def test_curl_gets_the_bits_of_direct_inference(models, serve, tmp_path):
    server = serve(models["classifier"])
    arrays, outputs = direct(models["classifier"])
    (tmp_path / "request.json").write_text(
        json.dumps({"inputs": [tensor(name, array) for name, array in arrays.items()]})
    )
    command = ["curl", "-sSf", "-H", "Content-Type: application/json", "-d", "@request.json"]
    answer = subprocess.check_output(
        [*command, f"{server.http}/v2/models/classifier/infer"], cwd=tmp_path
    )
    (output,) = json.loads(answer)["outputs"]
    assert (output["name"], output["datatype"], output["shape"]) == ("score", "FP32", [1, 10])
    assert np.float32(output["data"]).tobytes() == outputs["score"].tobytes()
    status, answer = request(f"{server.http}/v2/models/classifier")
    assert status == 200
    (described,) = answer["inputs"]
    assert described["shape"] == [-1, 3, 16, 16]
    assert described["parameters"]["dimensions"] == "batch, 3, 16, 16"


def test_requests_that_wait_run_as_one_batch(models, serve):
    server = serve(models["classifier"], "--max-batch", 8, "--max-delay", 200)
    rows = np.random.RandomState(5).rand(16, 3, 16, 16).astype("float32")
    _, outputs = direct(models["classifier"], {"data": rows})
    with ThreadPoolExecutor(16) as pool:
        answers = list(
            pool.map(lambda i: server.infer("classifier", {"data": rows[i : i + 1]}), range(16))
        )
    for expected, (status, answer) in zip(outputs["score"], answers, strict=True):
        assert status == 200
        assert np.allclose(answer["outputs"][0]["data"], expected, rtol=1e-5)
    assert server.metric("mge_batch_size_sum") == 16
    assert server.metric("mge_batch_size_count") < 16
    assert server.metric("mge_request_duration_seconds_count") == 16
    assert server.metric("mge_queue_duration_seconds_count") == 16
    assert server.metric("mge_plan_cache_misses_total") >= 0


def test_a_bad_request_does_not_fail_the_others_of_its_batch(models, serve):
    server = serve(models["embedding"], "--max-batch", 8, "--max-delay", 300)
    good = np.int64([[1, 2]])
    bad = np.int64([[1, 99]])
    with ThreadPoolExecutor(8) as pool:
        cases = [good, bad, good, good]
        answers = list(pool.map(lambda x: server.infer("embedding", {"index": x}), cases))
    assert [status for status, _ in answers] == [200, 400, 200, 200]


def test_open_dimensions_have_names_and_any_size(models, serve):
    server = serve(models["embedding"])
    status, answer = request(f"{server.http}/v2/models/embedding")
    assert answer["inputs"][0]["parameters"]["dimensions"] == "batch, length"
    for shape in ((1, 1), (3, 2), (1, 7)):
        status, answer = server.infer("embedding", {"index": np.ones(shape, np.int64)})
        assert status == 200
        assert answer["outputs"][0]["shape"] == [*shape, 4]


def test_encrypted_models(models, serve, run_serve, tmp_path):
    crypt = Path(os.environ["MGE_BUILD_DIR"]) / "bin/mge-crypt"
    key, secret = tmp_path / "key", tmp_path / "secret.mge"
    subprocess.run([crypt, "keygen", key], check=True, capture_output=True)
    subprocess.run(
        [crypt, "encrypt", models["classifier"], secret, "--key-file", key],
        check=True,
        capture_output=True,
    )
    server = serve(secret, "--key-file", key)
    arrays, outputs = direct(models["classifier"])
    status, answer = server.infer("secret", arrays)
    assert status == 200
    assert np.float32(answer["outputs"][0]["data"]).tobytes() == outputs["score"].tobytes()
    assert run_serve(secret, "--write-only", tmp_path / "r").returncode == 6
    other = tmp_path / "other"
    subprocess.run([crypt, "keygen", other], check=True, capture_output=True)
    done = run_serve(secret, "--key-file", other, "--write-only", tmp_path / "r")
    assert done.returncode == 6, done.stderr


def test_algorithms_are_measured_once(models, serve, tmp_path):
    cache = tmp_path / "times.sqlite"
    server = serve(models["classifier"], "--fast-run", cache, "--max-batch", 2)
    arrays, outputs = direct(models["classifier"])
    status, answer = server.infer("classifier", arrays)
    assert status == 200
    assert np.allclose(answer["outputs"][0]["data"], outputs["score"].ravel(), rtol=1e-5)
    assert cache.stat().st_size > 0


def children(process):
    """The process numbers of worker processes."""
    workers = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            parent = entry.joinpath("stat").read_text().rpartition(")")[2].split()[1]
            command = entry.joinpath("cmdline").read_bytes()
        except OSError:
            continue
        if int(parent) == process.pid and b"spawn_main" in command:
            workers.append(int(entry.name))
    return workers


def test_killed_worker_is_restarted(models, serve):
    start = time.monotonic()
    server = serve(models["classifier"], "--instances", 2)
    start_seconds = time.monotonic() - start
    arrays, outputs = direct(models["classifier"])
    expected = outputs["score"].tobytes()
    before = children(server.process)
    assert len(before) == 2
    stop, statuses = threading.Event(), []

    def load():
        while not stop.is_set():
            status, answer = server.infer("classifier", arrays)
            statuses.append(status)
            if status == 200:
                assert np.float32(answer["outputs"][0]["data"]).tobytes() == expected

    with ThreadPoolExecutor(4) as pool:
        running = [pool.submit(load) for _ in range(4)]
        time.sleep(0.5)
        os.kill(before[0], signal.SIGKILL)
        start = time.monotonic()
        log = ""
        while "is now ready" not in log and time.monotonic() < start + 30:
            time.sleep(0.05)
            log = server.log.read_text()
        seconds = time.monotonic() - start
        at_return = len(statuses)
        time.sleep(0.5)
        stop.set()
        for one in running:
            one.result()
    assert seconds <= max(5, start_seconds)  # the machine may be busy
    after = children(server.process)
    assert len(after) == 2 and before[0] not in after
    # Requests inside of the killed worker fail, and no others.
    assert set(statuses) <= {200, 500}
    assert statuses.count(500) <= 4
    assert len(statuses) > at_return
    assert set(statuses[at_return + 4 :]) == {200}
