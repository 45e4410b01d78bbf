# SPDX-License-Identifier: Apache-2.0
"""Lookup of parts in a Module, and normalised arguments of calls."""

import contextlib
import inspect
import types
from collections.abc import Callable

from ..module import Module
from .graph_member import GraphOwner


def rstrip(s: str, __chars: str) -> str:
    """A text without an ending.

    Args:
        s: the text.
        __chars: the ending, taken away once if it is there.
    Example:
        >>> rstrip("block.conv", ".conv")
        'block'
    """
    return s.removesuffix(__chars)


def get_suffix_name(prefix: str, name: str) -> str | None:
    """The rest of a path after a prefix.

    Args:
        prefix: the path of an owner.
        name: the whole path.
    Returns:
        The rest; an empty string if the two are equal; None if the path does not have the prefix.
    Example:
        >>> get_suffix_name("net.block", "net.block.conv")
        'conv'
    """
    if name == prefix:
        return ""
    return name[len(prefix) + 1 :] if name.startswith(prefix + ".") else None


def get_subattr(self, name: str):
    """The attribute of a Module at a path.

    Args:
        self: the Module.
        name: path of attributes and, in lists and dicts, indices and keys: ``"blocks.0.weight"``;
            an empty path is the Module itself.
    Returns:
        The attribute.
    Raises:
        AttributeError: there is no such attribute; the message names the part of the path.
    Example:
        >>> get_subattr(M.Sequential(M.Linear(2, 3), M.ReLU()), "0.bias").shape
        (3,)
    """
    found = self
    parts = name.split(".") if name else []
    for depth, part in enumerate(parts):
        try:
            if isinstance(found, (list, tuple)):
                found = found[int(part)]
            elif isinstance(found, dict):
                found = found[part]
            else:
                # Read as an attribute, so that a recorder sees it, but not from the class.
                if part not in vars(found):
                    raise KeyError(part)
                found = getattr(found, part)
        except (KeyError, IndexError, ValueError, TypeError):
            raise AttributeError(
                f"[traced_module] {type(self).__name__} has no {'.'.join(parts[: depth + 1])!r}"
                f" (of {name!r})"
            ) from None
    return found


def set_subattr(module: Module, name: str, value) -> None:
    """Put something under a path of a Module; Modules that are missing on the way are an error."""
    path, _, last = name.rpartition(".")
    owner = get_subattr(module, path) if path else module
    if isinstance(owner, list):
        owner[int(last)] = value
    elif isinstance(owner, dict):
        owner[last] = value
    else:
        setattr(owner, last, value)


def assign_attr(obj, module: Module, target: str) -> None:
    """``set_subattr`` under MegEngine's name.

    Args:
        obj: the new value of the attribute.
        module: the Module at the start of the path.
        target: path of the attribute: ``"block.conv"``.
    Example:
        >>> net = M.Sequential(M.ReLU())
        >>> assign_attr(M.Sigmoid(), net, "0")
        >>> net[0]
        Sigmoid()
    """
    set_subattr(module, target, obj)


def signature_of(func: Callable) -> inspect.Signature | None:
    """The signature of a function of Python or of a method of Tensor, None for any other."""
    if isinstance(func, types.FunctionType):
        func = vars(func).get("_before_recording", func)
    innermost = inspect.unwrap(func)
    if isinstance(innermost, (types.WrapperDescriptorType, types.MethodDescriptorType)):
        return _signature_of_slot(innermost)
    return inspect.signature(func) if isinstance(func, types.FunctionType) else None


def _signature_of_slot(func: Callable) -> inspect.Signature:
    """The signature of a method that is written in C, with MegEngine's names of the arguments."""
    kinds = inspect.Parameter
    parameters = [kinds("self", kinds.POSITIONAL_OR_KEYWORD)]
    with contextlib.suppress(ValueError):  # CPython reports no signature for __round__
        for parameter in inspect.signature(func).parameters.values():
            # The third operand of pow(x, y, z) is Python's alone.
            if parameter.name not in ("self", "mod"):
                parameters.append(parameter)
    return inspect.Signature(
        kinds({"key": "index"}.get(p.name, p.name), kinds.POSITIONAL_OR_KEYWORD)
        if p.kind is kinds.POSITIONAL_ONLY
        else p
        for p in parameters
    )


def signature_of_forward(module: Module) -> inspect.Signature | None:
    """The signature of a Module's ``forward``; for a traced Module that of the original."""
    is_traced = isinstance(module, GraphOwner)
    return module._signature if is_traced else signature_of(type(module).forward)


def normalised(signature: inspect.Signature | None, args: tuple, kwargs: dict) -> tuple:
    """Arguments as the signature orders them, defaults included.

    Positional arguments where possible; keyword-only arguments are in the dict.

    Args:
        signature: the signature; None keeps the arguments unchanged.
        args: positional arguments.
        kwargs: keyword arguments.
    Returns:
        The normalised positional and keyword arguments.
    Raises:
        TypeError: the call does not fit the signature.
    """
    if signature is None:
        return tuple(args), dict(kwargs)
    bound = signature.bind(*args, **kwargs)
    bound.apply_defaults()
    return bound.args, bound.kwargs


def _convert_kwargs_to_args(
    argspecs: Callable | inspect.FullArgSpec, args: tuple, kwargs: dict, is_bounded: bool = False
) -> tuple[tuple, dict]:
    """Arguments of a call as a function orders them, defaults included; see ``normalised``.

    Args:
        argspecs: the function, or its result of ``inspect``.
        args: positional arguments.
        kwargs: keyword arguments.
        is_bounded: the function is a method, and ``args`` do not contain ``self``.
    Raises:
        TypeError: the call does not fit the function.
    Example:
        >>> _convert_kwargs_to_args(lambda a, b=2, *, c=3: None, (1,), {"c": 4})
        ((1, 2), {'c': 4})
    """
    if not isinstance(argspecs, inspect.FullArgSpec):
        argspecs = inspect.getfullargspec(inspect.unwrap(argspecs))
    kinds = inspect.Parameter
    names, defaults = argspecs.args, argspecs.defaults or ()
    given = dict(zip(names[len(names) - len(defaults) :], defaults, strict=True))
    parameters = [
        kinds(name, kinds.POSITIONAL_OR_KEYWORD, default=given.get(name, kinds.empty))
        for name in names
    ]
    if argspecs.varargs:
        parameters.append(kinds(argspecs.varargs, kinds.VAR_POSITIONAL))
    given = argspecs.kwonlydefaults or {}
    parameters += [
        kinds(name, kinds.KEYWORD_ONLY, default=given.get(name, kinds.empty))
        for name in argspecs.kwonlyargs
    ]
    if argspecs.varkw:
        parameters.append(kinds(argspecs.varkw, kinds.VAR_KEYWORD))
    return normalised(inspect.Signature(parameters[is_bounded:]), args, kwargs)


def normalised_for(func: Callable, args: tuple, kwargs: dict) -> tuple:
    """``normalised`` for a function.

    A wrapper may distinguish keyword from positional arguments although the signature does not (as
    losses do). So a call with keywords keeps them, and gets the defaults by keyword.
    """
    signature = signature_of(func)
    if not kwargs or not hasattr(func, "__wrapped__"):
        return normalised(signature, args, kwargs)
    bound = signature.bind(*args, **kwargs)
    bound.apply_defaults()
    all_args, by_keyword = bound.args, bound.kwargs
    names = list(signature.parameters)[len(args) : len(all_args)]
    return args, dict(zip(names, all_args[len(args) :], strict=True)) | by_keyword


def given_for(func: Callable, bound: inspect.BoundArguments) -> tuple:
    """Arguments by position and keyword, for a function; see ``normalised_for``.

    Args:
        func: the function.
        bound: its arguments.
    """
    args, kwargs = bound.args, bound.kwargs
    if not hasattr(func, "__wrapped__"):
        return args, kwargs
    parameters = list(bound.signature.parameters.values())
    count = sum(parameter.default is parameter.empty for parameter in parameters[: len(args)])
    names = [parameter.name for parameter in parameters[count : len(args)]]
    return args[:count], dict(zip(names, args[count:], strict=True)) | kwargs
