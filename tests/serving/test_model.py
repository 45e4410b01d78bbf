# SPDX-License-Identifier: Apache-2.0
"""Served models without a server: checks, batches, columns of data sets."""

import asyncio
import contextlib
import os
import subprocess
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from server_processes import direct, dump_centred, write_masked, write_squeezed

from megengine.serving import ServedModel
from megengine.serving.batching import Batcher
from megengine.serving.model import array_of
from megengine.serving.protocol import decode_request, encode_response
from megengine.serving.ray import Predictor
from megenginelite import LiteGlobal


def test_a_batch_dimension_is_found_by_trying(models):
    model = ServedModel(models["classifier"])
    assert model.has_batch and model.max_batch == 32
    assert model.inputs[0].shape == ("batch", 3, 16, 16)
    assert model.outputs[0].shape == ("batch", 10)
    assert model.batch_sizes == [1, 2, 4, 8, 16, 32]
    model = ServedModel(models["two"])
    assert not model.has_batch and model.max_batch == 1
    assert [info.shape for info in model.inputs] == [(4,), (4,)]
    with pytest.raises(ValueError, match="has no batch dimension"):
        ServedModel(models["two"], max_batch=2)


def test_outputs_have_the_open_dimensions_of_inputs(models):
    model = ServedModel(models["embedding"])
    assert model.outputs[0].shape == ("batch", None, 4)
    assert model.outputs[0].sizes == [-1, -1, 4]


def test_sizes_are_open_if_the_rank_depends_on_a_size(tmp_path):
    write_squeezed(tmp_path / "squeezed.onnx")
    model = ServedModel(tmp_path / "squeezed.onnx")
    assert not model.has_batch
    assert model.outputs[0].shape == (None,)


def test_rows_that_depend_on_each_other_are_no_batch(tmp_path):
    dump_centred(tmp_path / "centred.mge")
    assert not ServedModel(tmp_path / "centred.mge").has_batch


def test_any_number_of_rows(models):
    model = ServedModel(models["classifier"], max_batch=8)
    rows = np.random.rand(21, 3, 16, 16).astype("float32")
    _, expected = direct(models["classifier"], {"data": rows})
    found = model.run_rows({"data": rows})["score"]
    assert np.allclose(found, expected["score"], rtol=1e-5, atol=1e-7)
    assert model.plan_cache_misses == 0
    assert model.run_rows({"data": rows[:0]})["score"].shape == (0, 10)


def test_a_predictor_keeps_other_columns(models):
    predict = Predictor(models["classifier"], columns={"data": "picture"})
    pictures = np.random.rand(3, 3, 16, 16).astype("float32")
    _, expected = direct(models["classifier"], {"data": pictures})
    for column in (pictures, np.array([*pictures, None], object)[:3]):
        found = predict({"id": np.arange(3), "picture": column})
        assert list(found) == ["id", "score"]
        assert found["id"].tolist() == [0, 1, 2]
        assert np.allclose(found["score"], expected["score"], rtol=1e-5, atol=1e-7)
    with pytest.raises(ValueError, match="has no batch dimension"):
        Predictor(models["two"])


@pytest.mark.parametrize(
    ("data", "dtype", "shape", "message"),
    [
        ([1, 2], "float32", [3], "has 3 elements, got 2"),
        ([1, [2]], "float32", [2], "not an array of numbers"),
        (["a"], "float32", [1], "not of type float32"),
        ([1.5], "int32", [1], "not of type int32"),
        ([300], "uint8", [1], "out of the range of uint8"),
        ([-1], "uint32", [1], "out of the range of uint32"),
        ([None], "int32", [1], "not of type int32"),
        ([True], "int32", [1], "not of type int32"),
    ],
)
def test_data_that_do_not_fit(data, dtype, shape, message):
    with pytest.raises(ValueError, match=message):
        array_of(data, np.dtype(dtype), shape)


def test_masks_and_doubles(tmp_path):
    write_masked(tmp_path / "masked.onnx")
    model = ServedModel(tmp_path / "masked.onnx")
    assert model.has_batch
    assert [info.datatype for info in model.inputs] == ["BOOL", "FP64"]
    assert [info.datatype for info in model.outputs] == ["FP64", "BOOL"]
    numbers = [1 / 3, -1 / 3, 5e-324, 2.0]
    body = {
        "inputs": [
            {"name": "mask", "datatype": "BOOL", "shape": [2, 2], "data": [True, False, 1, 0]},
            {"name": "x", "datatype": "FP64", "shape": [2, 2], "data": numbers},
        ],
    }
    arrays, rows, _ = decode_request(model, body)
    answer = encode_response("masked", model.run(arrays))["outputs"]
    assert rows == 2
    assert [one["datatype"] for one in answer] == ["FP64", "BOOL"]
    assert [one["data"] for one in answer] == [[1 / 3, 0, 5e-324, 0], [False, True, False, True]]
    arrays["mask"] = array_of(np.array([2, 0, 255, 0], "uint8").view(bool), np.dtype(bool), [2, 2])
    assert model.run(arrays)["hidden"].view("uint8").tolist() == [[0, 1], [0, 1]]
    with pytest.raises(ValueError, match="not of type bool"):
        array_of([0.5], np.dtype(bool), [1])


def test_data_that_fit():
    assert array_of([[1, 2]], np.dtype("int8"), [2]).tolist() == [1, 2]
    found = array_of([1, None], np.dtype("float16"), [2, 1])
    assert found.dtype == np.float16
    assert np.isnan(found[1, 0])


def test_requests_in_json(models):
    model = ServedModel(models["two"])
    body = {
        "inputs": [
            {"name": "a", "datatype": "FP32", "shape": [4], "data": [1, 2, 3, 4]},
            {"name": "b", "datatype": "INT32", "shape": [4], "data": [1, 1, 1, 1]},
        ],
        "outputs": [{"name": "sum"}],
    }
    arrays, rows, wanted = decode_request(model, body)
    assert (rows, wanted) == (1, ["sum"])
    answer = encode_response("two", {"sum": model.run(arrays)["sum"] * np.float32("nan")})
    assert answer["outputs"][0]["data"] == [None] * 4
    answer = encode_response("two", {"sum": np.array([1, -np.inf, np.inf], "float32")})
    assert answer["outputs"][0]["data"] == [1, None, None]
    first = body["inputs"][0]
    not_inputs = [[{}], [], 1, [first | {"shape": [np.inf]}], [first | {"datatype": []}]]
    for wrong in (None, [], *({"inputs": inputs} for inputs in not_inputs)):
        with pytest.raises(ValueError):
            decode_request(model, wrong)


class Recorder:
    """Computes slowly and notes the sizes of batches."""

    def __init__(self, seconds=0.02):
        self.sizes, self.seconds, self.threads = [], seconds, set()

    def __call__(self, arrays):
        self.threads.add(threading.get_ident())
        self.sizes.append(len(arrays["x"]))
        time.sleep(self.seconds)
        if (arrays["x"] < 0).any():
            raise ValueError("negative")
        return {"y": arrays["x"] + 1}


def answers_of(batcher, requests):
    async def all_at_once():
        calls = [batcher({"x": np.asarray(x)}, len(x)) for x in requests]
        return await asyncio.gather(*calls, return_exceptions=True)

    return asyncio.run(all_at_once())


def test_the_first_request_runs_at_once_and_the_others_together():
    run = Recorder()
    answers = answers_of(Batcher(run, (1, 2, 4), 4), [[i] for i in range(6)])
    assert [answer["y"].tolist() for answer in answers] == [[i + 1] for i in range(6)]
    assert run.sizes == [1, 4, 1]
    assert len(run.threads) == 1


def test_a_delay_fills_batches():
    run = Recorder()
    answers_of(Batcher(run, (1, 2, 4), 4, max_delay=0.05), [[i] for i in range(6)])
    assert run.sizes == [4, 2]


def test_batches_have_planned_sizes():
    run = Recorder()
    answers_of(Batcher(run, (1, 2, 4, 8), 8, max_delay=0.05), [[i] for i in range(7)])
    assert run.sizes == [4, 2, 1]


def test_requests_with_other_shapes_are_other_batches():
    run = Recorder()
    requests = [[[1.0]], [[1.0, 2.0]], [[3.0]], [[3.0, 4.0]]]
    answers = answers_of(Batcher(run, (1, 2), 2, max_delay=0.05), requests)
    assert run.sizes == [2, 2]
    assert [answer["y"].tolist() for answer in answers] == [
        (np.array(x) + 1).tolist() for x in requests
    ]


def test_a_bad_request_fails_alone():
    run = Recorder()
    answers = answers_of(Batcher(run, (1, 2, 4), 4, max_delay=0.05), [[1], [-1], [2], [3]])
    assert isinstance(answers[1], ValueError)
    assert [answers[i]["y"].tolist() for i in (0, 2, 3)] == [[2], [3], [4]]
    assert run.sizes == [4, 1, 1, 1, 1]


def test_a_cancelled_request_does_not_run():
    run = Recorder(0.1)
    batcher = Batcher(run, (1,), 1)

    async def cancel_one():
        calls = [asyncio.ensure_future(batcher({"x": np.array([i])}, 1)) for i in range(3)]
        await asyncio.sleep(0.02)
        calls[1].cancel()
        return await asyncio.gather(*calls, return_exceptions=True)

    answers = asyncio.run(cancel_one())
    assert isinstance(answers[1], asyncio.CancelledError)
    assert run.sizes == [1, 1]


def test_requests_that_wait_fail_when_the_model_is_unloaded():
    batcher = Batcher(Recorder(0.1), (1,), 1)

    async def unload():
        calls = [asyncio.ensure_future(batcher({"x": np.array([i])}, 1)) for i in range(3)]
        await asyncio.sleep(0.02)
        batcher.close()
        return await asyncio.wait_for(asyncio.gather(*calls, return_exceptions=True), 60)

    answers = asyncio.run(unload())
    assert answers[0]["y"].tolist() == [1]
    assert [str(answer) for answer in answers[1:]] == ["the model was unloaded"] * 2


def test_models_with_separate_keys_load_at_once(models, tmp_path, monkeypatch):
    crypt = Path(os.environ["MGE_BUILD_DIR"]) / "bin/mge-crypt"
    key_of, made_key = LiteGlobal.update_decryption_key, threading.Barrier(2)

    def give_key_and_wait(*key):
        key_of(*key)
        with contextlib.suppress(threading.BrokenBarrierError):
            made_key.wait(0.5)  # for the other model's key, if that can be given now

    monkeypatch.setattr(LiteGlobal, "update_decryption_key", give_key_and_wait)
    for name in "ab":
        key, secret = tmp_path / name, tmp_path / f"{name}.mge"
        subprocess.run([crypt, "keygen", key], check=True, capture_output=True)
        command = [crypt, "encrypt", models["two"], secret, "--key-file", key]
        subprocess.run(command, check=True, capture_output=True)
    with ThreadPoolExecutor() as pool:
        loads = [pool.submit(ServedModel, tmp_path / f"{n}.mge", tmp_path / n) for n in "ab"]
    assert [len(load.result().inputs) for load in loads] == [2, 2]
