# SPDX-License-Identifier: Apache-2.0
"""Files of TensorBoard, read by its own reader."""

import pytest

import megengine as mge

pytest.importorskip("tensorboard")

from tensorboard.backend.event_processing.event_file_loader import EventFileLoader
from tensorboard.compat.proto.graph_pb2 import GraphDef

from megengine.utils.tensorboard import SummaryWriterExtend


def events_in(folder):
    (path,) = folder.iterdir()
    return [event for event in EventFileLoader(str(path)).Load() if not event.file_version]


def test_numbers_and_texts(tmp_path):
    with SummaryWriterExtend(tmp_path) as writer:
        writer.add_scalar("loss", mge.Tensor([0.5]), 3, walltime=7.0)
        writer.add_text("note", ["first", "second"], 4)
    loss, note = events_in(tmp_path)
    assert (loss.step, loss.wall_time) == (3, 7.0)
    assert loss.summary.value[0].tag == "loss"
    assert loss.summary.value[0].tensor.float_val[0] == 0.5
    assert note.step == 4
    assert note.summary.value[0].tensor.string_val[0] == b"first\n\nsecond"


def test_graphs(tmp_path):
    with SummaryWriterExtend(log_dir=str(tmp_path)) as writer:
        writer.add_node_raw("x", "input", outputshape=(1, 3), dtype="float32")
        writer.add_node_raw("net/fc", "matmul", ["x"], [(1, 2), (2,)], attributes={"bias": True})
        writer.add_node_raw_name_suffix("x", "_1.2MiB")
        writer.add_node_raw_attributes("net/fc", {"flops": 6})
        writer.add_graph_by_node_raw_list()
    (event,) = (event for event in events_in(tmp_path) if event.graph_def)
    x, fc = GraphDef.FromString(event.graph_def).node
    assert (x.name, x.op, fc.name, list(fc.input)) == ("x_1.2MiB", "input", "net/fc", ["x_1.2MiB"])
    assert [d.size for d in x.attr["_output_shapes"].list.shape[0].dim] == [1, 3]
    assert len(fc.attr["_output_shapes"].list.shape) == 2
    assert (fc.attr["flops"].s, fc.attr["bias"].s, x.attr["dtype"].s) == (b"6", b"True", b"float32")


def test_nothing_is_written_without_disk(tmp_path):
    with SummaryWriterExtend(tmp_path / "none", write_to_disk=False) as writer:
        writer.add_scalar("loss", 1)
    assert not (tmp_path / "none").exists()


def test_wrong_arguments(tmp_path):
    with pytest.raises(TypeError, match="unknown arguments: colour"):
        SummaryWriterExtend(tmp_path, colour=1)
    with pytest.raises(KeyError), SummaryWriterExtend(tmp_path) as writer:
        writer.add_node_raw_attributes("nobody", {})
