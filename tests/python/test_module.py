# SPDX-License-Identifier: Apache-2.0
"""Module: what it finds in attributes, hooks, state, representation, pickling."""

import inspect
import pickle
from collections import OrderedDict

import numpy as np
import pytest

import megengine as mge
import megengine.functional as F
import megengine.module as M
from megengine import Parameter, Tensor
from megengine.autodiff import GradManager
from megengine.utils.hook import HookHandler


class Part(M.Module):
    def __init__(self):
        super().__init__()
        self.weight = Parameter([1.0, 2.0])
        self.mean = Tensor([3.0])

    def forward(self, x):
        return x * self.weight


class Whole(M.Module):
    def __init__(self):
        super().__init__()
        self.z_first = Part()
        self.items = [Part(), (Part(), {"deep": Part()})]
        self.table = {"b": Parameter([5.0]), "a": Part()}
        self.shared = self.z_first

    def forward(self, x):
        return self.z_first(x)


def names(found):
    return [name for name, _ in found]


def test_finds_tensors_in_order_of_names_and_once():
    assert names(Whole().named_parameters()) == [
        "items.0.weight",
        "items.1.0.weight",
        "items.1.1.deep.weight",
        "shared.weight",
        "table.a.weight",
        "table.b",
    ]
    assert names(Whole().named_buffers(prefix="net"))[0] == "net.items.0.mean"
    assert len(list(Whole().tensors())) == 11
    assert names(Whole().named_parameters(recursive=False)) == ["table.b"]


def test_named_modules_and_children():
    whole = Whole()
    assert names(whole.named_modules())[:2] == ["", "items.0"]
    assert names(whole.named_children()) == [
        "items.0",
        "items.1.0",
        "items.1.1.deep",
        "shared",
        "table.a",
    ]
    parents = {name: owner for name, _, owner in whole.named_modules(with_parent=True)}
    assert parents["items.0"] is whole and parents[""] is None
    assert [m for m, _ in whole.modules(with_parent=True)] == list(whole.modules())


def test_keys_of_a_dict_with_modules_must_be_strings():
    module = M.Identity()
    with pytest.raises(AssertionError, match="keys for Tensor and Module must be str, error key"):
        module.table = {1: Part()}
        list(module.named_parameters())


def test_modules_cannot_be_assigned_before_init():
    class Early(M.Module):
        def __init__(self):
            self.part = Part()
            super().__init__()

        def forward(self, x):
            return x

    with pytest.raises(AttributeError, match=r"before Module.__init__\(\)"):
        Early()


@pytest.mark.parametrize(
    "make", [lambda: Parameter([1.0]), lambda: Tensor([1.0]), Part, lambda: [Part()], dict]
)
@pytest.mark.parametrize("calls_init", [False, True])
def test_parts_are_assigned_after_init(make, calls_init):
    class Early(M.Module):
        def __init__(self):
            self.number = 3  # other attributes may come first
            self.part = make()
            if calls_init:
                super().__init__()

        def forward(self, x):
            return x

    with pytest.raises(RuntimeError, match=r"\[Early\].*before Module.__init__\(\).*'part'"):
        Early()


def test_attributes_of_a_fresh_module():
    assert set(M.Identity().__dict__) == {
        "_modules",
        "name",
        "training",
        "quantize_disabled",
        "_forward_pre_hooks",
        "_forward_hooks",
        "_name",
        "_short_name",
    }


def test_hooks_run_in_order_and_can_replace():
    module = Part()
    seen = []
    first = module.register_forward_pre_hook(lambda m, inputs: seen.append("a"))
    module.register_forward_pre_hook(lambda m, inputs: inputs[0] + 1)
    module.register_forward_hook(lambda m, inputs, outputs: outputs * inputs[0])
    np.testing.assert_array_equal(module(Tensor([1.0, 1.0])).numpy(), [4, 8])
    assert seen == ["a"]
    assert list(module._forward_pre_hooks) == [first.id, first.id + 1]
    first.remove()
    first.remove()
    module(Tensor([1.0, 1.0]))
    assert seen == ["a"]


def test_state_dict_round_trip():
    a, b = Whole(), Whole()
    for tensor in a.tensors():
        tensor[...] = tensor * 7
    b.load_state_dict(a.state_dict())
    for (name, x), (_, y) in zip(a.named_tensors(), b.named_tensors(), strict=True):
        np.testing.assert_array_equal(x.numpy(), y.numpy(), name)
    kept = a.state_dict(keep_var=True)
    assert kept["shared.weight"] is a.z_first.weight
    assert list(a.state_dict(prefix="p."))[:2] == ["p.table.b", "p.items.0.mean"]


class Shared(M.Module):
    """Parts in lists and dictionaries, and tensors that two have."""

    def __init__(self):
        super().__init__()
        self.first, self.second = M.Linear(2, 2), M.Linear(2, 2)
        self.second.weight = self.first.weight
        self.own = self.first.bias
        self.table = {"y": M.Linear(1, 1, bias=False), "b": [M.ReLU(), Tensor([2.0])]}

    def forward(self, x):
        return self.second(self.first(x))


# As MegEngine 1.13 orders them: a module's own tensors before those of its sub-modules.
SHARED_NAMES = ["own", "table.b.1", "first.bias", "first.weight", "second.bias", "second.weight"]
SHARED_NAMES += ["table.y.weight"]


def test_state_dict_has_every_name_in_megengines_order():
    module, other = Shared(), Shared()
    state = module.state_dict()
    assert list(state) == SHARED_NAMES
    assert [name for name, _ in module.named_parameters()] == [
        "first.bias",
        "first.weight",
        "second.bias",
        "table.y.weight",
    ]
    other.load_state_dict(state)
    # One name of a tensor is enough.
    del state["own"], state["second.weight"]
    other.load_state_dict(state)
    del state["first.weight"]
    with pytest.raises(KeyError, match="missing keys: first.weight, second.weight"):
        other.load_state_dict(state)


class Around(M.Module):
    def __init__(self, part):
        super().__init__()
        self.part = part

    def forward(self, x):
        return self.part(x)


def test_shared_module_is_in_the_state_under_both_names():
    def made():
        encoder = M.Linear(1, 1, bias=False)
        return M.Sequential(encoder, Around(encoder), Around(encoder))

    module, other = made(), made()
    module[0].weight[...] = 5
    state = module.state_dict()
    assert list(state) == ["0.weight", "1.part.weight", "2.part.weight"]
    assert len(list(module.parameters())) == 1
    other.load_state_dict(state)
    assert other[2].part.weight.item() == 5
    del state["0.weight"], state["2.part.weight"]  # as those have it who name a module once
    other.load_state_dict(state)


def test_the_state_of_a_module_that_is_in_itself_has_an_end():
    inner = Around(None)
    outer = Around(inner)
    inner.weight, inner.back = Parameter([1.0]), outer
    assert list(outer.state_dict()) == ["part.weight"]
    assert list(inner.state_dict()) == ["weight"]


def test_hooks_of_a_file_stay_when_others_are_registered():
    module = M.ReLU()
    taken = HookHandler.hook_num
    module.__setstate__({"_forward_hooks": OrderedDict({taken: lambda m, i, o: o + 1})})
    hook = module.register_forward_hook(lambda m, i, o: o * 10)
    assert module(Tensor([2.0])).item() == 30
    hook.remove()
    assert module(Tensor([2.0])).item() == 3


def test_information_of_several_lines_is_indented():
    class Labelled(M.Sequential):
        def _module_info_string(self):
            return "first\nsecond"

    assert repr(Labelled()) == "Labelled(\n  first\n  second\n)"
    assert repr(Labelled(M.ReLU())) == "Labelled(\n  first\n  second\n  (0): ReLU()\n)"


def test_state_of_normalisation_is_flat():
    norm = M.BatchNorm2d(3)
    state = norm.state_dict()
    assert {value.shape for value in state.values()} == {(3,)}
    state["weight"] = np.full((3, 1), 5, np.float32)
    norm.load_state_dict(state)
    assert norm.weight.shape == (1, 3, 1, 1) and norm.weight.numpy()[0, 0, 0, 0] == 5


def test_loading_is_strict_about_names_and_shapes():
    module = Part()
    with pytest.raises(KeyError, match="mean"):
        module.load_state_dict({"weight": np.array([8.0, 9.0], np.float32)})
    np.testing.assert_array_equal(module.weight.numpy(), [8, 9])  # loaded before it was refused
    with pytest.raises(KeyError, match="extra"):
        module.load_state_dict({**module.state_dict(), "extra": np.zeros(1)})
    with pytest.raises(ValueError, match="weight"):
        module.load_state_dict({"weight": np.zeros(3, np.float32)}, strict=False)
    with pytest.raises(ValueError, match=r"got Linear; pass its state_dict\(\)"):
        module.load_state_dict(M.Linear(2, 1))
    with pytest.raises(AssertionError, match="numpy"):
        module.load_state_dict(module.state_dict(keep_var=True))
    assert module.load_state_dict({"weight": np.zeros(2, np.float32)}, strict=False) is None


def test_loading_through_a_function():
    module = Part()

    def value_of(name, tensor):
        return np.zeros(2, np.float32) if name == "weight" else None

    module.load_state_dict(value_of, strict=False)
    np.testing.assert_array_equal(module.weight.numpy(), [0, 0])
    np.testing.assert_array_equal(module.mean.numpy(), [3])
    with pytest.raises(KeyError, match="missing keys: mean"):
        module.load_state_dict(value_of)
    with pytest.raises(ValueError, match="a dict or a function, got list"):
        module.load_state_dict([1])


def test_loaded_values_keep_the_class_and_take_the_dtype():
    module = Part()
    state = module.state_dict()
    state["mean"] = state["mean"].astype(np.float16)
    module.load_state_dict(state)
    assert module.mean.dtype == np.float16
    assert isinstance(module.weight, Parameter)


def test_train_and_eval_reach_all_parts():
    whole = Whole()
    whole.eval()
    assert not any(m.training for m in whole.modules())
    whole.train(recursive=False)
    assert whole.training and not whole.z_first.training
    whole.disable_quantize()
    assert all(m.quantize_disabled for m in whole.modules())


def test_representation_shows_modules_that_were_appended_later():
    net = M.Sequential()
    net.blocks, net.tail = [], M.ReLU()
    net.blocks.append({"up": [M.Identity()]})
    assert repr(net) == "Sequential(\n  (blocks.0.up.0): Identity()\n  (tail): ReLU()\n)"
    net.blocks = None
    net.blocks = [M.ReLU()]
    assert repr(net) == "Sequential(\n  (tail): ReLU()\n  (blocks.0): ReLU()\n)"


def test_representation_follows_the_attributes():
    net = M.Sequential(M.ReLU(), M.Linear(2, 1))
    del net[0]
    assert repr(net) == ("Sequential(\n  (1): Linear(in_features=2, out_features=1, bias=True)\n)")


def test_pickled_module_works_also_without_new_attributes():
    module = M.Linear(2, 2)
    state = {k: v for k, v in module.__dict__.items() if k not in ("_short_name", "_name")}
    old = M.Linear.__new__(M.Linear)
    old.__setstate__(state)
    copy = pickle.loads(pickle.dumps(old))
    x = F.ones((1, 2))
    np.testing.assert_array_equal(copy(x).numpy(), module(x).numpy())


def test_sequential_is_a_sequence():
    a, b, c = M.ReLU(), M.Sigmoid(), M.Identity()
    net = M.Sequential(OrderedDict([("a", a), ("b", b)]))
    assert len(net) == 2 and net[0] is a and list(net) == [a, b] and net.layer_keys == ["a", "b"]
    net[1] = c
    assert net.b is c
    assert isinstance(net[:1], M.Sequential) and len(net[:1]) == 1
    with_function = M.Sequential(M.Linear(2, 1), F.relu, lambda x: x + 1)
    assert float(with_function(F.zeros((1, 2)))) == 1
    assert with_function[1] is F.relu and len(list(with_function.children())) == 1
    with pytest.raises(TypeError, match="0 must be a Module or a function, got list"):
        M.Sequential([a, b])
    with pytest.raises(TypeError, match=r"1 must be a Module or a function, got <class .*ReLU'>"):
        M.Sequential(a, M.ReLU)


def test_wrong_arguments_name_function_and_value():
    with pytest.raises(ValueError, match="in_channels must be divisible by groups"):
        M.Conv2d(3, 4, 3, groups=2)
    with pytest.raises(AssertionError, match="padding_mode"):
        M.Conv2d(3, 4, 3, padding_mode="wrap")
    with pytest.raises(ValueError, match=r"expected 4D input \(got 2D input\)"):
        M.BatchNorm2d(3)(F.ones((2, 3)))
    with pytest.raises(TypeError, match="abstract class Module with abstract method forward"):
        M.Module()


def test_help_shows_the_arguments_of_an_inherited_constructor():
    assert list(inspect.signature(M.BatchNorm2d).parameters)[:2] == ["num_features", "eps"]


@pytest.mark.parametrize("kind", [M.RNN, M.LSTM])
@pytest.mark.parametrize("bias", [True, False, None, 0, 1, 2])
def test_bias_of_recurrent_modules_is_a_truth_value(kind, bias):
    net, usual = kind(2, 3, bias=bias), kind(2, 3, bias=bool(bias))
    assert [p.shape for p in net.parameters()] == [p.shape for p in usual.parameters()]
    assert net(F.ones((4, 1, 2)))[0].shape == (4, 1, 3)


def test_gradient_of_lstm_by_finite_differences():
    mge.random.seed(0)
    net = M.LSTM(2, 3, num_layers=2, bidirectional=True)
    x = mge.random.normal(size=(3, 2, 2))

    def total(inputs):
        output, (h, c) = net(inputs)
        return F.sum(output * output) + F.sum(h) + 2 * F.sum(c)

    with GradManager().attach(x) as gm:
        gm.backward(total(x))
    at, step = x.numpy(), 1e-2
    for place in np.ndindex(*at.shape):
        ends = []
        for sign in (1, -1):
            moved = at.copy()
            moved[place] += sign * step
            ends.append(float(total(Tensor(moved))))
        slope = (ends[0] - ends[1]) / (2 * step)
        np.testing.assert_allclose(x.grad.numpy()[place], slope, atol=2e-3)


def test_frozen_batch_norm_changes_nothing():
    norm = M.BatchNorm2d(2, freeze=True)
    before = norm.state_dict()
    norm(F.ones((2, 2, 2, 2)))
    for name, value in norm.state_dict().items():
        np.testing.assert_array_equal(value, before[name])
    with pytest.raises(AssertionError, match="track_running_stats"):
        M.BatchNorm2d(2, freeze=True, track_running_stats=False)


def test_parameters_are_replaced_by_their_numbers():
    net = M.Sequential(M.Linear(2, 3), M.Linear(3, 1, bias=False))
    old = [p.numpy() for p in net.parameters()]
    shapes = [p.shape for p in old]
    first, last = (mge.Parameter(np.ones(shape, np.float32)) for shape in (shapes[0], shapes[2]))
    assert net.replace_param({10: first, 12: last}, start_pos=10) == 3
    new = list(net.parameters())
    assert new[0] is first and new[2] is last
    np.testing.assert_array_equal(new[1].numpy(), old[1])
    with pytest.raises(AssertionError, match="has shape"):
        net.replace_param({0: mge.Parameter([1.0])}, 0)


@pytest.mark.parametrize("dtype", ["float32", "int32"])
def test_comparison_modules_return_numbers(dtype):
    x, y = (mge.Tensor(values, dtype=dtype) for values in ([1, 2, 3], [1, 3, 2]))
    for method, want in (("eq", [1, 0, 0]), ("lt", [0, 1, 0]), ("leq", [1, 1, 0])):
        got = M.Elemwise(method)(x, y).numpy()
        np.testing.assert_array_equal(got, want)
        assert got.dtype == dtype


@pytest.mark.parametrize("training", [True, False])
def test_variances_that_are_bounded(training):
    rng = np.random.default_rng(2)
    scales = np.array([1, 1e-4, 3], np.float32).reshape(1, 3, 1, 1)
    x = rng.normal(size=(4, 3, 2, 2)).astype(np.float32) * scales
    weight, bias = (rng.normal(size=(1, 3, 1, 1)).astype(np.float32) for _ in range(2))
    mean, var = np.zeros((1, 3, 1, 1), np.float32), np.full((1, 3, 1, 1), 1e-9, np.float32)
    running = mge.Tensor(mean), mge.Tensor(var)
    got = F.nn.sync_batch_norm(
        mge.Tensor(x),
        *running,
        mge.Tensor(weight),
        mge.Tensor(bias),
        training=training,
        eps=1e-3,
        eps_mode="max",
    )
    if training:
        np.testing.assert_allclose(
            running[1].numpy(), 0.9 * var + 0.1 * x.var((0, 2, 3), keepdims=True, ddof=1), rtol=1e-4
        )
        mean, var = (f((0, 2, 3), keepdims=True) for f in (x.mean, x.var))
        np.testing.assert_allclose(running[0].numpy(), 0.1 * mean, rtol=1e-4)
    want = (x - mean) / np.sqrt(np.maximum(var, 1e-3)) * weight + bias
    np.testing.assert_allclose(got.numpy(), want, rtol=1e-4, atol=1e-5)
    with pytest.raises(ValueError, match="eps_mode is 'additive' or 'max', got 'least'"):
        F.nn.sync_batch_norm(mge.Tensor(x), *running, eps_mode="least")


def test_modules_move_to_another_device():
    net = M.Sequential(M.Linear(2, 3), M.BatchNorm1d(3))
    manager = GradManager().attach(net.parameters())

    def step(device):
        with manager:
            result = net(mge.Tensor(np.ones((4, 2), np.float32), device=device))
            manager.backward((result * result).sum())
        return result

    step("cpu0")
    before = dict(net.named_tensors())
    assert net.to("cpu1") is net
    assert all(tensor is before[name] for name, tensor in net.named_tensors())
    assert {tensor.device for tensor in net.tensors()} == {"cpu1:0"}
    assert {parameter.grad.device for parameter in net.parameters()} == {"cpu1:0"}
    assert step("cpu1").device == "cpu1:0"
    with pytest.raises(RuntimeError, match="gpu7"):
        net.to("gpu7")
    assert {tensor.device for tensor in net.tensors()} == {"cpu1:0"}


def test_deprecated_parameter_queries_work():
    module = Part()
    assert names(module.named_parameters(requires_grad=False)) == ["weight"]
    assert len(list(module.parameters(requires_grad=True))) == 1
    with GradManager().attach(module.parameters()) as manager:
        manager.backward(module(Tensor([1.0, 2.0])).sum())
    with pytest.warns(DeprecationWarning, match="zero_grad is deprecated since version 1.0"):
        module.zero_grad()
    np.testing.assert_equal(module.weight.grad.numpy(), [0, 0])


def test_statistics_that_were_left_out_are_not_tracked_later():
    norm = M.BatchNorm2d(3, track_running_stats=False)
    assert norm._track_running_stats_saved is False and M.BatchNorm1d(3)._track_running_stats_saved
    norm.track_running_stats = True
    with pytest.raises(AssertionError, match="no statistics"):
        norm(F.ones((1, 3, 2, 2)))


def test_statistics_can_be_switched_off_later():
    norm = M.BatchNorm2d(3)
    norm.track_running_stats = False
    x = Tensor(np.random.default_rng(0).normal(2, 3, (4, 3, 5, 5)).astype("float32"))
    for training in (True, False):
        result = norm.train(training)(x).numpy()
        np.testing.assert_allclose(result.mean((0, 2, 3)), 0, atol=1e-5)
        np.testing.assert_allclose(result.std((0, 2, 3)), 1, atol=1e-4)
    assert (norm.running_mean.numpy() == 0).all() and (norm.running_var.numpy() == 1).all()


class _Hidden(M.Module):
    """Hides a part from all lists, as classes for MegEngine do."""

    def __init__(self):
        super().__init__()
        self.shown, self.hidden = M.Linear(2, 3), M.Linear(2, 4)

    def forward(self, x):
        return self.shown(x)

    def _flatten(self, **kwargs):
        assert {"with_key", "predicate"} <= set(kwargs)
        is_wanted = kwargs.pop("predicate")
        yield from super()._flatten(
            predicate=lambda part: part is not self.hidden and is_wanted(part), **kwargs
        )


def test_lists_of_parts_go_through_flatten():
    net = _Hidden()
    assert [name for name, _ in net.named_children()] == ["shown"]
    assert list(net.children()) == [net.shown] and list(net.modules()) == [net, net.shown]
    assert [name for name, _ in net.named_modules(prefix="a")] == ["a", "a.shown"]
    plain = list(M.Linear(2, 3)._flatten())
    assert len(plain) == 2 and all(isinstance(part, mge.Parameter) for part in plain)
    assert dict(net.shown._flatten(with_key=True))["bias"] is net.shown.bias

    class Renamed(_Hidden):
        def named_parameters(self, prefix=None, recursive=True):
            return (("p." + name, part) for name, part in super().named_parameters())

    assert len(list(Renamed().parameters())) == 4


def test_the_state_by_class_and_name():
    class Doubled(M.Linear):
        def _state_dict(self, rst=None, prefix="", keep_var=False):
            state = super()._state_dict(rst, prefix, keep_var)
            return {(kind, name.upper()): value for (kind, name), value in state.items()}

    net = M.Sequential(M.Conv2d(1, 2, 1), M.BatchNorm2d(2))
    state = net._state_dict(prefix="net.")
    assert (M.BatchNorm2d, "net.1.weight") in state and (M.Conv2d, "net.0.bias") in state
    assert state[M.BatchNorm2d, "net.1.weight"].shape == (1, 2, 1, 1)
    assert net.state_dict()["1.weight"].shape == (2,)
    assert net._state_dict(keep_var=True)[M.Conv2d, "0.weight"] is net[0].weight
    own = Doubled(2, 3)
    assert set(own.state_dict()) == {"WEIGHT", "BIAS"}
    own.load_state_dict({"WEIGHT": np.ones((3, 2), "float32"), "BIAS": np.ones(3, "float32")})
    assert own.weight.numpy().min() == 1


def test_state_dict_is_made_by_the_parts_that_have_their_own():
    class Renamed(M.Linear):
        """Stores its bias as a row."""

        def _state_dict(self, rst=None, prefix="", keep_var=False):
            state = super()._state_dict(rst, prefix, keep_var)
            state[Renamed, prefix + "row"] = state.pop((Renamed, prefix + "bias")).reshape(1, -1)
            return state

    class Table(M.Module):
        """Lists its parts itself, as classes do that were written after MegEngine's."""

        def __init__(self):
            super().__init__()
            self.__dict__["parts"] = {"x": M.Linear(1, 2), "y": Renamed(2, 2)}

        def forward(self, x):
            return x

        def _state_dict(self, rst=None, prefix="", keep_var=False):
            state = {} if rst is None else rst
            for name, part in self.parts.items():
                part.state_dict(state, f"{prefix}{name}.", keep_var)
            return state

    calls = []

    class Traced(M.Linear):
        def state_dict(self, rst=None, prefix="", keep_var=False):
            calls.append(prefix)
            return super().state_dict(rst, prefix, keep_var)

    net = M.Sequential(Renamed(3, 2), Table(), Around(Traced(2, 1)), M.BatchNorm1d(1))
    state = net.state_dict()
    names = ["0.weight", "0.row", "1.x.bias", "1.x.weight", "1.y.weight", "1.y.row"]
    assert list(state)[:8] == [*names, "2.part.bias", "2.part.weight"]
    assert state["0.row"].shape == (1, 2)
    assert state["3.running_mean"].shape == (1,)
    assert calls == ["2.part."]


def test_load_state_dict_takes_numbers_of_64_bits():
    module = M.Linear(2, 1)
    module.load_state_dict({"weight": np.array([[1.5, 2]]), "bias": np.array([3])})
    assert module.weight.dtype == np.float32 and module.bias.dtype == np.float32
    assert module(Tensor([[2.0, 1.0]])).numpy() == 8


def test_load_state_dict_uses_the_loading_by_a_function_of_the_class():
    class Halved(M.Linear):
        def _load_state_dict_with_closure(self, closure):
            return super()._load_state_dict_with_closure(lambda *a: closure(*a) / np.float32(2))

    module = Halved(2, 1)
    module.load_state_dict({"weight": np.ones((1, 2), "float32"), "bias": np.ones(1, "float32")})
    assert module.weight.numpy().max() == module.bias.numpy().min() == 0.5
    plain = M.Linear(2, 1)
    names = plain._load_state_dict_with_closure(
        lambda name, tensor: tensor.numpy() if name == "bias" else None
    )
    assert names == ({"bias"}, {"weight"})


def test_state_dict_adds_to_a_dictionary_by_class_and_name():
    found = {}
    state = M.Linear(2, 1).state_dict(found, "a.")
    assert list(state) == ["a.bias", "a.weight"]
    assert list(found) == [(M.Linear, "a.bias"), (M.Linear, "a.weight")]
    assert list(M.BatchNorm1d(1).state_dict(found, "b."))[:3] == [*state, "b.bias"]


def test_modules_keep_a_name_of_their_own():
    class Named(M.Module):
        def __init__(self):
            super().__init__()
            self._name = "mine"

        def forward(self, x):
            return x

    class Parent(M.Module):
        def __init__(self):
            super().__init__()
            self.part, self.relu = Named(), M.ReLU()

        def forward(self, x):
            return self.relu(self.part(x))

    parent = Parent()
    assert parent.part._name == "mine" and parent.relu._name == "relu"
