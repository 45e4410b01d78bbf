# SPDX-License-Identifier: Apache-2.0
"""Wrong calls end in errors that say who complains, what was given and what is allowed."""

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import megengine as mge
import megengine.functional as F
import megengine.module as M
import megengine.optimizer as O
from megengine import Parameter, Tensor, _mge
from megengine.autodiff import GradManager

NAN, INF = float("nan"), float("inf")
ON_GPU = "MGE_TESTS_ON_GPU" in os.environ


def ones(*shape):
    return Tensor(np.ones(shape, np.float32))


def image():
    return ones(1, 4, 4, 4)


def parameters():
    return [Parameter([1.0])]


@pytest.mark.parametrize(
    "make, shape",
    [
        (lambda: M.Linear(0, 3), (2, 0)),
        (lambda: M.Linear(0, 0), (2, 0)),
        (lambda: M.Linear(3, 0), (2, 3)),
        (lambda: M.GroupNorm(2, 0), None),
        (lambda: M.Conv2d(0, 4, 3), None),
        (lambda: M.Conv1d(0, 4, 3), None),
        (lambda: M.Conv3d(0, 4, 3), None),
        (lambda: M.Conv2d(4, 0, 3), None),
        (lambda: M.ConvTranspose2d(0, 4, 3), None),
        (lambda: M.BatchMatMulActivation(0, 0, 0), None),
        (lambda: M.RNNCell(0, 4), (2, 0)),
        (lambda: M.LSTM(0, 4), None),
    ],
)
def test_modules_without_elements_can_be_made(make, shape):
    module = make()
    module.reset_parameters()
    if shape:
        assert module(ones(*shape)).shape[0] == 2
    assert all(np.isfinite(p.numpy()).all() for p in module.parameters())


def test_weights_without_elements_can_be_drawn():
    for draw in (
        M.init.msra_uniform_,
        M.init.msra_normal_,
        M.init.xavier_uniform_,
        M.init.xavier_normal_,
    ):
        draw(ones(0, 0))
        draw(ones(0, 3))


CONVOLUTIONS = (
    M.Conv1d,
    M.Conv2d,
    M.Conv3d,
    M.ConvTranspose2d,
    M.ConvTranspose3d,
    M.DeformableConv2d,
    M.ConvRelu2d,
    M.ConvBn2d,
)


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda: ones(3, 2)["a":2], r"\[index\] a slice has integers or None, got 'a'"),
        (lambda: ones(3, 2)[1.5:], r"\[index\] a slice has integers or None, got 1.5"),
        (lambda: ones(3, 2)[: [2]], r"\[index\] a slice has integers or None, got \[2\]"),
        (lambda: ones(3, 2)[: Tensor(1.5)], r"\[index\] a slice has integers or None, got 1.5"),
        (lambda: ones(3, 2)[::INF], r"\[index\] a slice has integers or None, got inf"),
        (lambda: F.concat(None), r"\[concat\] expected a sequence of Tensors, got NoneType"),
        (lambda: F.stack(3), r"\[stack\] expected a sequence of Tensors, got int"),
        (lambda: F.concat([ones(2), None]), r"\[concat\] operand 1 is None, expected a Tensor"),
        (lambda: F.stack([None, ones(2)]), r"\[stack\] operand 0 is None, expected a Tensor"),
        (lambda: mge.random.shuffle(np.ones(3)), r"\[shuffle\] expected a Tensor, got ndarray"),
        (
            lambda: O.clip_grad_norm(parameters(), "a"),
            r"\[clip_grad_norm\] max_norm must be a number, got 'a'",
        ),
        (lambda: O.clip_grad_norm(parameters(), "1"), r"max_norm must be a number, got '1'"),
        (lambda: F.dropout(ones(2), b"0.5"), r"drop_prob must be a number, got b'0.5'"),
        (lambda: O.clip_grad_norm(parameters(), np.ones(2)), r"must be a number, got array"),
        (lambda: F.dropout([None], 0.5), r"\[tensor\] no Tensor can be made of a list with"),
    ],
)
def test_operands_of_a_wrong_type_are_named(call, message):
    with pytest.raises(TypeError, match=message):
        call()


def test_slices_take_whole_numbers_of_any_type():
    x = ones(3, 2)
    for two in (2, 2.0, np.float32(2), np.array(2), np.array([2]), Tensor([2]), Tensor(2.0)):
        assert x[:two].shape == (2, 2)


def test_attention_names_the_operand_of_another_rank():
    with pytest.raises(RuntimeError, match=r"\[multi_head_attention\] .*query"):
        M.MultiHeadAttention(4, 2)(ones(3, 4), ones(3, 4), ones(3, 4))


@pytest.mark.parametrize("kind", CONVOLUTIONS)
def test_convolutions_name_the_operand_that_is_too_small(kind):
    for name, changed in {
        "groups": {"groups": 0},
        "stride": {"stride": 0},
        "dilation": {"dilation": 0},
        "kernel_size": {"kernel_size": 0},
        "in_channels": {"in_channels": -4},
    }.items():
        arguments = {"in_channels": 4, "out_channels": 4, "kernel_size": 3, **changed}
        with pytest.raises(ValueError, match=f"{name} must be at least [01], got"):
            kind(**arguments)


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda: M.Linear(-1, 3), r"\[Linear\] in_features must be at least 0, got -1"),
        (lambda: M.GroupNorm(0, 4), r"\[GroupNorm\] num_groups must be at least 1, got 0"),
        (lambda: M.BatchNorm2d(-1), r"\[BatchNorm2d\] num_features"),
        (lambda: M.Embedding(-4, 4), r"\[Embedding\] num_embeddings"),
        (lambda: M.LSTM(4, 0), r"\[LSTM\] hidden_size must be at least 1, got 0"),
        (lambda: M.RNN(4, 0), r"\[RNN\] hidden_size"),
        (lambda: M.LSTM(4, 4, num_layers=0), r"\[LSTM\] num_layers"),
        (lambda: M.RNNCell(0, 0), r"\[RNNCell\] hidden_size"),
        (lambda: M.LSTMCell(4, 0), r"\[LSTMCell\] hidden_size"),
        (lambda: M.RegionRestrictedConv(4, 4, 3, groups=0), r"groups must be at least 1"),
        (lambda: M.SlidingWindow(0)(image()), r"\[sliding_window\] kernel_size must be at least 1"),
        (lambda: F.sliding_window(image(), 2, stride=0), r"\[sliding_window\] stride"),
        (lambda: F.sliding_window(image(), 2, dilation=0), r"\[sliding_window\] dilation"),
        (
            lambda: F.sliding_window_transpose(ones(1, 1, 3, 3, 2, 2), (4, 4), 2, stride=0),
            r"\[sliding_window_transpose\] stride",
        ),
        (lambda: F.vision.interpolate(image(), (0, 0)), r"\[interpolate\] size must be at least 1"),
        (lambda: F.vision.interpolate(image(), 0), r"\[interpolate\] size"),
        (lambda: F.vision.interpolate(image(), 2**63), r"\[interpolate\] sizes must be at most"),
        (lambda: F.vision.interpolate(image(), scale_factor=1e30), r"\[interpolate\] sizes"),
        (lambda: F.vision.interpolate(image(), scale_factor=0), r"scale_factor must be positive"),
        (lambda: F.vision.interpolate(image(), scale_factor=-1), r"scale_factor"),
        (lambda: F.vision.interpolate(image(), scale_factor=NAN), r"scale_factor"),
        (lambda: F.vision.interpolate(image(), scale_factor=INF), r"scale_factor"),
        (lambda: F.vision.interpolate(image(), scale_factor=0.1), r"\[interpolate\] size"),
        (lambda: F.vision.interpolate(ones(1, 4, 0, 4), (2, 2)), r"axis of the input"),
        (
            lambda: F.conv2d(image(), ones(4, 4, 3, 3), groups=0),
            r"\[conv2d\] groups must be at least",
        ),
        (lambda: F.conv2d(image(), ones(4, 4, 3, 3), groups=-1), r"\[conv2d\] groups"),
        (lambda: F.conv1d(ones(1, 4, 4), ones(4, 4, 3), groups=0), r"\[conv1d\] groups"),
        (
            lambda: F.conv3d(ones(1, 4, 4, 4, 4), ones(4, 4, 3, 3, 3), groups=0),
            r"\[conv3d\] groups",
        ),
        (lambda: F.conv_transpose2d(image(), ones(4, 4, 3, 3), groups=0), r"groups"),
        (lambda: F.conv_transpose3d(ones(1, 4, 4, 4, 4), ones(4, 4, 3, 3, 3), groups=0), r"groups"),
        (
            lambda: F.deformable_conv2d(
                image(), ones(4, 4, 3, 3), ones(1, 18, 2, 2), ones(1, 9, 2, 2), groups=0
            ),
            r"\[deformable_conv2d\] groups",
        ),
        (lambda: F.local_conv2d(image(), ones(1, 2, 2, 4, 3, 3, 4), stride=0), r"stride"),
        (
            lambda: F.vision.correlation(image(), image(), kernel_size=0),
            r"\[correlation\] kernel_size must be at least 1, got 0",
        ),
        (lambda: F.vision.correlation(image(), image(), stride1=0), r"\[correlation\] stride1"),
        (lambda: F.vision.correlation(image(), image(), stride2=0), r"\[correlation\] stride2"),
        (
            lambda: F.vision.correlation(image(), image(), max_displacement=-1),
            r"\[correlation\] max_displacement",
        ),
        (lambda: F.vision.correlation(image(), image(), pad_size=-1), r"\[correlation\] pad_size"),
        (lambda: F.vision.roi_align(image(), ones(1, 5), (0, 0)), r"\[roi_align\] output_shape"),
        (
            lambda: F.vision.roi_align(image(), ones(1, 5), (1, 1), sample_points=0),
            r"\[roi_align\] sample_points",
        ),
        (
            lambda: F.vision.warp_affine(image(), ones(1, 2, 3), (0, 0)),
            r"\[warp_affine\] out_shape",
        ),
        (lambda: F.vision.warp_perspective(image(), ones(1, 3, 3), (0, 1)), r"out_shape"),
    ],
)
def test_sizes_that_are_too_small_are_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.parametrize("key", [5, -4, [9], Tensor(9), Tensor([0, 9]), (None, 5)])
def test_an_index_beyond_the_end_is_one_error(key):
    """Python's IndexError, and MegEngine's RuntimeError; on a GPU it is raised by the next wait."""
    for error in (IndexError, RuntimeError):
        with pytest.raises(
            error, match="index [59-] ?4? ?is out of range|index -4 is out of range"
        ):
            Tensor([1, 2, 3])[key].numpy()
        with pytest.raises(error, match="is out of range for axis"):
            x = Tensor([1, 2, 3])
            x[key] = 1
            x.numpy()


OPTIMIZERS = {
    O.SGD: (AssertionError, ("lr", "momentum", "weight_decay")),
    O.Adam: (ValueError, ("lr", "eps", "weight_decay")),
    O.AdamW: (ValueError, ("lr", "eps", "weight_decay")),
    O.Adagrad: (AssertionError, ("lr", "lr_decay", "eps", "weight_decay")),
    O.Adadelta: (AssertionError, ("lr", "rho", "eps", "weight_decay")),
}


@pytest.mark.parametrize("kind", OPTIMIZERS)
@pytest.mark.parametrize("value", [NAN, INF, -1.0, "a", None])
def test_options_of_optimizers_are_finite_numbers(kind, value):
    error, names = OPTIMIZERS[kind]
    for name in names:
        if name == "eps" and value == -1.0 and issubclass(kind, O.Adam):
            continue  # MegEngine takes it
        with pytest.raises(error, match=f"Invalid .*: {value}"):
            kind(parameters(), **{"lr": 0.1, name: value})
        with pytest.raises(error, match=f"Invalid .*: {value}"):
            kind([{"params": parameters(), name: value}], lr=0.1)


def test_betas_are_two_numbers_below_one():
    for betas in ((0.9,), 0.9, (0.9, 0.9, 0.9), (NAN, 0.9), (0.9, 1.0), (-0.1, 0.9)):
        for kind in (O.Adam, O.AdamW):
            with pytest.raises(ValueError, match="Invalid beta"):
                kind(parameters(), lr=0.1, betas=betas)


def test_schedules_and_clipping_are_checked():
    optimizer = O.SGD(parameters(), lr=0.1)
    for milestones in ([2, 1], ["a"], [NAN]):
        with pytest.raises(ValueError, match="increasing integers"):
            O.MultiStepLR(optimizer, milestones)
    with pytest.raises(ValueError, match="Invalid gamma: nan"):
        O.MultiStepLR(optimizer, [1], gamma=NAN)
    for max_norm in (NAN, -1):
        with pytest.raises(ValueError, match="max_norm"):
            O.clip_grad_norm(parameters(), max_norm)
    for lower, upper in ((1, NAN), (NAN, 1)):
        with pytest.raises(ValueError, match="bounds must be numbers"):
            O.clip_grad_value(parameters(), lower, upper)


@pytest.mark.parametrize(
    "data", [object(), {}, [None], [1.0, None], [[1], [None]], [{}], ["a", None]]
)
def test_other_objects_are_not_converted(data):
    with pytest.raises((TypeError, RuntimeError), match=r"\[tensor\] "):
        Tensor(data)


def test_none_makes_the_empty_tensor_of_megengine():
    assert Tensor(None).shape == (0,) and Tensor([]).shape == (0,)


def test_resume_trace_accepts_the_result_of_pause_trace():
    for wrong in (5, "x", object()):
        with pytest.raises(TypeError, match="what pause_trace returned"):
            _mge.resume_trace(wrong)
    _mge.resume_trace(_mge.pause_trace())


def test_inputs_and_outputs_have_separate_names(tmp_path):
    traced = mge.jit.trace(capture_as_const=True)(lambda x: x + 1)
    traced(Tensor([1.0]))
    with pytest.raises(ValueError, match="'x' names an input and an output"):
        traced.dump(tmp_path / "o.mge", arg_names=["x"], output_names=["x"])
    assert not list(tmp_path.iterdir())
    info = traced.dump(tmp_path / "o.mge", arg_names=["add"])
    assert info.inputs == ["add"] and info.outputs != info.inputs


def test_models_of_every_kind_are_loaded(tmp_path):
    data = Path(__file__).parents[1] / "data"
    model = _mge.load(str(data / "megengine" / "dynamic.v2.mge"))
    assert model.input_names and model.output_names and model.text
    (tmp_path / "none").write_bytes(b"\xff\xfenothing")
    with pytest.raises(RuntimeError, match="not a model this program knows"):
        _mge.load(str(tmp_path / "none"))


def run_with(program, **variables):
    package = {"PYTHONPATH": str(Path(mge.__file__).parents[1]), **variables}
    command = [sys.executable, "-c", program]
    return subprocess.run(command, env={**os.environ, **package}, capture_output=True, text=True)


@pytest.mark.parametrize(
    "variable, value, allowed",
    [
        ("MEGENGINE_LOGGING_LEVEL", "loud", "DEBUG"),
        ("MGE_FASTRUN_CACHE_TYPE", "disk", "neither FILE nor MEMORY"),
    ],
)
def test_wrong_variables_are_reported_once(tmp_path, variable, value, allowed):
    program = "import megengine.utils.persistent_cache as p; p.keep_measurements(); p._is_kept()"
    done = run_with(program, MGE_FASTRUN_CACHE_DIR=str(tmp_path), **{variable: value})
    assert done.returncode == 0
    (line,) = done.stderr.splitlines()
    assert f"[{variable}] '{value}'" in line and allowed in line


WRONG_NUMBERS = {
    "in_features must be an integer, got 'a'": lambda: M.Linear("a", 3),
    "num_features must be an integer, got None": lambda: M.BatchNorm2d(None),
    "kernel_size must be an int or two ints, got None": lambda: F.max_pool2d(image(), None),
    "stride must be an int or two ints, got (1, 'b')": lambda: F.avg_pool2d(image(), 2, (1, "b")),
    "oshp must be an int or two ints, got None": lambda: F.adaptive_avg_pool2d(image(), None),
    "stride must be an int or three ints, got (1, 1)": lambda: F.conv3d(
        ones(1, 1, 2, 2, 2), ones(1, 1, 1, 1, 1), stride=(1, 1)
    ),
    "size must be a sequence, got 1.5": lambda: F.vision.interpolate(image(), 1.5),
    "scale_factor must be a number, got 'b'": lambda: F.vision.interpolate(
        image(), scale_factor=(1.0, "b")
    ),
    "size must be an int or a height and a width, got [2]": lambda: F.vision.resize(image(), [2]),
    "out_shape must be a sequence, got None": lambda: F.warp_affine(
        image(), ones(1, 2, 3), None, format="NCHW"
    ),
    "out_shape must be an int or a height and a width, got [2]": lambda: F.warp_perspective(
        image(), ones(1, 3, 3), [2]
    ),
    "angle must be a number, got None": lambda: F.vision.rotate(image(), None),
    "iou_thresh must be a number, got 'a'": lambda: F.vision.nms(ones(2, 4), ones(2), "a"),
    "drop_prob must be a number, got None": lambda: F.dropout(image(), None),
    "upscale_factor must be an integer, got 1.5": lambda: F.pixel_shuffle(image(), 1.5),
    "num_groups must be an integer, got str": lambda: F.group_norm(image(), "a", False),
    "normalized_axis must be a sequence, got None": lambda: F.nn.general_norm(image(), None, False),
    "nsplits_or_sections must be a sequence, got None": lambda: F.split(image(), None),
    "pad_width must be a sequence, got None": lambda: F.nn.pad(image(), None),
    "a pair of widths must be a sequence, got 1": lambda: F.nn.pad(image(), [1]),
    "a width must be an integer, got 1.5": lambda: F.nn.pad(image(), [(1.5, 0)]),
    "axis must be an integer, got str": lambda: F.swapaxes(image(), "a", 1),
    "equation must be a str, got int": lambda: F.einsum(1, image()),
}


@pytest.mark.parametrize("text", WRONG_NUMBERS)
def test_a_number_of_the_wrong_type(text):
    with pytest.raises(TypeError, match=r"^\[\w+\] " + re.escape(text)):
        WRONG_NUMBERS[text]()


@pytest.mark.parametrize("value", ["0", "-1", "many", "5000"])
def test_invalid_thread_count_is_reported_by_import(value):
    done = run_with("import megengine", MGE_THREADS=value)
    assert done.returncode == 1
    assert "ValueError: [MGE_THREADS]" in done.stderr.splitlines()[-1]
    assert done.stderr.count("  File ") == 3, done.stderr  # theirs, the package, and who looked


def test_group_that_is_not_a_dict():
    optimizer = O.SGD([mge.Parameter([1.0])], 0.1)
    with pytest.raises(AssertionError, match="must be a dict, got list"):
        optimizer.add_param_group([mge.Parameter([2.0])])


def test_wrong_cuts_keep_their_messages():
    x = Tensor(np.zeros((2, 5), np.float32))
    with pytest.raises(ValueError) as found:
        F.split(x, [3, 2, 5], axis=1)
    assert str(found.value) == "Invalid nsplits_or_secions: [3, 2, 5]"
    with pytest.raises(ValueError, match="^Number sections must be larger than 0$"):
        F.split(x, 0)
    with pytest.raises(ValueError, match="count must be in"):
        F.split(x, 3)


WRONG_OPERANDS = {
    "dtype": (
        lambda: F.conv2d(image().astype("int32"), ones(1, 4, 1, 1).astype("int32")),
        TypeError,
    ),
    "value": (lambda: F.layer_norm(ones(2, 3), (3,), True, ones(2), ones(3)), ValueError),
    "index": (lambda: ones(2)[2], IndexError),
    "many indices": (lambda: Tensor(1.0)[0], IndexError),
    "axis": (lambda: F.swapaxes(ones(2), 0, 1), IndexError),
    "an axis to split": (lambda: F.split(ones(2), 2, axis=1), ValueError),
    "shape": (lambda: F.matmul(Tensor(1.0), ones(2, 3)), AssertionError),
}


def test_several_shifts_of_one_axis():
    with pytest.raises(TypeError, match=r"\[roll\].*\(1, 1\)"):
        F.roll(ones(2, 2), (1, 1), 0)
    with pytest.raises(AssertionError, match="2 shifts for 1 axis"):
        F.roll(ones(2, 2), (1, 1), (0,))


def test_channels_that_do_not_divide():
    for count, channels in ((3, "3 channels"), (1, "1 channel")):
        with pytest.raises(RuntimeError, match=f"4 does not divide {channels}$"):
            F.pixel_shuffle(ones(1, count, 2, 2), 2)


def test_one_repetition_is_not_enough():
    with pytest.raises(AssertionError, match=r"at least 1 entry, none negative, got \[\]$"):
        F.tile(ones(2), ())


@pytest.mark.parametrize("name", WRONG_OPERANDS)
def test_library_refusals_are_runtime_errors_too(name):
    call, closest = WRONG_OPERANDS[name]
    with pytest.raises(closest) as caught:
        call()
    assert isinstance(caught.value, RuntimeError)


AFFINE = {
    "layer_norm": lambda **given: F.layer_norm(ones(1, 4), (4,), True, **given),
    "group_norm": lambda **given: F.group_norm(image(), 2, True, **given),
    "instance_norm": lambda **given: F.instance_norm(image(), True, **given),
    "general_norm": lambda **given: F.nn.general_norm(image(), 1, True, **given),
}


@pytest.mark.parametrize("name", AFFINE)
def test_affine_without_its_factors(name):
    with pytest.raises(AssertionError, match="affine needs a weight"):
        AFFINE[name]()
    with pytest.raises(AssertionError, match="affine needs a bias"):
        AFFINE[name](weight=ones(4))


@pytest.mark.parametrize(
    "call",
    [
        lambda: F.roll(ones(2), 1, 1),
        lambda: F.dot(ones(1, 2), ones(2)),
        lambda: F.nn.general_norm(ones(2, 2), 2, False),
        lambda: F.conv1d(ones(1, 2, 3), ones(1, 2, 1), ones(1)),
        pytest.param(
            lambda: F.nn.ctc_loss(F.full((2, 1, 2), 0.5), Tensor([2]), Tensor([1, 1]), Tensor([1])),
            marks=pytest.mark.skipif(ON_GPU, reason="lengths are checked on CPUs only"),
        ),
        lambda: F.batch_norm(ones(2, 3)),
        lambda: F.vision.nms(ones(3, 4), ones(2), 0.5),
        lambda: F.vision.interpolate(ones(1, 1, 2, 2), scale_factor=[2, 2, 2]),
        lambda: M.GeneralNorm((3,))(ones(2, 3)),
        lambda: mge.random.permutation("5"),
        lambda: mge.random.permutation(2.5),
    ],
)
def test_megengine_assertions(call):
    with pytest.raises(AssertionError):
        call()


@pytest.mark.parametrize("axis", [2, -3])
def test_class_axis_must_exist(axis):
    for call in (
        lambda: F.indexing_one_hot(ones(3, 3), Tensor([0, 1, 2]), axis),
        lambda: F.nn.cross_entropy(ones(3, 3), Tensor([0, 1, 2]), axis),
    ):
        with pytest.raises(IndexError, match=f"axis {axis} is out of range for rank 2"):
            call()


def test_margins_beyond_all_memory_are_refused_at_once():
    with pytest.raises(MemoryError, match=r"[0-9]{17} bytes"):
        F.nn.pad(ones(1, 1), (((1 << 31) - 1,) * 2, (1 << 20,) * 2))


def test_a_norm_over_more_channels_than_there_are():
    x = Tensor(np.random.RandomState(0).rand(2, 3, 2, 2).astype(np.float32))
    all_channels = F.local_response_norm(x, 5, alpha=0.3).numpy()
    assert np.array_equal(F.local_response_norm(x, (1 << 31) - 1, alpha=0.3), all_channels)


def test_data_without_shape_is_a_value_error():
    for error in (ValueError, RuntimeError):
        with pytest.raises(error, match="no array can be made"):
            Tensor([1, [2, 3]])
        with pytest.raises(error, match="except for one -1"):
            F.reshape(F.zeros((2, 3)), (-1, -1))


def test_scatter_needs_as_many_values_as_positions():
    with pytest.raises(ValueError, match="source has size 2 along axis 0, index 1"):
        F.scatter(F.zeros((2, 3)), 1, Tensor([[0, 2]]), F.ones((2, 2)))


def test_schedule_state_round_trips():
    def schedule(lr, milestones):
        return O.MultiStepLR(O.SGD([mge.Parameter([1.0])], lr=lr), milestones, gamma=0.5)

    saved = schedule(0.1, [2, 4]).state_dict()
    other = schedule(0.3, [3])
    other.load_state_dict(saved)
    assert other.state_dict() == saved
    del saved["gamma"]
    with pytest.raises(KeyError, match="gamma"):
        other.load_state_dict(saved)


def test_options_are_first_in_the_state_of_an_optimizer():
    group = O.SGD([mge.Parameter([1.0])], lr=1).state_dict()["param_groups"][0]
    assert list(group)[-1] == "params"


@pytest.mark.parametrize("call", [F.cumsum, F.logsoftmax])
def test_functions_of_an_axis_take_one(call):
    with pytest.raises(TypeError, match=f"{call.__name__}. axis must be an integer.*got None"):
        call(ones(2, 3), None)


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda x: F.nn.sliding_window(x, 2), "sliding_window. inp must have rank 4, got 3"),
        (
            lambda x: F.nn.sliding_window_transpose(x, 5, 2),
            "sliding_window_transpose. inp must have rank 6, got 3",
        ),
        (
            lambda x: F.local_conv2d(x, ones(1, 2, 2, 1, 2, 2, 1)),
            "local_conv2d. inp must have rank 4, got 3",
        ),
        (lambda x: F.local_conv2d(image(), x), "local_conv2d. weight must have rank 7, got 3"),
        (
            lambda x: F.deformable_conv2d(image(), ones(1, 4, 2, 2), x, image()),
            "deformable_conv2d. offset must have rank 4, got 3",
        ),
        (lambda x: F.vision.correlation(image(), x), "correlation. data2 must have rank 4, got 3"),
    ],
)
def test_sliding_window_ranks_are_named(call, message):
    with pytest.raises(RuntimeError, match=message):
        call(ones(1, 4, 4))


@pytest.mark.parametrize("make", [M.RNN, M.LSTM])
@pytest.mark.parametrize("batch_first", [False, True])
def test_empty_sequences_raise(make, batch_first):
    net = make(3, 4, batch_first=batch_first)
    with pytest.raises(RuntimeError, match="the sequences must have a step"):
        net(F.zeros((2, 0, 3) if batch_first else (0, 2, 3)))


@pytest.mark.parametrize(
    "call",
    [
        lambda x: F.sum(x, 1.5),
        lambda x: F.argmax(x, 1.5),
        lambda x: F.norm(x, 2, [0.5]),
        lambda x: F.squeeze(x, "a"),
        lambda x: F.expand_dims(x, 0.5),
        lambda x: F.roll(x, 1, 1.5),
    ],
)
def test_axes_that_are_not_integers_are_named(call):
    with pytest.raises(TypeError, match=r"\] axis must be an integer, got") as caught:
        call(F.ones((2, 3)))
    assert isinstance(caught.value, RuntimeError)  # MegEngine's class


def test_one_value_where_several_are_wanted():
    x = F.ones((2, 3))
    with pytest.raises(TypeError, match=r"\[tile\] reps must be a sequence of ints, got 1\.5"):
        F.tile(x, 1.5)
    with pytest.raises(RuntimeError, match="pattern must be a sequence of axes, got 1"):
        F.transpose(x, 1)
    with pytest.raises(TypeError, match=r"\[roll\] shift must be an integer, got 1\.5"):
        F.roll(x, 1.5, 1)
    for wrong in [(3.0,), (x, 3.0)]:
        with GradManager().attach(x) as gm, pytest.raises(TypeError, match="y must be a Tensor"):
            gm.backward(*wrong)
