# SPDX-License-Identifier: Apache-2.0
"""Hooks for a recorder into functions, methods and Modules, active only while one records.

A function temporarily gets other code, so it is recorded under any name. Methods of Tensor and
Module are replaced in their classes. Threads that do not record are not affected.
"""

import functools
import threading
import types
from collections.abc import Callable

from ..autodiff import Function
from ..core.ops import custom
from ..module import Module
from ..operators.opdef import OpDef
from ..tensor import Tensor
from .expr import IN_PLACE
from .recording import current, paused, recording  # noqa: F401

_ARITHMETIC = "add sub mul matmul truediv floordiv mod pow lshift rshift and or xor".split()
# Methods of Tensor that are recorded. The results of others (numpy, item, ...) are constants.
METHODS = (
    *(f"__{name}__" for name in "lt le gt ge eq ne neg pos abs invert round floor ceil".split()),
    *(f"__{name}__" for name in _ARITHMETIC),
    *(f"__r{name}__" for name in _ARITHMETIC),
    *sorted(IN_PLACE),
    *"__getitem__ transpose astype reshape flatten sum prod min max mean to detach".split(),
)

_lock = threading.Lock()
_users = 0  # recorders at work
_undo: list[Callable[[], None]] = []


def _placeholder(*args, **kwargs):
    call = "call"
    return call(*args, **kwargs)


def _hook_function(func: types.FunctionType) -> None:
    code = func.__code__
    original = types.FunctionType(
        code, func.__globals__, func.__name__, func.__defaults__, func.__closure__
    )
    original.__kwdefaults__ = func.__kwdefaults__
    original.__dict__.update(func.__dict__)  # a decorated function keeps its signature

    def call(*args, **kwargs):
        recorder = recording()
        if recorder is None:
            return original(*args, **kwargs)
        return recorder.call_function(func, original, args, kwargs)

    constants = tuple(
        call if value == "call" else value for value in _placeholder.__code__.co_consts
    )
    func.__code__ = _placeholder.__code__.replace(
        co_consts=constants, co_freevars=code.co_freevars, co_name=code.co_name
    )
    _undo.append(functools.partial(setattr, func, "__code__", code))
    _put(func, "_before_recording", original)  # inspect reads the signature from there


def _put(owner, name: str, value) -> None:
    own = vars(owner).get(name)
    setattr(owner, name, value)
    if own is None:
        _undo.append(functools.partial(delattr, owner, name))
    else:
        _undo.append(functools.partial(setattr, owner, name, own))


def _hook_method(name: str) -> None:
    original = getattr(Tensor, name)

    @functools.wraps(original)
    def method(self, *args, **kwargs):
        recorder = recording()
        if recorder is None:
            return original(self, *args, **kwargs)
        return recorder.call_tensor_method(name, original, self, args, kwargs)

    _put(Tensor, name, method)


def _hook_constructor() -> None:
    make = Tensor.__init__

    def __init__(self, data, *args, **kwargs):
        recorder = recording() if type(self) is Tensor else None
        if recorder is None:
            make(self, data, *args, **kwargs)
        else:
            recorder.make_tensor(self, make, (data, *args), kwargs)

    _put(Tensor, "__init__", __init__)


def _hook_properties() -> None:
    shape, size = Tensor.shape, Tensor.size

    def shape_of(self):
        recorder = recording()
        return shape.__get__(self) if recorder is None else recorder.shape_of(self)

    def size_of(self):
        recorder = recording()
        return size.__get__(self) if recorder is None else recorder.shape_of(self).prod()

    _put(Tensor, "shape", property(shape_of))
    _put(Tensor, "size", property(size_of))


def _hook_libraries() -> None:
    look_up, read = custom.__getattr__, object.__getattribute__

    def seen(name: str, operator: Callable) -> Callable:
        def apply(*args, **kwargs):
            recorder = recording()
            if recorder is None:
                return operator(*args, **kwargs)
            return recorder.call_own_operator(name, operator, args, kwargs)

        return apply

    def __getattribute__(self, name):
        value = read(self, name)
        is_operator = name in read(self, "__dict__").get("operators", ())
        return seen(name, value) if is_operator else value

    _put(custom, "__getattr__", lambda name: seen(name, look_up(name)))
    _put(custom.OperatorLibrary, "__getattribute__", __getattribute__)


def _hook_modules() -> None:
    call, read = Module.__call__, object.__getattribute__

    def __call__(self, *inputs, **kwargs):
        recorder = recording()
        if recorder is None:
            return call(self, *inputs, **kwargs)
        return recorder.call_module(self, call, inputs, kwargs)

    def __getattribute__(self, name):
        value = read(self, name)
        if isinstance(value, (Tensor, Module, list, tuple, dict)):
            recorder = recording()
            if recorder is not None and name in read(self, "__dict__"):
                recorder.read_attribute(self, name, value)
        return value

    call_function = Function.__call__

    def call_autodiff_function(self, *args):
        recorder = recording()
        if recorder is None:
            return call_function(self, *args)
        return recorder.call_autodiff_function(self, call_function, args)

    def applied(self, inputs):
        recorder = recording()
        return self(*inputs) if recorder is None else recorder.apply(self, inputs)

    _put(OpDef, "_applied", applied)
    _put(Function, "__call__", call_autodiff_function)
    _put(Module, "__call__", __call__)
    _put(Module, "__getattribute__", __getattribute__)


class hooked:
    """A context in which calls reach the recorders.

    Args:
        functions: gives the functions that are recorded.
    """

    def __init__(self, functions: Callable[[], list]):
        self._functions = functions

    def __enter__(self) -> None:
        global _users
        with _lock:
            if _users == 0:
                try:
                    self._put_in_place()
                except BaseException:
                    _take_back()
                    raise
            _users += 1

    def _put_in_place(self) -> None:
        for func in self._functions():
            _hook_function(func)
        for name in METHODS:
            _hook_method(name)
        _hook_constructor()
        _hook_properties()
        _hook_modules()
        _hook_libraries()

    def __exit__(self, *exc) -> None:
        global _users
        with _lock:
            _users -= 1
            if _users == 0:
                _take_back()


def _take_back() -> None:
    while _undo:
        _undo.pop()()
