#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes python/megengine/_mge.pyi, the extension module's stub, from the module itself.

Operators, their arguments, defaults and documentation come from the operators' definitions.

    PYTHONPATH=build/dev/python python scripts/make_stubs.py [--check]

With --check nothing is written; the exit code is 1 if the file is not what it should be.
"""

import argparse
import inspect
import math
import sys
import textwrap
from pathlib import Path

from megengine import _mge

STUB = Path(__file__).resolve().parents[1] / "python" / "megengine" / "_mge.pyi"
HEAD = '''# SPDX-License-Identifier: Apache-2.0
# Written by scripts/make_stubs.py; do not edit.
"""{doc}"""

from collections.abc import Sequence
from typing import Any

from .core.operands import Operand

__version__: str
bfloat16: Any
'''
INDENT = "    "
# Special methods with a meaning of their own; the others come from Python's object.
OPERATORS = (
    "add sub mul truediv floordiv mod pow matmul lshift rshift and or xor lt le gt ge eq ne"
).split()


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
    if default is None:  # of plain parameters each has a value
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
    result = "Tensor" if len(outputs) == 1 else "tuple[Tensor, ...]"
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
        lines.append(indent + head.replace("object", "Any") + ":")
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


def tensor_lines():
    """The stub of the plain C type Tensor."""
    kind = _mge.Tensor
    lines = ["", "class Tensor:", *docstring(kind.__doc__, INDENT)]
    lines.append(f"{INDENT}def __init__{with_self(inspect.signature(kind))}: ...")
    for key, value in sorted(vars(kind).items()):
        if inspect.isgetsetdescriptor(value) and not key.startswith("__"):
            lines.append(f"{INDENT}{key}: Any  # {value.__doc__}")
        elif inspect.ismethoddescriptor(value) and not key.startswith("__") and value.__doc__:
            lines.append(f"{INDENT}def {key}{inspect.signature(value)}:")
            lines += docstring(value.__doc__, INDENT * 2)
    for name in OPERATORS:
        lines.append(f"{INDENT}def __{name}__(self, other: Any, /) -> Tensor: ...")
    lines.append(f"{INDENT}def __getitem__(self, key: Any, /) -> Tensor: ...")
    return lines


def with_self(signature):
    text = str(signature)
    return "(self, " + text[1:]


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
    parser.add_argument("--check", action="store_true", help="compare only, write nothing")
    options = parser.parse_args()
    stub = make_stub()
    if options.check:
        if STUB.exists() and STUB.read_text() == stub:
            return 0
        print(f"{STUB} is out of date; run scripts/make_stubs.py", file=sys.stderr)
        return 1
    STUB.write_text(stub)
    return 0


if __name__ == "__main__":
    sys.exit(main())
