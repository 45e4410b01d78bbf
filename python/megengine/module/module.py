# SPDX-License-Identifier: Apache-2.0
"""``Module``: parameters, buffers and sub-modules found by looking at attributes.

The search visits attributes in the order of their names, and containers (list, tuple, dict) in
their own order. An object that occurs twice is returned once, under its first name.
"""

import reprlib
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ..core.tracing_state import state as tracing
from ..logger import get_logger
from ..tensor import Parameter, Tensor
from ..utils.deprecation import deprecated
from ..utils.hook import HookHandler
from ..utils.naming import AutoNaming

if TYPE_CHECKING:
    from typing_extensions import Self

_logger = get_logger(__name__)


def _expand_structure(prefix: str, obj) -> list[tuple[str, object]]:
    """Tensors and Modules in an attribute's value, with their names. A container that is there
    twice, perhaps in itself, is looked into once.
    """
    if isinstance(obj, Tensor | Module):
        return [(prefix, obj)]
    parts = []
    waiting: list = [((prefix, None), obj)]  # names as (key, the name before it)
    seen: set[int] = set()
    while waiting:
        name, value = waiting.pop()
        if isinstance(value, Tensor | Module):
            parts.append((_joined(name), value))
        elif isinstance(value, list | tuple | dict) and id(value) not in seen:
            seen.add(id(value))
            if isinstance(value, dict):
                entries = sorted(value.items(), key=lambda entry: str(entry[0]))
            else:
                entries = [(str(place), part) for place, part in enumerate(value)]
            waiting += [((key, name), part) for key, part in reversed(entries)]
    return parts


def _joined(name: tuple | None) -> str:
    """The name of a part in a container, from the keys on the way to it, the last one first."""
    keys = []
    while name is not None:
        key, name = name
        assert isinstance(key, str), f"keys for Tensor and Module must be str, error key: {key}"
        keys.append(key)
    return ".".join(reversed(keys))


def _access_structure(obj, key: str, callback: Callable = lambda owner, key, part: part):
    """Apply a function to a part of a module, also in lists and dictionaries.

    Args:
        obj: the module.
        key: path of names and indices: ``"blocks.0.conv"``.
        callback: called with the owner of the part, its name or index there, and the part; the
            default returns the part.
    """
    owner, own_key = None, None
    for own_key in key.split("."):
        owner = obj
        if isinstance(owner, list | tuple):
            own_key = int(own_key)
        obj = owner[own_key] if isinstance(owner, list | tuple | dict) else getattr(owner, own_key)
    return callback(owner, own_key, obj)


def _as_array(name: str, value) -> np.ndarray:
    """A value of a state dict: an array, or a tensor of PyTorch or the like."""
    if isinstance(value, np.ndarray):
        return value
    assert hasattr(value, "__dlpack__") and not isinstance(value, Tensor), (
        f"[load_state_dict] {name} must be a numpy.ndarray, got {type(value).__name__}"
    )
    for step in ("detach", "cpu"):  # without its gradient, on the host
        value = getattr(value, step)() if hasattr(value, step) else value
    try:
        array = np.from_dlpack(value)
    except (BufferError, RuntimeError, TypeError):  # NumPy has no bfloat16
        array = Tensor(value).numpy()
    return array.astype({"float64": "float32", "int64": "int32"}.get(array.dtype.name, array.dtype))


def _entry(name: str, value, owner, with_key: bool, with_parent: bool):
    if not with_key and not with_parent:
        return value
    return ((name,) if with_key else ()) + (value,) + ((owner,) if with_parent else ())


def _drop_requires_grad(arguments: dict) -> None:
    if arguments.pop("requires_grad", None) is not None:
        _logger.warning("requires_grad has no effect: Tensors have no such attribute")


def _is_parameter(value) -> bool:
    return isinstance(value, Parameter)


def _is_buffer(value) -> bool:
    return isinstance(value, Tensor) and not isinstance(value, Parameter)


def _is_tensor(value) -> bool:
    return isinstance(value, Tensor)


def _is_module(value) -> bool:
    return isinstance(value, Module)


class ModuleNotReadyError(RuntimeError, AttributeError):
    """A part is assigned before ``Module.__init__`` has run; MegEngine raises AttributeError."""


class Module:
    """A part of a network: derive from it, assign parts to attributes, write ``forward``.

    Args:
        name: name shown in dumped graphs.
    Example:
        >>> class Twice(M.Module):
        ...     def forward(self, x):
        ...         return 2 * x
        >>> Twice()(Tensor([1.0]))
        Tensor([2.], device=xpux:0)
    """

    _state_is_flat = False  # state_dict returns this module's own tensors as vectors

    def __init__(self, name: str | None = None):
        # Emulates an abstract class, whose metaclass would slow down every isinstance. A __new__
        # would hide the arguments of classes that inherit their __init__.
        if type(self).forward is Module.forward:
            who = type(self).__name__
            raise TypeError(f"Can't instantiate abstract class {who} with abstract method forward")
        self._modules = []
        if name is not None and not (isinstance(name, str) and name.strip()):
            raise AssertionError(f"[Module] name must be a string that is not empty, got {name!r}")
        self.name = name
        self.training = True
        self.quantize_disabled = False
        self._forward_pre_hooks = OrderedDict()
        self._forward_hooks = OrderedDict()
        self._name = None
        self._short_name = None

    if TYPE_CHECKING:
        # Parts are also set by setattr and in lists, which type checkers cannot see.
        def __getattr__(self, name: str) -> Any: ...

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        """The computation of the module; derived classes define it.

        Raises:
            TypeError: by the constructor of a class that does not define it.
            NotImplementedError: a derived class calls this method.
        """
        raise NotImplementedError(f"[{type(self).__name__}] forward is not defined")

    def register_forward_pre_hook(self, hook: Callable) -> HookHandler:
        """Call a function before ``forward``.

        Args:
            hook: ``hook(module, inputs)``; its result replaces the inputs unless it is None.
        Returns:
            Handle with ``remove()``.
        Example:
            >>> net = M.Linear(2, 1)
            >>> handle = net.register_forward_pre_hook(lambda module, inputs: (inputs[0] * 0,))
            >>> net(Tensor([[1.0, 2.0]])).numpy().tolist() == [net.bias.numpy().tolist()]
            True
            >>> handle.remove()
        """
        return HookHandler(self._forward_pre_hooks, hook)

    def register_forward_hook(self, hook: Callable) -> HookHandler:
        """Call a function after ``forward``.

        Args:
            hook: ``hook(module, inputs, outputs)``; its result replaces the outputs unless it is
                None.
        Returns:
            Handle with ``remove()``.
        Example:
            >>> net = M.ReLU()
            >>> handle = net.register_forward_hook(lambda module, inputs, outputs: outputs + 1)
            >>> net(Tensor([-1.0, 2.0])).numpy().tolist()
            [1.0, 3.0]
            >>> handle.remove()
        """
        return HookHandler(self._forward_hooks, hook)

    def __call__(self, *inputs: Any, **kwargs: Any) -> Any:
        if not tracing.tracing:
            return self._call_with_hooks(inputs, kwargs)
        AutoNaming.push_scope(self.name or self._short_name)
        if tracing.names is not None:
            tracing.names.add(self.named_tensors(recursive=False), AutoNaming.path())
        try:
            return self._call_with_hooks(inputs, kwargs)
        finally:
            AutoNaming.pop_scope()

    def _call_with_hooks(self, inputs: tuple, kwargs: dict):
        for hook in list(self._forward_pre_hooks.values()):
            changed = hook(self, inputs)
            if changed is not None:
                inputs = changed if isinstance(changed, tuple) else (changed,)
        outputs = self.forward(*inputs, **kwargs)
        for hook in list(self._forward_hooks.values()):
            changed = hook(self, inputs, outputs)
            if changed is not None:
                outputs = changed
        return outputs

    def _flatten(
        self,
        *,
        predicate: Callable = lambda _: True,
        recursive: bool = True,
        prefix: str | None = None,
        with_key: bool = False,
        with_parent: bool = False,
        seen: set | None = None,
    ) -> Iterator:
        """Parts that satisfy the predicate, with name and owner if requested.

        All other methods that list parts go through this one, so a class may override it.
        """
        seen = {id(self)} if seen is None else seen
        head = f"{prefix}." if prefix else ""
        for attribute in sorted(self.__dict__):
            for name, value in _expand_structure(attribute, self.__dict__[attribute]):
                if id(value) in seen:
                    continue
                seen.add(id(value))
                if predicate(value):
                    yield _entry(head + name, value, self, with_key, with_parent)
                if recursive and isinstance(value, Module):
                    yield from value._flatten(
                        predicate=predicate,
                        recursive=recursive,
                        prefix=head + name,
                        with_key=with_key,
                        with_parent=with_parent,
                        seen=seen,
                    )

    def parameters(self, recursive: bool = True, **kwargs) -> Iterator[Parameter]:
        """The parameters.

        Args:
            recursive: include those of sub-modules.
            with_parent: return (parameter, owner).
        Returns:
            Iterator.
        Example:
            >>> [p.shape for p in M.Linear(2, 3).parameters()]
            [(3,), (3, 2)]
        """
        _drop_requires_grad(kwargs)
        return self._flatten(with_key=False, predicate=_is_parameter, recursive=recursive, **kwargs)

    def named_parameters(
        self, prefix: str | None = None, recursive: bool = True, **kwargs
    ) -> Iterator[tuple[str, Parameter]]:
        """The parameters with their names; see ``parameters``. ``prefix`` is put first.

        Example:
            >>> [name for name, _ in M.Linear(2, 3).named_parameters(prefix="fc")]
            ['fc.bias', 'fc.weight']
        """
        _drop_requires_grad(kwargs)
        return self._named(_is_parameter, prefix, recursive=recursive, **kwargs)

    def buffers(self, recursive: bool = True, **kwargs) -> Iterator[Tensor]:
        """The Tensors that are not parameters; see ``parameters``.

        Example:
            >>> len(list(M.BatchNorm2d(3).buffers()))
            2
        """
        return self._flatten(with_key=False, predicate=_is_buffer, recursive=recursive, **kwargs)

    def named_buffers(
        self, prefix: str | None = None, recursive: bool = True, **kwargs
    ) -> Iterator[tuple[str, Tensor]]:
        """The buffers with their names; see ``named_parameters``.

        Example:
            >>> [name for name, _ in M.BatchNorm2d(3).named_buffers()]
            ['running_mean', 'running_var']
        """
        return self._named(_is_buffer, prefix, recursive=recursive, **kwargs)

    def tensors(self, recursive: bool = True, **kwargs) -> Iterator[Tensor]:
        """Parameters and buffers; see ``parameters``.

        Example:
            >>> len(list(M.BatchNorm2d(3).tensors()))
            4
        """
        return self._flatten(with_key=False, predicate=_is_tensor, recursive=recursive, **kwargs)

    def named_tensors(
        self, prefix: str | None = None, recursive: bool = True, **kwargs
    ) -> Iterator[tuple[str, Tensor]]:
        """Parameters and buffers with their names; see ``named_parameters``.

        Example:
            >>> [name for name, _ in M.BatchNorm2d(3).named_tensors()]
            ['bias', 'running_mean', 'running_var', 'weight']
        """
        return self._named(_is_tensor, prefix, recursive=recursive, **kwargs)

    def children(self, **kwargs) -> Iterator["Module"]:
        """The direct sub-modules.

        Example:
            >>> net = M.Sequential(M.Linear(2, 3), M.ReLU())
            >>> [type(child).__name__ for child in net.children()]
            ['Linear', 'ReLU']
        """
        return self._flatten(with_key=False, predicate=_is_module, recursive=False, **kwargs)

    def named_children(self, **kwargs) -> Iterator[tuple[str, "Module"]]:
        """The direct sub-modules with their names.

        Example:
            >>> [name for name, _ in M.Sequential(M.Linear(2, 3), M.ReLU()).named_children()]
            ['0', '1']
        """
        return self._named(_is_module, recursive=False, **kwargs)

    def modules(self, **kwargs) -> Iterator["Module"]:
        """The module itself and all sub-modules.

        Example:
            >>> [type(m).__name__ for m in M.Sequential(M.Linear(2, 3), M.ReLU()).modules()]
            ['Sequential', 'Linear', 'ReLU']
        """
        yield _entry("", self, None, False, kwargs.get("with_parent", False))
        yield from self._flatten(with_key=False, predicate=_is_module, **kwargs)

    def named_modules(self, prefix: str | None = None, **kwargs) -> Iterator[tuple[str, "Module"]]:
        """The module itself (named by the prefix) and all sub-modules with their names.

        Example:
            >>> [name for name, _ in M.Sequential(M.Linear(2, 3), M.ReLU()).named_modules("net")]
            ['net', 'net.0', 'net.1']
        """
        with_parent = kwargs.get("with_parent", False)
        yield _entry("" if prefix is None else prefix, self, None, True, with_parent)
        yield from self._named(_is_module, prefix, **kwargs)

    def _named(self, predicate: Callable, prefix: str | None = None, **kwargs) -> Iterator:
        return self._flatten(with_key=True, prefix=prefix, predicate=predicate, **kwargs)

    def apply(self, fn: Callable[["Module"], object]) -> None:
        """Call a function with the module itself and each sub-module.

        Example:
            >>> M.Sequential(M.Linear(2, 3), M.ReLU()).apply(lambda m: print(type(m).__name__))
            Sequential
            Linear
            ReLU
        """
        for module in list(self.modules()):
            fn(module)

    @deprecated("Use Optimizer.clear_grad.", version="1.0")
    def zero_grad(self) -> None:
        """Set the gradients to zero (deprecated: use ``Optimizer.clear_grad``)."""
        for parameter in self.parameters():
            if parameter.grad is not None:
                parameter.grad._reset(parameter.grad * 0)

    def train(self, mode: bool = True, recursive: bool = True) -> "Self":
        """Switch to training (or evaluation) mode.

        Args:
            mode: False for evaluation.
            recursive: include sub-modules.
        Returns:
            The Module.
        Example:
            >>> net = M.Sequential(M.Dropout(0.5)).eval()
            >>> net.train().training
            True
        """
        self.training = mode
        if recursive:
            for module in list(self.modules())[1:]:
                module.train(mode, recursive=False)
        return self

    def eval(self) -> "Self":
        """Switch to evaluation mode, including sub-modules.

        Returns:
            The Module.
        Example:
            >>> M.Dropout(0.5).eval()(Tensor([1.0, 2.0])).numpy().tolist()
            [1.0, 2.0]
        """
        self.train(False)
        return self

    def replace_param(self, params: dict[int, Parameter], start_pos: int, seen=None) -> int:
        """Replace parameters (deprecated: assign to the attributes).

        Args:
            params: new parameters by the index of the replaced ones, in the order of
                ``parameters``; parameters in lists are not counted.
            start_pos: index of the first parameter.
            seen: not used.
        Returns:
            The number of parameters of the Module.
        Raises:
            AssertionError: a shape differs.
        Example:
            >>> net = M.Linear(2, 2)
            >>> net.replace_param({1: Parameter([[1.0, 2.0], [3.0, 4.0]])}, start_pos=0)
            2
            >>> net.weight.numpy()[1].tolist()
            [3.0, 4.0]
        """
        places = [
            (parent, name.rpartition(".")[2])
            for name, _, parent in self.named_parameters(with_parent=True)
        ]
        places = [(parent, name) for parent, name in places if name in vars(parent)]
        for number, (parent, name) in enumerate(places, start_pos):
            new = params.get(number, getattr(parent, name))
            shape = getattr(parent, name)._tuple_shape
            assert new._tuple_shape == shape, (
                f"[replace_param] {name} has shape {shape}, not {new._tuple_shape}"
            )
            setattr(parent, name, new)
        return len(places)

    def to(self, device: str) -> "Module":
        """Move parameters, their gradients and buffers to a device; they stay the same objects.

        Args:
            device: the new device, such as ``"cpu1"``.
        Returns:
            The Module.
        Raises:
            RuntimeError: there is no such device.
        Example:
            >>> from megengine.module import Linear
            >>> Linear(2, 3).to("cpu1").weight.device
            cpu1:0
        """
        for tensor in self.tensors():
            tensor._reset(tensor.to(device))
            if tensor.grad is not None:
                tensor.grad = tensor.grad.to(device)
        return self

    def share_memory(self) -> "Module":
        """Move parameters and buffers to shared memory.

        Processes that receive the Module then train the same one: see ``multiprocessing``.

        Returns:
            The Module.
        Raises:
            RuntimeError: a parameter is neither on a CPU nor on a GPU.
        Example:
            >>> from megengine.module import Linear
            >>> Linear(2, 3).share_memory().weight.is_shared()
            True
        """
        for tensor in self.tensors():
            tensor.share_memory()
        return self

    def disable_quantize(self, value: bool = True) -> None:
        """Exclude the module and its sub-modules from quantisation.

        Example:
            >>> net = M.Sequential(M.Linear(2, 3))
            >>> net.disable_quantize()
            >>> net[0].quantize_disabled
            True
        """
        self.apply(lambda module: setattr(module, "quantize_disabled", value))

    def state_dict(self, rst=None, prefix: str = "", keep_var: bool = False) -> OrderedDict:
        """All parameters and buffers by name.

        Args:
            rst: dictionary that already has those of other modules, by (class of the owner, name);
                it gets those of this module too. None: a new one.
            prefix: prefix of this module's names: ``"net."``.
            keep_var: return the Tensors themselves instead of NumPy arrays.
        Returns:
            A dictionary of all, module by module. A tensor that several modules share is listed
            under each of its names; the arrays of normalisation modules are vectors.
        Example:
            >>> M.Linear(2, 1).state_dict()["bias"]
            array([0.], dtype=float32)
        """
        result = OrderedDict()
        for (kind, name), value in self._state_dict(rst, prefix, keep_var).items():
            is_vector = kind._state_is_flat and not keep_var
            result[name] = value.reshape(-1) if is_vector else value
        return result

    def _state_dict(self, rst=None, prefix: str = "", keep_var: bool = False) -> OrderedDict:
        """``state_dict`` by (class of the owner, name), each array in the shape of its tensor.

        ``state_dict`` and ``load_state_dict`` use it, of sub-modules too, so a class may override
        it.
        """
        result = OrderedDict() if rst is None else rst
        self._add_state(result, prefix, keep_var, ())
        return result

    def _add_state(
        self, result: dict, prefix: str, keep_var: bool, outer: tuple["Module", ...]
    ) -> None:
        """Add the module's own tensors, then those of its sub-modules.

        A sub-module that several modules share is listed under each of them; recursion stops at one
        that contains ``outer``.
        """
        for name, tensor in self.named_tensors(recursive=False):
            result[type(self), prefix + name] = tensor if keep_var else tensor.numpy()
        outer = (*outer, self)
        for name, part in self.named_children():
            if any(part is module for module in outer):
                continue
            kind, head = type(part), f"{prefix}{name}."
            if (kind.state_dict, kind._state_dict) == (Module.state_dict, Module._state_dict):
                part._add_state(result, head, keep_var, outer)
            else:
                part.state_dict(result, head, keep_var)

    def load_state_dict(
        self,
        state_dict: Mapping[str, Any] | Callable[[str, Tensor], np.ndarray | None],
        strict: bool = True,
    ) -> None:
        """Take over the values of parameters and buffers.

        Args:
            state_dict: arrays by name, or tensors of PyTorch; or a function of (name, Tensor) that
                returns one of them, or None to keep the Tensor. Arrays keep their dtype, except for
                those of 64-bit numbers.
            strict: every name must be present and used; otherwise only a warning is logged.
        Raises:
            KeyError: strict, and names are missing or not used (the others have been loaded).
            ValueError: a shape differs, or ``state_dict`` is neither a dict nor a function.
            AssertionError: a value has another type.
        Example:
            >>> net = M.Linear(2, 1)
            >>> state = {"weight": np.ones((1, 2), np.float32), "bias": np.zeros(1, np.float32)}
            >>> net.load_state_dict(state)
            >>> net(Tensor([[1.0, 2.0]])).numpy().tolist()
            [[3.0]]
        """
        if isinstance(state_dict, Mapping):
            given = dict(state_dict)

            def value_of(name, tensor):
                return given.pop(name, None)

        elif callable(state_dict) and not isinstance(state_dict, Module):
            given, value_of = {}, state_dict
        else:
            raise ValueError(
                "[load_state_dict] state_dict must be a dict or a function, got"
                f" {type(state_dict).__name__}"
                + ("; pass its state_dict()" if isinstance(state_dict, Module) else "")
            )
        problems = []
        if missing := self._load_state_dict_with_closure(value_of)[1]:
            problems.append("missing keys: " + ", ".join(sorted(missing)))
        if given:
            problems.append("unused keys: " + ", ".join(sorted(given)))
        if problems and strict:
            raise KeyError("[load_state_dict] " + "; ".join(problems))
        if problems:
            _logger.warning("load_state_dict: %s", "; ".join(problems))

    def _load_state_dict_with_closure(self, closure: Callable) -> tuple[set[str], set[str]]:
        """Load the values that the function returns.

        ``load_state_dict`` uses it, so a class may override it.

        Returns:
            The names that got a value, and those without one, by none of the tensor's names.
        """
        missing, loaded = {}, {}
        for (kind, name), tensor in self._state_dict(keep_var=True).items():
            value = closure(name, tensor)
            if value is None:
                missing[name] = id(tensor)
                continue
            loaded[name] = id(tensor)
            value = _as_array(name, value)
            shape = tensor._tuple_shape
            if value.shape != shape:
                if not kind._state_is_flat or value.size != tensor.size:
                    hint = "; utils.torch_convert.convert_state_dict changes shapes of PyTorch's"
                    raise ValueError(
                        f"[load_state_dict] {name} has shape {shape}, the value {value.shape}"
                        + (hint if value.size == tensor.size else "")
                    )
                value = value.reshape(shape)
            # NumPy computes in 64 bits, which no tensor has.
            is_wide = value.dtype.kind in "fiu" and value.dtype.itemsize == 8
            dtype = tensor.dtype if is_wide else value.dtype
            tensor._reset(Tensor(value, dtype=dtype, device=tensor.device))
        found = set(loaded.values())
        return set(loaded), {name for name, tensor in missing.items() if tensor not in found}

    def __setattr__(self, name: str, value) -> None:
        # An empty list may contain modules later.
        may_hold_modules = isinstance(value, (Module, list, tuple, dict))
        may_hold_parts = may_hold_modules or isinstance(value, Tensor)
        modules = self.__dict__.get("_modules")
        if name not in ("_modules", "_forward_pre_hooks", "_forward_hooks"):
            if may_hold_parts and modules is None:
                kind = "parameter" if isinstance(value, Tensor) else "module"
                raise ModuleNotReadyError(
                    f"[{type(self).__name__}] cannot assign {kind} before Module.__init__() call:"
                    f" {name!r} must come after super().__init__()"
                )
            if may_hold_modules and name not in modules:
                modules.append(name)
            elif not may_hold_modules and modules and name in modules:
                modules.remove(name)
        object.__setattr__(self, name, value)
        if may_hold_parts and not name.startswith("_"):
            self._give_names(name, value)

    @staticmethod
    def _give_names(name: str, value) -> None:
        """Names for dumped graphs; the first one stays.

        Modules also get ``_name``, by which MegEngine's guide finds them in their parent.
        """
        for key, part in _expand_structure(name, value):
            old = getattr(part, "_short_name", None)
            if not old:
                part._short_name = key
                if isinstance(part, Module) and part.__dict__.get("_name", "") is None:
                    part._name = key
            elif old != key and isinstance(part, Module):
                _logger.warning("module %s is now also %s; its name stays %s", old, key, old)

    def __delattr__(self, name: str) -> None:
        if name in self.__dict__.get("_modules", ()):
            self._modules.remove(name)
        object.__delattr__(self, name)

    def __setstate__(self, state: dict) -> None:
        # Files of older versions lack attributes that were added later.
        defaults = {
            "_modules": [],
            "name": None,
            "training": True,
            "quantize_disabled": False,
            "_forward_pre_hooks": OrderedDict(),
            "_forward_hooks": OrderedDict(),
            "_name": None,
            "_short_name": None,
        }
        self.__dict__.update(defaults)
        self.__dict__.update(state)

    def _module_info_string(self) -> str:
        """The module's own part of its representation."""
        return ""

    def _named_parts(self) -> Iterator[tuple[str, "Module"]]:
        for attribute in self._modules:
            for name, part in _expand_structure(attribute, self.__dict__.get(attribute)):
                if isinstance(part, Module):
                    yield name, part

    @reprlib.recursive_repr()
    def __repr__(self) -> str:
        info = self._module_info_string()
        lines = info.split("\n") if info else []
        parts = []
        for name, part in self._named_parts():
            parts.append(f"({name}): " + repr(part).replace("\n", "\n  "))
        if not parts and len(lines) < 2:
            return f"{type(self).__name__}({info})"
        return f"{type(self).__name__}(\n  " + "\n  ".join(lines + parts) + "\n)"
