# SPDX-License-Identifier: Apache-2.0
"""Sends a server requests that it has to refuse, over HTTP, gRPC and bare sockets.

    hostile_clients.py HTTP GRPC MODEL COUNT [--triton]

MODEL has an input "data" (batch, 3, 16, 16) float32 and an output "score". Prints the number of
requests that were refused; ends with an error at the first other answer. Triton's own reader of
JSON answers with status 500.
"""

import http.client
import json
import random
import socket
import sys

import grpc
import numpy as np
from tritonclient.grpc import service_pb2, service_pb2_grpc

GOOD = [1, 3, 16, 16]


def good_input(**changes):
    return {"name": "data", "datatype": "FP32", "shape": GOOD, "data": [0.5] * 768, **changes}


def bodies():
    """Bodies of HTTP requests, each wrong in one way."""
    for name in ("", "Data", "score", "x" * 10_000, "\u0000", "../data", "🙂"):
        yield {"inputs": [good_input(name=name)]}
    for datatype in ("FP64", "INT32", "BYTES", "BOOL", "FP16", "fp32", "", "FP99", 7, None):
        yield {"inputs": [good_input(datatype=datatype)]}
    for shape in (
        *([], [768], [1, 3, 256], [3, 16, 16], [0, 3, 16, 16], [-1, 3, 16, 16]),
        *([2, 3, 16, 16], [1, 3, 16, 17], [1000, 3, 16, 16], [1, 3, 16, 16, 1]),
        *([349525, 3, 16, 16], [2**62, 3, 16, 16], [2**64, 3, 16, 16], [2**31] * 8, [1.5, 3, 16]),
        *("1,3,16,16", None, [[1, 3, 16, 16]], [1, 3, -16, -16]),
    ):
        yield {"inputs": [good_input(shape=shape)]}
    for data in (
        *([], [0.5] * 767, [0.5] * 769, ["a"] * 768, ["1"] * 768, [True] * 768, [{}] * 768),
        *([[0.5] * 2, [0.5]], "text", 7, None, {"a": 1}, [[]] * 768, [[[[[[[[0.5]]]]]]]]),
    ):
        yield {"inputs": [good_input(data=data)]}
    yield {"inputs": []}
    yield {"inputs": [good_input(), good_input()]}
    yield {"inputs": [good_input(), good_input(name="more")]}
    yield {"inputs": [good_input()], "outputs": [{"name": "none"}]}
    yield {"inputs": {"data": 1}}
    yield {}
    yield []
    yield "text"
    yield b'{"inputs": [{"name": "data", "datatype": "FP32", "shape": [1], "data": [NaN]}]}'
    yield b'{"inputs": [{"name": "data", "datatype": "FP32", "shape": [1], "data": [Infinity]}]}'
    yield b"{" * 10_000
    yield b"[" * 100_000
    yield b""
    yield b"\xff\xfe\x00"
    yield json.dumps({"inputs": [good_input()]}).encode()[:-9]


def raw_requests(model, is_triton):
    """Requests over gRPC, each wrong in one way."""

    def made(name="data", datatype="FP32", shape=GOOD, raw=(bytes(4 * 768),), outputs=()):
        tensor = service_pb2.ModelInferRequest.InferInputTensor(
            name=name, datatype=datatype, shape=shape
        )
        wanted = [
            service_pb2.ModelInferRequest.InferRequestedOutputTensor(name=one) for one in outputs
        ]
        return service_pb2.ModelInferRequest(
            model_name=model, inputs=[tensor], raw_input_contents=raw, outputs=wanted
        )

    yield from (made(name=name) for name in ("", "other", "data\n", "x" * 2000))
    yield from (made(datatype=one) for one in ("", "FP64", "INT8", "BYTES", "BF16", "other"))
    for shape in ([], [768], [2, 3, 16, 16], [-1, 3, 16, 16], [0, 3, 16, 16], [2**62, 3, 16, 16]):
        yield made(shape=shape)
    yield made(shape=[349525, 3, 16, 16])
    yield from (made(raw=[raw]) for raw in (b"", b"abc", bytes(4 * 767), bytes(4 * 769)))
    if not is_triton:  # which ignores the second
        yield made(raw=[bytes(4 * 768)] * 2)
    yield made(outputs=["none"])
    yield service_pb2.ModelInferRequest(model_name=model)
    yield service_pb2.ModelInferRequest(model_name="none")


def send_body(connection, path, body):
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    connection.request("POST", path, content, {"Content-Type": "application/json"})
    answer = connection.getresponse()
    answer.read()
    return answer.status


def cut(address, path, content):
    """Claim 1 GB, send a little, and leave; now and then with a reset."""
    with socket.create_connection(address, timeout=10) as one:
        lines = f"POST {path} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
        one.sendall(f"{lines}Content-Length: {1 << 30}\r\n\r\n".encode() + content)
        if random.random() < 0.5:
            one.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")


def main(http_url, grpc_url, model, count, *flags):
    host, port = http_url.removeprefix("http://").split(":")
    path = f"/v2/models/{model}/infer"
    connection = http.client.HTTPConnection(host, int(port), timeout=60)
    channel = grpc.insecure_channel(grpc_url)
    stub = service_pb2_grpc.GRPCInferenceServiceStub(channel)
    refused, cuts = 0, 0
    content = json.dumps({"inputs": [good_input()]}).encode()[:2000]
    while refused < int(count):
        for body in bodies():
            status = send_body(connection, path, body)
            assert 400 <= status < 500 or ("--triton" in flags and status == 500), (
                status,
                str(body)[:300],
            )
            refused += 1
        for other in ("/v2/models/none/infer", "/v2/models//infer", "/v3", f"{path}/../x"):
            status = send_body(connection, other, {"inputs": [good_input()]})
            assert 400 <= status < 500, (status, other)
            refused += 1
        for one in raw_requests(model, "--triton" in flags):
            try:
                stub.ModelInfer(one, timeout=60)
                raise AssertionError(f"accepted: {str(one)[:300]}")
            except grpc.RpcError as error:
                codes = (grpc.StatusCode.INVALID_ARGUMENT, grpc.StatusCode.NOT_FOUND)
                assert error.code() in codes, (error.code(), error.details(), str(one)[:300])
            refused += 1
        cut((host, int(port)), path, content)
        cut((host, int(port)), "/" * 3000, b"\0" * 100)
        cuts += 2
    status = send_body(connection, path, {"inputs": [good_input(data=[float(0)] * 768)]})
    assert status == 200
    # NaN is a value like others where it can be written.
    raw = np.full(768, np.nan, np.float32).tobytes()
    tensor = service_pb2.ModelInferRequest.InferInputTensor(
        name="data", datatype="FP32", shape=GOOD
    )
    answer = stub.ModelInfer(
        service_pb2.ModelInferRequest(model_name=model, inputs=[tensor], raw_input_contents=[raw])
    )
    assert len(answer.raw_output_contents[0]) == 40
    print(refused, "refused,", cuts, "cut")


if __name__ == "__main__":
    main(*sys.argv[1:])
