# SPDX-License-Identifier: Apache-2.0
"""Replays the recorded stories of observers, fake quantisers and nets on their way to integers."""

import functools

import numpy as np
import pytest
from oracle import Reader, difference, error_difference

import megengine as mge
import megengine.module as M
import megengine.quantization as Q
from megengine.autodiff import GradManager
from megengine.core.tensor.dtype import get_scale, is_quantize
from megengine.jit import trace
from megengine.module.qat import QATModule
from megengine.module.quantized import QuantizedModule

READER = Reader("quant_modules")
# Rows with a defect are played as far as it does not matter.
ROWS = READER.rows


class Joined(M.Module):
    """Splits axis 0 into parts, quantises each, joins them by a module."""

    def __init__(self, joint, parts):
        super().__init__()
        self.stubs = [M.QuantStub() for _ in range(parts)]
        self.joint = joint
        self.out = M.DequantStub()

    def forward(self, x):
        parts = [stub(x[i]) for i, stub in enumerate(self.stubs)]
        return self.out(
            self.joint(parts) if "Concat" in type(self.joint).__name__ else self.joint(*parts)
        )


def off(module):
    module.disable_quantize()
    return module


NAMES = {
    "M": M,
    "F": mge.functional,
    "Q": Q,
    "mge": mge,
    "np": np,
    "partial": functools.partial,
    "Joined": Joined,
    "off": off,
}


def array(spec):
    return READER.array(spec["ref"])


def expect(what, got, want, factor=1):
    if isinstance(got, mge.Tensor):
        got = got.numpy()
    if want is None or got is None:
        assert want is None and got is None, f"{what}: {got} instead of {want}"
        return
    if isinstance(want, dict) and "ref" in want:
        text = difference(np.asarray(got), array(want), factor=factor)
        assert text is None, f"{what}: {text}"
    else:
        assert got == pytest.approx(want), f"{what}: {got} instead of {want}"


def expect_error(what, spec, call):
    """Whether the row wants an error; it is provoked."""
    if not (isinstance(spec, dict) and "error" in spec):
        return False
    with pytest.raises(Exception) as info:
        call()
    assert error_difference(info.value, spec) is None, what
    return True


def check_qparams(what, knows, want, is_defect):
    if is_defect and "error" in want:
        return
    if expect_error(what, want, knows.get_quantized_dtype):
        return
    qparams = knows.get_qparams()
    assert qparams.mode.name == want["mode"] and qparams.dtype_meta.name == want["dtype"], what
    expect(f"{what}: scale", qparams.scale, want["scale"])
    if not is_defect:
        expect(f"{what}: zero point", qparams.zero_point, want["zero_point"])


def check_dtype(what, dtype, want):
    if want == "float32":
        assert np.dtype(dtype) == np.float32, what
        return
    name, _, rest = want.partition("(")
    numbers = [float(text) for text in rest.rstrip(")").split(",")]
    assert is_quantize(dtype), f"{what} {dtype}"
    about = dtype.metadata["mgb_dtype"]
    assert about["name"] == name, what
    assert get_scale(dtype) == pytest.approx(numbers[0], rel=1e-5), what
    assert about.get("zero_point") == (int(numbers[1]) if numbers[1:] else None), what


def check_state(module, state):
    for name, want in state.items():
        if name in ("mode", "dtype"):
            assert getattr(module, name).name == want, name
        else:
            expect(name, getattr(module, name), want)


def check_modules(net, rows, is_defect):
    """QParams of each QAT module."""
    parts = {name: part for name, part in net.named_modules() if isinstance(part, QATModule)}
    assert parts.keys() == rows.keys()
    for name, row in rows.items():
        part = parts[name]
        for which in ("act", "weight"):
            fake_quant = getattr(part, f"{which}_fake_quant")
            knows = (
                fake_quant
                if hasattr(fake_quant, "get_qparams")
                else getattr(part, f"{which}_observer")
            )
            assert (knows is not None) == (which in row), f"{name} {which}"
            if knows is not None:
                check_qparams(f"{name} {which}", knows, row[which], is_defect)


def settle_tie(net, got, want):
    """`got`, with its outermost element from `want` if they differ by one step of the output.

    A scale that is twice the largest magnitude over 255 puts that element on the tie of 127 and
    128 steps; the last bit of a sum decides.
    """
    steps = [
        part.act_observer.get_qparams().scale.item()
        for part in net.modules()
        if isinstance(part, QATModule) and hasattr(part.act_observer, "get_qparams")
    ]
    at = np.abs(want).argmax()
    is_tie = steps and np.abs([got.flat[at], want.flat[at]]) / steps[-1] == pytest.approx(
        [128, 127], rel=1e-5
    )
    if is_tie:
        got = got.copy()
        got.flat[at] = want.flat[at]
    return got


def train(net, step):
    x = mge.Tensor(array(step["in"]))
    parameters = dict(net.named_parameters())
    for parameter in parameters.values():
        parameter.grad = None
    with GradManager().attach([x, *parameters.values()]) as gm:
        y = net(x)
        gm.backward(y, mge.Tensor(array(step["dy"])))
    expect("out", settle_tie(net, y.numpy(), array(step["out"])), step["out"])
    expect("grad", x.grad, step["grad"], 10)
    for name, want in step["param_grads"].items():
        # Gradients of scales are sums over everything; that of a bias before a normalisation is
        # zero but for what rounding leaves.
        expect(name, parameters[name].grad, want, 1000 if name.endswith("conv.bias") else 100)
    for name, want in step.get("buffers", {}).items():
        expect(name, dict(net.named_buffers())[name], want)


def expect_steps(name, got, want):
    """Checks that real values differ by at most a step, in one element that may be a tie."""
    steps = array(want)
    if want["dtype"] == "QuantizedS32(1)":
        # Recorded stays in 32 bits where the scale of 8 bits is the same one.
        steps = np.clip(steps, -128, 127).astype(np.int8)
        check_dtype(name, got.dtype, "QuantizedS8(1)")
    else:
        check_dtype(name, got.dtype, want["dtype"])
    difference = np.abs(got.numpy().astype(int) - steps)
    assert (difference > 0).sum() <= 1 and difference.max() <= 1, f"{name}: {difference}"
    return difference.max() * get_scale(got.dtype)


class Story:
    """One row, step by step."""

    def __init__(self, row):
        self.is_defect = "defect" in row
        self.subject = eval(row["new"], NAMES)
        tensors = dict(self.subject.named_tensors())
        for name, spec in row.get("values", {}).items():
            ref = spec["ref"] if isinstance(spec, dict) else spec
            tensors[name]._reset(mge.Tensor(READER.array(ref)))

    def forward(self, step):
        expect("out", self.subject(mge.Tensor(array(step["in"]))), step["out"])

    def call(self, step):
        def run():
            return eval(f"subject.{step['text']}", NAMES | {"subject": self.subject})

        expect_error(step["text"], step, run) or run()

    def set(self, step):
        def run():
            exec(f"subject.{step['text']}", NAMES | {"subject": self.subject})

        expect_error(step["text"], step, run) or run()

    def grad(self, step):
        x = mge.Tensor(array(step["in"]))
        parameters = dict(self.subject.named_parameters())
        for parameter in parameters.values():
            parameter.grad = None
        qparams = step.get("qparams_text") and eval(step["qparams_text"], NAMES)
        if expect_error("grad", step, lambda: self.subject(x, qparams)):
            return
        with GradManager().attach([x, *parameters.values()]) as gm:
            y = self.subject(x, qparams)
            gm.backward(y, mge.Tensor(array(step["dy"])))
        expect("out", y, step["out"])
        expect("grad", x.grad, step["grad"])
        for name, want in step["param_grads"].items():
            if step.get("state", {}).get("step_size") and not parameters["step_size"].item():
                continue  # there it is -1 times the factor; here 0, as that of abs at 0
            expect(name, parameters[name].grad, want, 10)

    def qat(self, step):
        self.subject = Q.quantize_qat(self.subject, qconfig=getattr(Q, step["qconfig"]))
        assert repr(self.subject) == step["repr"]

    def train(self, step):
        self.subject.train()
        train(self.subject, step)

    def eval(self, step):
        self.subject.eval()
        expect("out", self.subject(mge.Tensor(array(step["in"]))), step["out"])

    def switch(self, step):
        getattr(Q, step["fn"])(self.subject)

    def reset(self, step):
        Q.reset_qconfig(self.subject, eval(step["text"], NAMES))

    def easy(self, step):
        self.subject.eval()
        Q.apply_easy_quant(self.subject, mge.Tensor(array(step["in"])))

    def quantize(self, step):
        net = Q.quantize(self.subject, inplace=False)
        net.eval()
        if self.is_defect and "error" in step:
            return
        assert repr(net) == step["repr"]
        for name, want in step["tensors"].items():
            tensor = dict(net.named_tensors())[name]
            check_dtype(name, tensor.dtype, want["dtype"])
            expect(name, tensor, want)
        outputs = {}
        for name, part in net.named_modules():
            if isinstance(part, QuantizedModule):
                part.register_forward_hook(lambda _, x, y, name=name: outputs.update({name: y}))
        outputs["out"] = net(mge.Tensor(array(step["in"])))
        differ_by = 0.0
        for name, want in step["module_outputs"].items():
            if want["dtype"] != "float32":
                differ_by += expect_steps(name, outputs[name], want)
        out = outputs["out"].numpy()
        assert np.abs(out - array(step["out"])).max() <= 1.01 * differ_by + 1e-5
        compiled = trace(net, symbolic=True, capture_as_const=True)
        np.testing.assert_array_equal(compiled(mge.Tensor(array(step["in"]))).numpy(), out)

    def quantize_train(self, step):
        net = Q.quantize(self.subject, inplace=False)
        net.train()
        with pytest.raises(ValueError, match="inference"):
            net(mge.Tensor(array(step["in"])))

    def play(self, step):
        getattr(self, step["do"])(step)
        if "error" in step:
            # A refused call leaves everything as it was; there some of it stayed.
            return
        if "state" in step:
            check_state(self.subject, step["state"])
        if "dtype" in step:
            check_dtype("dtype", self.subject.get_quantized_dtype(), step["dtype"])
        if "qparams" not in step:
            return
        if isinstance(self.subject, (Q.Observer, Q.TQT, Q.LSQ)):
            check_qparams("qparams", self.subject, step["qparams"], self.is_defect)
        else:
            check_modules(self.subject, step["qparams"], self.is_defect)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["id"])
def test_matches_the_recording(row):
    if "error" in row:
        assert expect_error("new", row, lambda: Story(row))
        return
    story = Story(row)
    for at, step in enumerate(row["steps"]):
        try:
            story.play(step)
        except AssertionError as error:
            raise AssertionError(f"step {at} ({step['do']}): {error}") from error
