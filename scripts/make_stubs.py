#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the extension module's stub, _mge.pyi, from the module itself.

Operators, their arguments, defaults and documentation come from the operators' definitions. The
build writes the stub beside the extension; scripts/lint writes it for the checkers of types.

    PYTHONPATH=build/dev/python python scripts/make_stubs.py [FILE]

FILE is python/megengine/_mge.pyi, which git ignores, unless given.
"""

import argparse
import inspect
import math
import textwrap
from pathlib import Path

from megengine import _mge

STUB = Path(__file__).resolve().parents[1] / "python" / "megengine" / "_mge.pyi"
HEAD = '''# SPDX-License-Identifier: Apache-2.0
# Written by scripts/make_stubs.py.
"""{doc}"""

import collections.abc
import os
from collections.abc import Sequence
from typing import Any, Self, overload

import numpy as np

from .core.operands import Operand
from .tensor import Tensor as _Tensor

__version__: str
bfloat16: Any
operators_symbol: str
PublicTensor = _Tensor  # with the methods that Python adds, as operators give it
'''
INDENT = "    "
# The types of Tensor's members, which the C API does not know.
MEMBER_TYPES = {
    "_is_complex": "bool",
    "_is_symbolic": "bool",
    "_meant_as": "_Tensor",
    "_plain": "_Tensor",
    "_reset": "None",
    "_tuple_shape": "tuple[int, ...]",
    "detach": "_Tensor",
    "device": "Device",
    "dtype": "np.dtype[Any]",
    "format": "str",
    "name": "str",
    "ndim": "int",
    "numpy": "np.ndarray[Any, Any]",
    "shape": "tuple[int, ...]",
    "size": "int",
}
CONVERSIONS = {
    "bool": "bool",
    "complex": "complex",
    "float": "float",
    "index": "int",
    "int": "int",
}
UNARY = "abs ceil floor invert neg pos".split()
IN_PLACE = "add and floordiv lshift matmul mod mul or pow rshift sub truediv xor".split()
# Special methods that are not operators, or that object has.
NOT_OPERATORS = "dict dictoffset doc getnewargs hash init module new weaklistoffset".split()


def docstring(text, indent):
    """The lines of a docstring."""
    lines = text.strip().splitlines()
    if len(lines) == 1:
        return [f'{indent}"""{lines[0]}"""']
    inner = textwrap.indent("\n".join(lines[1:]), indent).splitlines()
    return [f'{indent}"""{lines[0]}', *inner, f'{indent}"""']


def type_of(default):
    """Annotation of a parameter by its default value."""
    if isinstance(default, tuple):
        return "Sequence[int]"
    if default is None:  # plain parameters always have a default
        return "Subgraph | None"
    return type(default).__name__


def shown_default(default):
    """The default value as Python source."""
    if isinstance(default, float) and math.isinf(default):
        return f'float("{default}")'
    return repr(default)


def operator_parameter(parameter):
    if parameter.kind is inspect.Parameter.VAR_POSITIONAL:
        return f"*{parameter.name}: Operand"
    if parameter.kind is inspect.Parameter.KEYWORD_ONLY:
        kind = type_of(parameter.default)
        if parameter.name == "dtype":
            kind = "Any"
        return f"{parameter.name}: {kind} = {shown_default(parameter.default)}"
    if parameter.default is None:
        return f"{parameter.name}: Operand | None = None"
    return f"{parameter.name}: Operand"


def operator_lines(name, function):
    """The stub of one operator."""
    parts = []
    has_star = False
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind is inspect.Parameter.VAR_POSITIONAL:
            has_star = True
        elif parameter.kind is inspect.Parameter.KEYWORD_ONLY and not has_star:
            parts.append("*")
            has_star = True
        parts.append(operator_parameter(parameter))
    outputs = function.__doc__.rstrip().splitlines()[-1].split(",")
    kinds = ", ".join("..." if name.strip() == "..." else "_Tensor" for name in outputs)
    result = kinds if len(outputs) == 1 else f"tuple[{kinds}]"
    return [
        f"{INDENT}@staticmethod",
        f"{INDENT}def {name}({', '.join(parts)}) -> {result}:",
        *docstring(function.__doc__, INDENT * 2),
        "",
    ]


def bound_functions(signatures, indent):
    """Stubs of a function that nanobind made, from what it says about itself."""
    lines = []
    for head, doc, defaults in signatures:
        for k, default in enumerate(defaults or ()):
            head = head.replace(f"\\{k}", repr(default))
        head = head.replace("object", "Any").replace("megengine._mge.", "")
        lines.append(f"{indent}{head}:")
        lines += docstring(doc, indent + INDENT) if doc else [f"{indent}{INDENT}..."]
    return lines


def bound_class_lines(name, kind):
    lines = ["", f"class {name}:", *docstring(kind.__doc__ or name, INDENT)]
    for key, value in sorted(vars(kind).items()):
        signatures = getattr(value, "__nb_signature__", None)
        if signatures:
            lines += bound_functions(signatures, INDENT)
        elif isinstance(value, property):
            lines += [f"{INDENT}@property", f"{INDENT}def {key}(self) -> Any: ..."]
    return lines


def special_method(name):
    """The signature of a special method of Tensor."""
    if name in CONVERSIONS:
        return f"(self) -> {CONVERSIONS[name]}: ..."
    if name in UNARY:
        return "(self) -> _Tensor: ..."
    if name == "round":
        return "(self, digits: int = 0, /) -> _Tensor: ..."
    if name[0] == "i" and name[1:] in IN_PLACE:
        return "(self, other: Any, /) -> Self: ..."
    ignored = "  # type: ignore[override]" if name in ("eq", "ne") else ""  # object's give bool
    return f"(self, other: Any, /) -> _Tensor: ...{ignored}"


def tensor_lines():
    """The stub of the plain C type Tensor."""
    kind = _mge.Tensor
    lines = ["", "class Tensor:", *docstring(kind.__doc__, INDENT)]
    lines.append(f"{INDENT}def __init__{typed(inspect.signature(kind))} -> None: ...")
    for key, value in sorted(vars(kind).items()):
        kind_of_value = MEMBER_TYPES.get(key, "Any")
        special = key.removeprefix("__").removesuffix("__")
        if key.startswith("__"):
            if special not in NOT_OPERATORS:
                lines.append(f"{INDENT}def {key}{special_method(special)}")
        elif inspect.isgetsetdescriptor(value):
            lines.append(f"{INDENT}{key}: {kind_of_value}  # {value.__doc__}")
        elif inspect.ismethoddescriptor(value) and value.__doc__:
            lines.append(f"{INDENT}def {key}{typed(inspect.signature(value))} -> {kind_of_value}:")
            lines += docstring(value.__doc__, INDENT * 2)
    return lines


def typed(signature):
    """A signature with ``self``, and the types that the defaults have."""
    parts = ["self"]
    for parameter in signature.parameters.values():
        if parameter.kind is inspect.Parameter.VAR_POSITIONAL:
            parts.append(f"*{parameter.name}: Any")
        elif parameter.default is inspect.Parameter.empty:
            parts.append(f"{parameter.name}: Any")
        else:
            default = parameter.default
            kind = "Any" if default is None else type(default).__name__
            parts.append(f"{parameter.name}: {kind} = {default!r}")
    return f"({', '.join(parts)})"


def make_stub():
    """The whole file."""
    lines = HEAD.format(doc=_mge.__doc__).splitlines()
    for name, value in sorted(vars(_mge).items()):
        if name.startswith("__") or name in ("ops", "Tensor", "bfloat16"):
            continue
        if isinstance(value, type) and issubclass(value, Exception):
            lines += ["", f"class {name}({value.__base__.__name__}):"]
            lines += docstring(value.__doc__, INDENT)
        elif isinstance(value, type):
            lines += bound_class_lines(name, value)
        elif hasattr(value, "__nb_signature__"):
            lines += ["", *bound_functions(value.__nb_signature__, "")]
    lines += tensor_lines()
    lines += ["", "class ops:", f'{INDENT}"""Every operator."""', ""]
    for name, function in sorted(vars(_mge.ops).items()):
        if not name.startswith("_"):
            lines += operator_lines(name, function)
    lines += ["class updates:", f'{INDENT}"""Operators that change their inputs."""', ""]
    for name, function in sorted(vars(_mge.updates).items()):
        if name.startswith("_"):
            continue
        lines += [
            f"{INDENT}@staticmethod",
            f"{INDENT}def {name}(*inputs: Operand, **params: Any) -> None:",
            *docstring(function.__doc__, INDENT * 2),
            "",
        ]
    return "\n".join(lines).rstrip() + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file", nargs="?", type=Path, default=STUB, help="where to write the stub")
    file = parser.parse_args().file
    file.unlink(missing_ok=True)  # an older build tree has a link there
    file.write_text(make_stub())


if __name__ == "__main__":
    main()
