# SPDX-License-Identifier: Apache-2.0
"""Settings and names below the public interface that test suites and training code look at."""

import ast
import importlib
import inspect
import re

import numpy as np
import pytest

import megengine as mge
import megengine.functional as F
import megengine.module as M
from megengine import Tensor, amp, config
from megengine.compat.borrowed_names import borrowed
from megengine.core import _config, _imperative_rt, get_option, set_option
from megengine.core import _trace_option as trace_option
from megengine.core._imperative_rt import core2, ops
from megengine.core._wrap import Device
from megengine.core.tensor import amp as amp_settings
from megengine.core.tensor import array_method, megbrain_graph
from megengine.jit.tracing import TraceError
from megengine.module.module import _expand_structure
from megengine.random import rng
from megengine.traced_module import module_tracer
from megengine.traced_module.module_tracer import BUILTIN_ARRAY_METHOD
from megengine.traced_module.utils import _convert_kwargs_to_args

OPTIONS = {
    "async_level": 2,
    "enable_drop": 0,
    "max_recompute_time": 1,
    "catch_worker_execption": 1,
    "enable_host_compute": 1,
    "disable_memory_forwarding": 0,
    "enable_dtr_auto_drop": 0,
    "enable_dtr_sqrt_sampling": 0,
    "dtr_eviction_threshold": 0,
    "dtr_evictee_minimum_size": 1 << 20,
    "record_computing_path": 0,
}


@pytest.mark.parametrize("name", OPTIONS)
def test_options(name):
    assert get_option(name) == OPTIONS[name]


def test_an_option_that_config_has():
    with pytest.warns(UserWarning, match="no effect"):
        set_option("disable_memory_forwarding", 1)
    assert config.disable_memory_forwarding and get_option("disable_memory_forwarding") == 1
    set_option("disable_memory_forwarding", 0)
    assert not config.disable_memory_forwarding


def test_mixed_precision():
    assert not amp_settings.enabled and not amp_settings._enabled
    assert not core2._get_amp_dtype_autocast() and core2._get_convert_inputs()
    with amp.autocast(low_prec_dtype="bfloat16"):
        assert amp_settings.enabled and core2._get_amp_dtype_autocast()
        assert core2._get_amp_low_prec_dtype() == amp_settings.low_prec_dtype == "bfloat16"
        assert core2._get_amp_high_prec_dtype() == amp_settings.high_prec_dtype == "float32"
    assert core2._set_amp_low_prec_dtype("bfloat16") == "float16"
    assert amp.low_prec_dtype == "bfloat16"
    assert core2._set_amp_low_prec_dtype("float16") == "bfloat16"
    with pytest.raises(AttributeError):
        _ = amp_settings.no_such_name


def test_config_under_its_other_name():
    assert _config._compute_mode == "default" and _config.async_level == 2
    assert not _config.benchmark_kernel and core2.get_auto_format_convert()
    with config._override(compute_mode="float32"):
        assert _config._compute_mode == "float32"
    assert not trace_option.use_xla_backend()
    with pytest.raises(AttributeError):
        _ = _config.no_such_name


def test_names():
    assert TraceError is core2.TraceError is mge.jit.TraceError
    assert issubclass(core2.AsyncError, RuntimeError)
    assert [one.name for one in (core2.DEFAULT, core2.NCHW, core2.NHWC)] == [
        "DEFAULT",
        "NCHW",
        "NHWC",
    ]
    x = Tensor([1.0])
    reference = core2.TensorWeakRef(x)
    assert reference() is x
    del x
    assert reference() is None
    assert core2.astype_cpp(Tensor([1]), "float32").dtype == "float32"
    assert core2.convert_single_value_cpp(2, "float32").dtype == "float32"
    assert not core2.cupti_available()


def test_parts_of_a_structure():
    a, b = Tensor([1]), Tensor([2])
    assert _expand_structure("x", {"b": [b, 5], "a": a}) == [("x.a", a), ("x.b.0", b)]
    assert _expand_structure("x", 5) == []
    with pytest.raises(AssertionError, match="error key"):
        _expand_structure("x", {1: a})


def _function(a, b, c=1, *, d=2):
    pass


@pytest.mark.parametrize("spec", [_function, inspect.getfullargspec(_function)])
def test_arguments_in_order(spec):
    assert _convert_kwargs_to_args(spec, (1,), {"b": 2}) == ((1, 2, 1), {"d": 2})
    assert _convert_kwargs_to_args(spec, (1,), {}, is_bounded=True) == ((1, 1), {"d": 2})
    for args, kwargs in (((1,), {}), ((1, 2), {"a": 1}), ((1, 2), {"z": 1})):
        with pytest.raises(TypeError):
            _convert_kwargs_to_args(spec, args, kwargs)


def test_tensor_interface_for_manual_graphs():
    x = Tensor([[1.0, 2.0]])
    assert not x._isscalar() and x.sum()._isscalar()
    assert x._dev_tensor().numpy().tolist() == [[1, 2]]


def test_decomposition_of_tensor_operators():
    x = Tensor([[1.0, 2.0]])
    assert isinstance(x, array_method.ArrayMethodMixin)
    assert not isinstance(1.0, array_method.ArrayMethodMixin)
    assert array_method._elwise_apply([x, x], "MUL").numpy().tolist() == [[1, 4]]
    assert array_method._reduce("product")(x, axis=1).numpy().tolist() == [2]
    assert array_method._matmul(x, x, transpose_b=True).numpy().tolist() == [[5]]
    assert x._broadcast((2, 2)).numpy().tolist() == [[1, 2], [1, 2]]
    assert x._broadcast(Tensor([2, 2])).shape == (2, 2)


def test_names_of_random_numbers():
    assert rng._infer_broadcasted_shape([Tensor([1.0, 2.0]), Tensor([[1.0], [2.0]])]) == (2, 2)
    spread = rng._broadcast_tensors_with_size([Tensor([1.0, 2.0]), Tensor(1.0)], (3,))
    assert [one.shape for one in spread] == [(3, 2)] * 2
    assert rng.uniform == rng._default_handle.uniform and isinstance(rng._default_rng(), rng.RNG)
    mge.random.seed(3)
    first = next(rng._random_seed_generator())
    mge.random.seed(3)
    assert next(rng._random_seed_generator()) == first
    handle = ops.new_rng_handle("cpu1", 5)
    assert ops.get_rng_handle_compnode(handle) == "cpu1"
    ops.delete_rng_handle(handle)


def test_names_that_modules_import_from_each_other():
    assert F.nn.concat is F.concat and F.loss.maximum is F.maximum
    from megengine.functional.nn import apply
    from megengine.module.conv import Module, _pair_nonzero, conv2d

    assert conv2d is F.conv2d and Module is M.Module and apply is core2.apply
    assert _pair_nonzero(2) == (2, 2)
    for module, names in borrowed().items():
        owner = importlib.import_module(module)
        assert all(hasattr(owner, name) for name in names), module
    with pytest.raises(AttributeError):
        _ = F.nn.no_such_name


def test_base_classes_of_convolutions():
    plain = (M.Conv1d, M.Conv2d, M.Conv3d, M.ConvTranspose2d, M.ConvTranspose3d)
    for kind in (*plain, M.LocalConv2d, M.DeformableConv2d, M.ConvRelu2d):
        assert issubclass(kind, M.conv._ConvNd)
    assert not issubclass(M.ConvBn2d, M.conv._ConvNd)
    assert set(mge.hub.hub.PROTOCOLS) == {"HTTPS", "SSH"}


def test_graphs_by_the_names_of_the_extension_module():
    graph = megbrain_graph.Graph()
    x = _imperative_rt.make_h2d(graph, "xpux", "float32", (2,), "x")
    c = _imperative_rt.make_const(graph, np.array([1.0, 2.0]), "xpux", "float32", "c")
    (y,) = _imperative_rt.invoke_op(ops.Elemwise("mul"), [x, c])
    content, info = megbrain_graph.dump_graph({"y": y}, keep_var_name=2)
    assert (info.inputs, info.outputs, info.tot_bytes) == (["x"], ["y"], len(content))
    with pytest.raises(ValueError, match="two names"):
        megbrain_graph.dump_graph([y, y])
    outputs, _ = megbrain_graph.optimize_for_inference([y], enable_ioc16=True)
    halved, _ = megbrain_graph.dump_graph(outputs)
    assert b"f16" in halved or len(halved) != len(content)
    with pytest.raises(ValueError):
        megbrain_graph.optimize_for_inference([y], enable_no_such=True)
    later = megbrain_graph.VirtualDepNode([y, c])
    assert later.outputs[0].owner.type == "VirtualDep"


def test_the_gradient_of_an_operator():
    attr = _imperative_rt.TensorAttr((2,), "float32", "xpux")
    found = _imperative_rt.make_backward_graph(ops.Elemwise("mul"), [attr] * 2, [True] * 2, [True])
    assert found == ("backward_graph", [True, True, False, True], [True, True])
    found = _imperative_rt.make_backward_graph(ops.Elemwise("exp"), [attr], [True], [True])
    assert found == ("backward_graph", [False, True, True], [True])
    found = _imperative_rt.make_backward_graph(ops.Elemwise("exp"), [attr], [False], [True])
    assert found == ("backward_graph", [False, False, False], [False])


def test_services_of_the_process():
    levels = _imperative_rt.Logger.LogLevel
    before = _imperative_rt.Logger.set_log_level(levels.Error)
    assert _imperative_rt.Logger.set_log_level(before) == levels.Error
    assert mge.logger._imperative_rt_logger.set_log_level(levels.Warn) == before
    _imperative_rt.Logger.set_log_level(before)
    count = _imperative_rt.AtomicUint64(1)
    count += 2
    assert (count.fetch_sub(1), count.load()) == (3, 2)
    config = _imperative_rt.OperatorNodeConfig(name="conv")
    config.comp_node = "cpu0"
    assert (config.name, config.comp_node, config.comp_node_arr) == ("conv", "cpu0", ("cpu0",))
    for places in ([], ["cpu0", "cpu1"]):
        config.comp_node_arr = places
        with pytest.raises(ValueError, match="comp_node is one place"):
            _ = config.comp_node
    place = Device("xpux").to_c()
    assert place == "xpux" and F.eye(2, device=place).device == "xpux"
    assert core2.close() is None and (Tensor([1.0]) + 1).item() == 2
    assert mge.logger.get_logger("listed") in mge.logger._all_loggers


def test_names_of_recorders():
    assert {"__add__", "__ipow__", "reshape", "__setitem__"} <= set(BUILTIN_ARRAY_METHOD)
    assert all(hasattr(Tensor, name) for name in BUILTIN_ARRAY_METHOD)
    assert module_tracer.active_module_tracer() is None


PATHS = """
    core._config core._imperative_rt core._imperative_rt.common core._imperative_rt.core2
    core._imperative_rt.graph core._imperative_rt.imperative core._imperative_rt.ops
    core._imperative_rt.utils core.autodiff.grad core.ops.builtin core.ops.opdef core.tensor.amp
    core.tensor.array_method core.tensor.megbrain_graph core.tensor.utils utils.comp_graph_tools
""".split()


@pytest.mark.parametrize("path", PATHS)
def test_paths_of_megengine_hold_imports_alone_and_lack_no_name(path):
    module = importlib.import_module(f"megengine.{path}")
    doc, *lines = ast.parse(inspect.getsource(module)).body
    assert all(isinstance(line, ast.ImportFrom) for line in lines)
    (home,) = re.findall(r"of ``(.+)``", doc.value.value)
    for name, value in vars(importlib.import_module(home)).items():
        if not name.startswith("_") and not inspect.ismodule(value):
            assert getattr(module, name) is value
