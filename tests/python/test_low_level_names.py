# SPDX-License-Identifier: Apache-2.0
"""Settings and names below the public interface that test suites and training code look at."""

import inspect

import pytest

import megengine as mge
from megengine import Tensor, amp, config
from megengine.core import _config, get_option, set_option
from megengine.core import _trace_option as trace_option
from megengine.core._imperative_rt import core2, ops
from megengine.core.tensor import amp as amp_settings
from megengine.core.tensor import array_method
from megengine.jit.tracing import TraceError
from megengine.module.module import _expand_structure
from megengine.random import rng
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
    assert not _config.benchmark_kernel and not core2.get_auto_format_convert()
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


def test_what_graphs_by_hand_ask_of_tensors():
    x = Tensor([[1.0, 2.0]])
    assert not x._isscalar() and x.sum()._isscalar()
    assert x._dev_tensor().numpy().tolist() == [[1, 2]]


def test_what_operators_of_tensors_are_made_of():
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
