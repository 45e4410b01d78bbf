# SPDX-License-Identifier: Apache-2.0
"""Shapes of a network's inputs with the names of open dimensions."""

from conftest import tool

from megenginelite import LiteNetwork


def test_shapes_have_names(models, tmp_path):
    tool("mge-dump", "convert", models / "net.onnx", tmp_path / "named.mge")
    network = LiteNetwork()
    network.load(tmp_path / "named.mge")
    assert network.input_shapes == {"data": ("batch", 3, 224, 224)}


def test_shapes_without_names_are_numbers(models):
    network = LiteNetwork()
    network.load(models / "two.mge")
    assert network.input_shapes == {"a": (4,), "b": (4,)}
