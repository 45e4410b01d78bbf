# SPDX-License-Identifier: Apache-2.0
"""``OpDef``: an operator with its parameters as an object, and ``apply``, which runs it.

``functional`` is the interface for computing. These objects represent operators: traced modules
contain some, and programs written for MegEngine's ``core`` make them. Names, parameters, defaults
and their order are those of MegEngine 1.13.
"""

import dataclasses
from typing import TYPE_CHECKING, Any, ClassVar

from ..core.choices import Choice, Strategy, choice  # noqa: F401
from ..tensor import Tensor

# The module of MegEngine's operator classes, where programs and pickles look for them.
_HOME = "megengine.core._imperative_rt.ops"


def _plain(value):
    if isinstance(value, Choice):
        return value.name
    if isinstance(value, Strategy):
        return value.value
    return value if isinstance(value, (bool, int, float, str, tuple)) else str(value)


class OpDef:
    """An operator with its parameters: the annotated attributes of its class, with defaults.

    A class's objects are equal when their parameters are.
    """

    if TYPE_CHECKING:
        # Each class has the parameters that its annotations name.
        def __init__(self, *args: Any, **params: Any) -> None: ...

    _kinds: ClassVar[dict[str, type]] = {}  # enum classes of the parameters whose values have names

    def __init_subclass__(cls):
        dataclasses.dataclass(repr=False, unsafe_hash=True)(cls)
        cls._kinds = {
            field.name: type(field.default)
            for field in dataclasses.fields(cls)
            if isinstance(field.default, (Choice, Strategy))
        }
        if cls.__module__.startswith("megengine.operators.") and cls.__name__[0] != "_":
            cls.__module__ = _HOME
        for name, value in vars(cls).items():
            if isinstance(value, type) and issubclass(value, Choice):
                value.__module__, value.__qualname__ = cls.__module__, f"{cls.__qualname__}.{name}"

    def __setattr__(self, name: str, value) -> None:
        kind = self._kinds.get(name)
        if kind is not None:
            value = self._chosen(kind, name, value)
        elif isinstance(value, list):
            value = tuple(value)
        super().__setattr__(name, value)

    def _chosen(self, kind: type, name: str, value):
        try:
            return kind(value)
        except ValueError:
            raise RuntimeError(
                f"[{type(self).__name__}] there is no {name} {value!r}; there are"
                f" {', '.join(kind.__members__)}"
            ) from None

    def __getstate__(self) -> dict[str, Any]:
        """All parameters, those that have names by their names."""
        state = dict(vars(self))
        return {k: v.name if isinstance(v, Choice) else v for k, v in state.items()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        for name, value in state.items():
            setattr(self, name, value)

    def __call__(self, *inputs: Tensor) -> Tensor | tuple[Tensor, ...]:
        """Apply the operator; returns one Tensor or several.

        Args:
            inputs: Tensors, or a graph's VarNodes.
        """
        raise NotImplementedError

    def _applied(self, inputs: tuple):
        """As ``apply`` calls it; the recorder of modules hooks in here."""
        return self(*inputs)

    def params(self) -> dict:
        """The parameters that are not their defaults, as numbers, texts and tuples."""
        found = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        return {
            field.name: _plain(found[field.name])
            for field in dataclasses.fields(self)
            if found[field.name] != field.default
        }

    def __repr__(self) -> str:
        return type(self).__name__

    def _only(self, **allowed) -> None:
        """Refuse parameters that no kernel has.

        Raises:
            NotImplementedError: a parameter is not the one given here.
        """
        for name, value in allowed.items():
            if getattr(self, name) != value:
                raise NotImplementedError(
                    f"[{type(self).__name__}] {name} must be {value!r}, got {getattr(self, name)!r}"
                )


def apply(op: OpDef, *inputs: Tensor) -> tuple[Tensor, ...]:
    """Apply an operator.

    Args:
        op: the operator with its parameters.
        inputs: Tensors, or a graph's VarNodes.
    Returns:
        A list of all results, even for a single one.
    Raises:
        TypeError: ``op`` is not an operator, or has another number of inputs.
        RuntimeError: the operator does not support such inputs.
    Example:
        >>> from megengine.core.ops.builtin import Elemwise
        >>> apply(Elemwise("add"), Tensor([1.0]), Tensor([2.0]))
        (Tensor([3.], device=xpux:0),)
    """
    if not isinstance(op, OpDef):
        raise TypeError(f"[apply] expected an operator with its parameters, got {op!r}")
    results = op._applied(inputs)
    return (results,) if isinstance(results, Tensor) else tuple(results)
