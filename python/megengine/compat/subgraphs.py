# SPDX-License-Identifier: Apache-2.0
"""Functions written in operators: ``subgraph_fn``, under MegEngine's names.

Such a function is described once, by operators and placeholders for its operands. Here a call runs
its operators one after the other; a trace compiles and fuses them.
"""

from collections.abc import Callable, Sequence

from .. import operators as builtin
from ..autodiff.function import Function
from ..core.counted import counted
from ..functional.creation import zeros
from ..operators.opdef import OpDef, apply
from ..tensor import Tensor
from .tensor_utils import Const

# Single functions are not compiled: a trace fuses the operators that it records.
jit_supported = False

_OPERATORS = {
    ("-", 1): builtin.Elemwise("negate"),
    ("abs", 1): builtin.Elemwise("abs"),
    ("exp", 1): builtin.Elemwise("exp"),
    ("log1p", 1): builtin.Elemwise("log1p"),
    ("relu", 1): builtin.Elemwise("relu"),
    ("[?:]", 2): builtin.Subtensor([(0, True, False, False, False)]),
    ("[:?]", 2): builtin.Subtensor([(0, False, True, False, False)]),
    ("+", 2): builtin.Elemwise("add"),
    ("-", 2): builtin.Elemwise("sub"),
    ("*", 2): builtin.Elemwise("mul"),
    ("/", 2): builtin.Elemwise("true_div"),
    ("//", 2): builtin.Elemwise("floor_div"),
    ("**", 2): builtin.Elemwise("pow"),
    ("max", 2): builtin.Elemwise("max"),
    ("min", 2): builtin.Elemwise("min"),
    ("additive", 2): builtin.Elemwise("add"),
    ("switch_gt0", 2): builtin.Elemwise("switch_gt0"),
    ("abs_grad", 2): builtin.Elemwise("abs_grad"),
    ("cond_leq_mov", 3): builtin.Elemwise("cond_leq_mov"),
    ("fma3", 3): builtin.Elemwise("FUSE_MUL_ADD3"),
    ("fma4", 4): builtin.Elemwise("FUSE_MUL_ADD4"),
}


def _operator(op: OpDef | str, count: int) -> OpDef:
    """An operator, or the operator that a sign denotes with so many operands."""
    if not isinstance(op, str):
        return op
    assert (op, count) in _OPERATORS, (
        f"[subgraph] unknown operator {op!r} of {counted(count, 'operand')}"
    )
    return _OPERATORS[op, count]


class _Described(OpDef):
    """Operators and constants in order, each with the indices of its operands and results."""

    name: str = ""
    operands: tuple = ()
    steps: tuple = ()
    outputs: tuple = ()
    outputs_has_grad: tuple = ()

    def __call__(self, *inputs: Tensor) -> tuple[Tensor, ...]:
        if len(inputs) != len(self.operands):
            raise RuntimeError(
                f"[{self.name}] takes {counted(len(self.operands), 'input')}, got {len(inputs)}"
            )
        values = dict(zip(self.operands, inputs, strict=True))
        for op, operands, results in self.steps:
            constant = isinstance(op, Tensor)
            found = (op,) if constant else apply(op, *(values[number] for number in operands))
            values.update(zip(results, found, strict=True))
        return tuple(
            values[number] if has_grad else values[number].detach()
            for number, has_grad in zip(self.outputs, self.outputs_has_grad, strict=True)
        )

    def __repr__(self) -> str:
        return self.name


class SubgraphBuilder:
    """Describes a function: its operands, its operators and its results are numbers.

    Args:
        name: of the function; or a builder, which is continued.
    Example:
        >>> builder = SubgraphBuilder("double")
        >>> x = builder.input()
        >>> builder.outputs(builder.apply(builtin.Elemwise("add"), [x, x], 1))
        >>> apply(builder.get(), Tensor([2.0]))
        (Tensor([4.], device=xpux:0),)
    """

    def __init__(self, name: "str | SubgraphBuilder"):
        other = name if isinstance(name, SubgraphBuilder) else None
        self._name = other._name if other else name
        self._count = other._count if other else 0
        self._operands = list(other._operands) if other else []
        self._steps = list(other._steps) if other else []
        self._outputs: tuple[int, ...] = other._outputs if other else ()
        self._outputs_has_grad: tuple[bool, ...] | None = None

    def _numbers(self, count: int) -> list[int]:
        self._count += count
        return list(range(self._count - count, self._count))

    def input(self) -> int:
        """Add an operand."""
        self._operands += self._numbers(1)
        return self._operands[-1]

    def apply(self, op: OpDef, inputs: Sequence[int], nr_out: int) -> list[int]:
        """Add the results of an operator.

        Args:
            op: the operator with its parameters.
            inputs: indices of its operands.
            nr_out: number of results.
        """
        results = self._numbers(nr_out)
        self._steps.append((op, tuple(inputs), tuple(results)))
        return results

    def apply_const(self, value, dtype, device) -> int:
        """A constant."""
        (number,) = self._numbers(1)
        self._steps.append((Const(value, dtype, device), (), (number,)))
        return number

    def outputs(self, outputs: Sequence[int]) -> None:
        """Set the results of the function."""
        self._outputs = tuple(outputs)

    def outputs_has_grad(self, flags: Sequence[bool]) -> None:
        """Set the results that propagate gradients; all by default."""
        self._outputs_has_grad = tuple(flags)

    def get(self) -> OpDef:
        """The function as an operator."""
        flags = self._outputs_has_grad
        return _Described(
            self._name,
            tuple(self._operands),
            tuple(self._steps),
            self._outputs,
            (True,) * len(self._outputs) if flags is None else flags,
        )

    def compile(self, gopt_level: int) -> OpDef:
        """The function as an operator; the trace that records it determines the level."""
        return self.get()

    def jit_fuse(self) -> OpDef:
        """The function as an operator; a trace that records it fuses it."""
        return self.get()


class _Describing:
    """The two functions passed to a description: one for operators and one for constants."""

    def __init__(self, builder: SubgraphBuilder, dtype, device):
        self._builder = builder
        self._dtype, self._device = dtype, device

    def operator(self, op, *args, nr_out: int | None = None):
        results = self._builder.apply(_operator(op, len(args)), args, nr_out or 1)
        return results[0] if nr_out is None else results

    def constant(self, value, dtype=None, device=None):
        return self._builder.apply_const(value, dtype or self._dtype, device or self._device)

    def function(self, outputs, flags) -> Callable[[], OpDef]:
        builder = SubgraphBuilder(self._builder)
        builder.outputs(outputs)
        builder.outputs_has_grad(flags)
        operator = builder.get()
        return lambda: operator


def _with_gradient(func: Callable, describing: _Describing, inputs: list[int]) -> type[Function]:
    """A function that describes its own backward pass after its ``yield``."""
    description = func(inputs, describing.operator, describing.constant)
    outputs = next(description)
    forward = describing.function(outputs, [False] * len(outputs))
    wanted = description.send([describing._builder.input() for _ in outputs])
    assert len(wanted) == len(inputs), "[subgraph] each input needs a gradient, or None"
    given = [number for number in wanted if number is not None]
    backward = describing.function(given, [True] * len(given))
    description.close()

    class SubgraphOp(Function):
        """One call of the function."""

        def forward(self, *inputs):
            self.inputs = inputs
            results = apply(forward(), *inputs)
            self.shapes = [(result.shape, result.dtype) for result in results]
            return results

        def backward(self, *output_grads):
            if all(grad is None for grad in output_grads):
                return [None] * len(wanted)
            grads = [
                zeros(shape, dtype=dtype) if grad is None else grad
                for grad, (shape, dtype) in zip(output_grads, self.shapes, strict=True)
            ]
            found = iter(apply(backward(), *self.inputs, *grads))
            return [None if number is None else next(found) for number in wanted]

    return SubgraphOp


def subgraph(
    name: str, dtype, device, nr_inputs: int, gopt_level=None, jit_fusion=False, custom_grad=False
) -> Callable:
    """A decorator that makes an operator of a description.

    The description is called once, with the inputs, ``f`` for operators (an ``OpDef`` or a sign
    like ``"+"``, then operands, and ``nr_out`` for several results) and ``c`` for constants. It
    returns the results and, for each, whether it propagates gradients. With ``custom_grad`` it
    yields the results, is sent their gradients, and yields those of the inputs.

    Args:
        name: name of the operator.
        dtype: dtype of constants.
        device: device of constants.
        nr_inputs: number of inputs.
        gopt_level: no effect: a trace compiles the operators that it records.
        jit_fusion: no effect, as ``gopt_level``.
        custom_grad: whether the description computes the gradients itself.
    Returns:
        A decorator whose result gives the operator (an ``OpDef``, or a ``Function``) when called.
    """

    def decorator(func: Callable):
        builder = SubgraphBuilder(name)
        describing = _Describing(builder, dtype, device)
        inputs = [builder.input() for _ in range(nr_inputs)]
        if custom_grad:
            return _with_gradient(func, describing, inputs)
        return describing.function(*func(inputs, describing.operator, describing.constant))

    return decorator


def interpret_subgraph(func: Callable, dtype, device) -> Callable:
    """The function that a description describes, which is followed anew at each call.

    Args:
        func: the description; see ``subgraph``.
        dtype, device: of constants.
    """

    def operator(op, *args, nr_out: int | None = None):
        results = apply(_operator(op, len(args)), *args)
        assert len(results) == (nr_out or 1), (
            f"[subgraph] {op} gives {counted(len(results), 'result')}"
        )
        return results[0] if nr_out is None else results

    def constant(value, dtype=dtype, device=device):
        return Const(value, dtype, device)

    def called(*args):
        outputs, flags = func(args, operator, constant)
        return [
            output if has_grad else output.detach()
            for output, has_grad in zip(outputs, flags, strict=True)
        ]

    return called


def subgraph_fn(
    name: str,
    dtype,
    device,
    nr_inputs: int,
    gopt_level=None,
    jit_fusion=False,
    custom_grad=False,
    *,
    interpret: bool = False,
) -> Callable:
    """A decorator that makes a function of Tensors of a description; see ``subgraph``.

    Args:
        name: name of the operator.
        dtype: dtype of constants.
        device: device of constants.
        nr_inputs: number of input Tensors.
        gopt_level, jit_fusion: no effect.
        custom_grad: whether the description computes the gradients itself.
        interpret: call the description at each call.
    Example:
        >>> @subgraph_fn("square_sum", "float32", "xpux", 2)
        ... def square_sum(inputs, f, c):
        ...     x, y = inputs
        ...     return (f("+", f("*", x, x), f("*", y, y)),), (True,)
        >>> square_sum(Tensor(3.0), Tensor(4.0))
        (Tensor(25.0, device=xpux:0),)
    """

    def decorator(func: Callable):
        if interpret:
            return interpret_subgraph(func, dtype, device)
        op = subgraph(name, dtype, device, nr_inputs, gopt_level, jit_fusion, custom_grad)(func)
        if custom_grad:
            return lambda *args: op()(*args)
        return lambda *args: apply(op(), *args)

    return decorator
