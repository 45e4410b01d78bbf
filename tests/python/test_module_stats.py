# SPDX-License-Identifier: Apache-2.0
"""Statistics of Modules; numbers and tables are those of MegEngine 1.13."""

import logging

import numpy as np
import pytest

import megengine as mge
import megengine.functional as F
import megengine.module as M
from megengine.quantization import quantize_qat
from megengine.utils import module_stats as stats
from megengine.utils import stat_rules
from megengine.utils.module_stats import module_stats
from megengine.utils.network import Network


@pytest.fixture
def log():
    """The log output, without its prefixes."""

    class Lines(logging.Handler):
        def __init__(self):
            super().__init__()
            self.messages = []

        def emit(self, record):
            self.messages.append(record.getMessage())

    handler = Lines()
    logger = mge.get_logger("megengine.utils.module_stats")
    logger.addHandler(handler)
    yield handler.messages
    logger.removeHandler(handler)


class Net(M.Module):
    def __init__(self):
        super().__init__()
        self.conv = M.Conv2d(3, 8, 3, padding=1)
        self.bn = M.BatchNorm2d(8)
        self.relu = M.ReLU()
        self.pool = M.MaxPool2d(2)
        self.gconv = M.Conv2d(8, 8, 3, groups=4, bias=False, stride=2)
        self.dc = M.ConvTranspose2d(8, 4, 2)
        self.fc = M.Linear(64, 10)
        self.free = mge.Parameter(np.ones((10,), "float32"))
        self.unused = M.Linear(2, 2)

    def forward(self, x):
        x = self.pool(self.relu(self.bn(self.conv(x))))
        return self.fc(F.flatten(self.dc(self.gconv(x)), 1)) + self.free


class Reading(M.Module):
    """Reads weights by attribute, shares one, calls a part twice."""

    def __init__(self):
        super().__init__()
        self.fc, self.f2, self.f3, self.q = (M.Linear(4, 4) for _ in range(4))
        self.f3.weight = self.f2.weight
        self.bn = M.BatchNorm1d(4)
        self.list = [M.Linear(4, 4)]
        self.inner = M.Sequential(M.Linear(4, 4), M.ReLU())

    def forward(self, x):
        x = F.linear(x, self.fc.weight)
        x = self.inner(self.list[0](self.f3(self.f2(self.f2(x)))))
        return x + self.q.bias.mean() + self.bn.weight.mean()


def names(rows):
    return [row["name"] for row in rows]


def test_totals_and_rows():
    totals, details = module_stats(Net(), input_shapes=(2, 3, 16, 16), logging_to_stdout=False)
    assert totals == (4664, 1166, 153770, 38032, 9508)
    assert totals._fields == ("param_size", "param_dims", "flops", "act_size", "act_dims")
    assert details._fields == ("params", "flops", "activations")
    assert details.flops[0] == {
        "input_shapes": [(2, 3, 16, 16)],
        "output_shapes": [(2, 8, 16, 16)],
        "flops_num": 114688,
        "name": "conv",
        "class_name": "Conv2d",
        "flops_cum": "114.688 KOPs",
        "ratio": 114688 / 153770,
        "percentage": "74.58%",
        "bar": "#" * 20,
        "flops": "114.688 KOPs",
    }
    assert [row["flops_num"] for row in details.flops[:-1]] == [
        114688,
        28672,
        4096,
        2592,
        2432,
        1290,
    ]
    assert details.flops[-1] == {"name": "total", "flops": "153.770 KOPs", "output_shapes": 46}
    assert [row["size_bar"] for row in details.params[:2]] == ["######", ""]


def test_table(log):
    module_stats(M.Linear(4, 2, bias=False), inputs=[np.ones((1, 4), "float32")])
    assert log[1] == (
        "flops stats: \n"
        "-----  ----------  ------------  -------------  ---------  ---------  ----------"
        "  --------------------\n"
        "name   class_name  input_shapes  output_shapes  flops      flops_cum  percentage  bar\n"
        "       Linear      [(1, 4)]      [(1, 2)]       8.000 OPs  8.000 OPs  100.00%"
        "     ####################\n"
        "total                            2              8.000 OPs\n"
        "-----  ----------  ------------  -------------  ---------  ---------  ----------"
        "  --------------------"
    )
    assert [message.split("\n")[0].strip() for message in log] == [
        "param stats:",
        "flops stats:",
        "activations stats:",
        "summary",
    ]
    assert "mean" in log[2] and "flops/param_size  0.250" in log[3]


def test_summary_only(log):
    module_stats(Net(), input_shapes=(2, 3, 16, 16), cal_params=False, logging_to_stdout=False)
    (summary,) = log
    assert [line.split("  ")[0] for line in summary.split("\n")[3:-1]] == [
        "#params",
        "total_flops",
        "total_act_dims",
        "total_act_size",
    ]


def test_unrequested_gradients_are_zero():
    wanted = {"cal_params": False, "cal_flops": False, "cal_activations": False}
    totals, details = module_stats(Net(), input_shapes=(2, 3, 16, 16), **wanted)
    assert totals == (0, 0, 0, 0, 0) and len(details.params) == 9
    assert not details.flops and not details.activations


def test_parameters_are_the_ones_read():
    net = Reading()
    _, details = module_stats(net, input_shapes=(2, 4), logging_to_stdout=False)
    assert names(details.params) == [
        "fc-w",
        "f2-w",
        "f2-b",
        "f3-b",
        "list.0-w",
        "list.0-b",
        "inner.0-w",
        "inner.0-b",
        "q-b",
        "bn-w",
        "total",
    ]
    assert names(details.flops) == ["f2", "f2", "f3", "list.0", "inner.0", "total"]


def test_the_model_is_left_as_it_was():
    net = Reading()
    net.inner.eval()
    module_stats(net, input_shapes=(2, 4), logging_to_stdout=False)
    assert net.training and not net.inner.training
    assert {type(part) for part in net.modules()} == {
        Reading,
        M.Linear,
        M.BatchNorm1d,
        M.Sequential,
        M.ReLU,
    }
    assert not any(part._forward_hooks for part in net.modules())


def test_the_model_is_left_as_it_was_after_an_error():
    net = M.Sequential(M.Linear(4, 4), M.Linear(3, 3))
    with pytest.raises(RuntimeError):
        module_stats(net, input_shapes=(2, 4))
    assert net.training and type(net[0]) is M.Linear and not net[0]._forward_hooks


def test_without_inputs(log):
    assert module_stats(Net()) is None
    assert log == ["Inputs or input_shapes is required for running model and calculating stats."]


class Nested(M.Module):
    def __init__(self):
        super().__init__()
        self.fc = M.Linear(4, 4)

    def forward(self, named, listed):
        return self.fc(named["a"]) + listed[0] + listed[1]


ARRAY = np.zeros((2, 4), "float32")


@pytest.mark.parametrize(
    "given",
    [
        {"inputs": ({"a": ARRAY}, [ARRAY, ARRAY])},
        {"inputs": [{"a": mge.Tensor(ARRAY)}, (ARRAY, ARRAY)]},
        {"input_shapes": [{"a": (2, 4)}, [(2, 4), (2, 4)]]},
    ],
)
def test_nested_inputs(given):
    totals, _ = module_stats(Nested(), logging_to_stdout=False, **given)
    assert totals == (80, 20, 36, 32, 8)


@pytest.mark.parametrize(
    "module, shape, flops",
    [
        (M.LayerNorm(4), (2, 3, 4), 168),
        (M.InstanceNorm(4), (2, 4, 3, 3), 504),
        (M.GroupNorm(2, 4), (2, 4, 3, 3), 504),
        (M.AdaptiveAvgPool2d((3, 3)), (1, 2, 6, 6), 18),
        (M.AvgPool2d(3), (1, 2, 6, 6), 72),
        (M.AvgPool2d((2, 3)), (1, 2, 6, 6), 72),
        (M.Conv1d(2, 4, 3), (1, 2, 8), 168),
        (M.Conv3d(1, 2, 2), (1, 1, 4, 4, 4), 486),
        (M.ConvTranspose2d(4, 4, 2, groups=2), (1, 4, 3, 3), 352),
        (M.LocalConv2d(2, 2, 5, 5, 3), (1, 2, 5, 5), 324),
        (M.Linear(4, 3), (2, 4), 27),
        (M.Conv2d(2, 2, 3, dilation=2), (1, 2, 9, 9), 950),
    ],
    ids=lambda value: type(value).__name__,
)
def test_operations(module, shape, flops):
    totals, _ = module_stats(module, input_shapes=[shape], logging_to_stdout=False)
    assert totals.flops == flops


@pytest.fixture
def relu_registered():
    hooks, rules = list(stats.hook_modules), dict(stat_rules._flops)
    stats.register_flops(M.ReLU)(lambda module, inputs, outputs: outputs[0].size)
    yield
    stats.hook_modules[:] = hooks
    stat_rules._flops.clear()
    stat_rules._flops.update(rules)


def test_classes_of_the_users(relu_registered):
    net = M.Sequential(M.ReLU(), M.ReLU())
    assert module_stats(net, input_shapes=(1, 3))[0].flops == 0
    stats.register_hook_module(M.ReLU)
    assert module_stats(net, input_shapes=(1, 3))[0].flops == 6


class Node:
    """A variable of a graph, and the operator that gives it."""

    def __init__(self, shape):
        self.shape, self.owner = shape, type("Operator", (), {})()


def test_networks(log):
    net = Network()
    x = net.make_input_node((2, 3, 8, 8), "float32", name="x")
    y = F.conv2d(x, np.ones((4, 3, 3, 3), "float32"), stride=2, padding=1)
    y = F.conv2d(F.relu(y), np.ones((8, 4, 3, 3), "float32"), padding=1)
    net.add_output(F.matmul(y.mean(axis=(2, 3)), np.ones((8, 5), "float32")))
    totals, details = module_stats(net)
    convolutions = [row for row in details.flops if row.get("class_name") == "Convolution"]
    assert [row["receptive_field"] for row in convolutions] == [(3, 3), (7, 7)]
    assert [row["stride"] for row in convolutions] == [(2, 2), (2, 2)]
    flops = {row["class_name"]: row["flops_num"] for row in details.flops[:-1]}
    assert flops["MatrixMul"] == 2 * 5 * 8
    assert sum(row["flops_num"] for row in convolutions) == 2 * 16 * (4 * 27 + 8 * 36)
    assert totals.param_dims == 4 * 27 + 8 * 36 + 40
    assert "receptive_field  stride" in log[1] and "#ops" in log[3]


def test_receptive_fields_of_nodes():
    @stats.register_receptive_field(M.MaxPool2d)
    def _(module, inputs, outputs):
        (field, stride) = stats.preprocess_receptive_field(module, inputs, outputs)
        size = module.kernel_size
        outputs[0].owner._rf = tuple(f + (size - 1) * s for f, s in zip(field, stride, strict=True))
        outputs[0].owner._stride = tuple(s * module.stride for s in stride)
        return outputs[0].owner._rf, outputs[0].owner._stride

    x, y, z = Node((1, 1, 8, 8)), Node((1, 1, 4, 4)), Node((1, 1, 2, 2))
    pool = M.MaxPool2d(2)
    try:
        stats.enable_receptive_field()
        stats.get_op_stats(pool, [x], [y])
        row = stats.get_op_stats(pool, [y], [z])
    finally:
        stats.disable_receptive_field()
        del stat_rules._fields[M.MaxPool2d]
    assert (row["receptive_field"], row["stride"]) == ((4, 4), (4, 4))
    assert "stride" not in stats.get_op_stats(pool, [x], [y])


@pytest.mark.parametrize(
    "amount, suffix, text",
    [
        (0, "B", "0.000 B"),
        (1023.4, "B", "1023.400 B"),
        (123456789, "B", "117.738 MiB"),
        (12345, "OPs", "12.345 KOPs"),
        (12, "", "12.000 "),
        (1e25, "B", "8.272 YiB"),
        (-5000, "B", "-4.883 KiB"),
    ],
)
def test_sizes(amount, suffix, text):
    assert stats.sizeof_fmt(amount, suffix) == text


def test_observers_go_on_after_a_count():
    net = quantize_qat(M.Sequential(M.Linear(3, 2), M.Linear(2, 2)))
    net[1].act_observer.disable()
    module_stats(net, input_shapes=(1, 3), logging_to_stdout=False)
    assert net.training and net[0].act_observer.training
    assert net[0].act_observer.enabled and not net[1].act_observer.enabled
