# SPDX-License-Identifier: Apache-2.0
"""Common part of all optimizers: parameter groups, state, saving and loading."""

import math
from abc import ABCMeta, abstractmethod
from collections.abc import Iterable, Iterator

import numpy as np

from .. import _mge
from ..tensor import Parameter, Tensor


class _Required:
    def __repr__(self) -> str:
        return "<required>"


required = _Required()


class Optimizer(metaclass=ABCMeta):
    """Base of the optimizers: it changes parameters in place, by their gradients.

    Args:
        params: a Parameter, Parameters, or groups: dicts with ``"params"`` and options.
        defaults: options of the groups that do not set them.
    Raises:
        TypeError: ``params`` contains other values, or is a set.
        ValueError: there is no parameter.
        AssertionError: a parameter is in two groups.
    Example:
        >>> net = M.Linear(2, 1)
        >>> optimizer = SGD(net.parameters(), lr=0.1)
        >>> isinstance(optimizer, Optimizer), len(optimizer.param_groups)
        (True, 1)
    """

    def __init__(self, params: Iterable[Parameter] | dict, defaults: dict):
        self._state = {}
        self._defaults = defaults
        self._disable_type_convert = False
        if isinstance(params, (Parameter, dict)):
            params = [params]
        elif isinstance(params, (Tensor, set)) or not isinstance(params, Iterable):
            raise TypeError(
                "params argument given to the optimizer should be Parameter or iterable of"
                f" Parameters or dicts, got {type(params).__name__}"
                + ("; pass its parameters()" if hasattr(params, "parameters") else "")
            )
        self.param_groups = []
        groups = list(params)
        if not groups:
            raise ValueError("optimizer got an empty parameter list")
        if len({isinstance(group, dict) for group in groups}) > 1:
            raise TypeError("optimizer parameters are Parameters or dicts, not some of both")
        if not isinstance(groups[0], dict):
            groups = [{"params": groups}]
        for group in groups:
            self.add_param_group(group)

    def add_param_group(self, param_group: dict) -> None:
        """Add parameters with separate options.

        Args:
            param_group: ``"params"`` and options.
        Raises:
            TypeError: ``"params"`` contains other values.
            ValueError: an option without default is missing.
            AssertionError: it is not a dict, or a parameter is in another group.
        Example:
            >>> sgd = SGD([Parameter([1.0])], lr=0.1)
            >>> sgd.add_param_group({"params": [Parameter([2.0])], "lr": 0.01})
            >>> [group["lr"] for group in sgd.param_groups]
            [0.1, 0.01]
        """
        assert isinstance(param_group, dict), (
            f"a param group must be a dict, got {type(param_group).__name__}"
        )
        params = param_group["params"]
        if isinstance(params, Parameter):
            params = [params]
        elif isinstance(params, set):
            raise TypeError("optimizer parameters need a fixed order, a set has none")
        params = list(params)
        for param in params:
            if not isinstance(param, Parameter):
                raise TypeError(
                    f"optimizer can only optimize Parameters, got {type(param).__name__}"
                )
        param_group["params"] = params
        for name, default in self._defaults.items():
            if default is required and name not in param_group:
                raise ValueError(f"parameter group didn't specify a value of option {name}")
            param_group.setdefault(name, default)
        self._check_options(param_group)
        known = {id(p) for group in self.param_groups for p in group["params"]}
        ids = [id(p) for p in params]
        assert known.isdisjoint(ids) and len(set(ids)) == len(ids), (
            "some parameters appear in more than one parameter group"
        )
        # Give it a private value in reusable memory; shared memory stays shared.
        for param in (p for p in params if not _mge.keeps_memory(p)):
            param._reset(Tensor(param.numpy(), no_cache=True, device=param.device))
        self.param_groups.append(param_group)
        self._create_state(param_group)

    def _add_state(self, param: Parameter, state_name: str, initializer=None) -> None:
        if initializer is None:
            initializer = np.zeros(param._tuple_shape, np.float32)
        value = np.asarray(initializer, np.float32)
        states = self._state.setdefault(param, {})
        states[state_name] = Tensor(value, no_cache=True, device=param.device)

    def _check_options(self, options: dict) -> None:  # noqa: B027 - not all have some
        """Raise for options of a group that are out of their range."""

    @abstractmethod
    def _create_state(self, param_group: dict) -> None:
        """Make the state of a group's parameters."""

    @abstractmethod
    def _updates(self, param_group: dict) -> None:
        """Change the parameters of a group by their gradients."""

    def _trained(self, param_group: dict) -> Iterator[tuple[Parameter, dict, Tensor]]:
        """The parameters of a group that have a gradient, each with its states and the learning
        rate, which is on the parameter's device.
        """
        rates: dict = {}
        for param in param_group["params"]:
            if param.grad is not None:
                device = param.device
                if device not in rates:
                    rates[device] = _rate(param_group["lr"], device)
                yield param, self._state.get(param, {}), rates[device]

    def _get_params(self) -> list[Parameter]:
        return [param for group in self.param_groups for param in group["params"]]

    def step(self) -> "Optimizer":
        """Update all parameters that have a gradient.

        Returns:
            The optimizer.
        Raises:
            TypeError: the parameters of a group are a set.
        Example:
            >>> w = Parameter([1.0])
            >>> w.grad = Tensor([0.5])
            >>> _ = SGD([w], lr=1.0).step()
            >>> w.numpy().tolist()
            [0.5]
        """
        for group in self.param_groups:
            if isinstance(group["params"], set):
                raise TypeError("optimizer parameters need a fixed order, a set has none")
            self._updates(group)
        return self

    def zero_grad(self) -> None:
        """Set the gradients to zero (deprecated: use ``clear_grad``).

        Example:
            >>> w = Parameter([1.0])
            >>> optimizer = SGD([w], lr=0.1)
            >>> w.grad = Tensor([2.0])
            >>> optimizer.zero_grad()
            >>> w.grad
            Tensor([0.], device=xpux:0)
        """
        for param in self._get_params():
            if param.grad is not None:
                param.grad._reset(param.grad * 0)

    def clear_grad(self) -> None:
        """Remove the gradients of all parameters.

        Example:
            >>> w = Parameter([1.0])
            >>> w.grad = Tensor([0.5])
            >>> SGD([w], lr=1.0).clear_grad()
            >>> w.grad is None
            True
        """
        for param in self._get_params():
            param.grad = None

    def state_dict(self, keep_var: bool = False) -> dict:
        """Return options and state, with indices instead of parameters.

        Args:
            keep_var: state as Tensors instead of NumPy arrays.
        Returns:
            ``{"param_groups": [...], "state": {number: {name: value}}}``.
        Example:
            >>> state = SGD([Parameter([1.0])], lr=0.1).state_dict()
            >>> state["param_groups"][0]["lr"], state["param_groups"][0]["params"]
            (0.1, [0])
        """
        number = {id(param): k for k, param in enumerate(self._get_params())}
        groups = []
        for group in self.param_groups:
            options = {key: value for key, value in group.items() if key != "params"}
            groups.append({**options, "params": [number[id(p)] for p in group["params"]]})
        state = {
            number[id(param)]: {
                name: value if keep_var else value.numpy() for name, value in states.items()
            }
            for param, states in self._state.items()
        }
        return {"param_groups": groups, "state": state}

    def load_state_dict(self, state: dict) -> None:
        """Restore the state from ``state_dict``.

        Args:
            state: the dictionary.
        Raises:
            ValueError: groups, their sizes or their options differ.
            KeyError: the state of a parameter is missing.
        Example:
            >>> saved = SGD([Parameter([1.0])], lr=0.1).state_dict()
            >>> sgd = SGD([Parameter([1.0])], lr=0.5)
            >>> sgd.load_state_dict(saved)
            >>> sgd.param_groups[0]["lr"]
            0.1
        """
        parameter_of = self._parameters_of(state["param_groups"])
        missing = [
            key
            for key, param in parameter_of.items()
            if self._state.get(param) and key not in state["state"]
        ]
        if missing:
            raise KeyError(f"loaded state dict has no state of the parameters {missing}")
        loaded = {
            parameter_of[key]: {
                name: Tensor(
                    value.numpy() if isinstance(value, Tensor) else value,
                    no_cache=True,
                    device=parameter_of[key].device,
                )
                for name, value in states.items()
            }
            for key, states in state["state"].items()
        }
        self._load_groups(state["param_groups"])
        self._state.update(loaded)

    def _load_groups(self, groups: list[dict]) -> None:
        """Take the options of saved groups, of all or of none."""
        self._parameters_of(groups)
        for have, given in zip(self.param_groups, groups, strict=True):
            have.update({name: value for name, value in given.items() if name != "params"})

    def _parameters_of(self, groups: list[dict]) -> dict[object, Parameter]:
        """Returns the parameters by their keys in saved groups, which have to fit."""
        if len(groups) != len(self.param_groups):
            raise ValueError(
                f"loaded state dict has {len(groups)} param groups, not {len(self.param_groups)}"
            )
        parameter_of = {}
        for have, given in zip(self.param_groups, groups, strict=True):
            if len(have["params"]) != len(given["params"]):
                raise ValueError("loaded state dict contains a parameter group of another size")
            if have.keys() != given.keys():
                raise ValueError(
                    "loaded state dict contains a parameter group with other options:"
                    f" {sorted(given.keys() ^ have.keys())}"
                )
            parameter_of.update(zip(given["params"], have["params"], strict=True))
        return parameter_of

    def backward(self, loss: Tensor):
        """Gradients come from ``autodiff.GradManager``."""
        raise NotImplementedError("use autodiff.GradManager instead of Optimizer.backward")

    def bcast_param(self):
        """Parameters are sent to other processes by functions."""
        raise NotImplementedError("use distributed.bcast_list_ instead of Optimizer.bcast_param")


def _rate(lr, device) -> Tensor:
    """A learning rate, a number or a Tensor of one, as a float32 Tensor on a device."""
    if isinstance(lr, Tensor):
        return lr.astype("float32").to(device)
    return Tensor(float(lr), device=device)


def is_finite(value) -> bool:
    """Whether an option is a number, neither infinite nor NaN."""
    try:
        return math.isfinite(float(value))
    except (TypeError, ValueError):
        return False


def is_not_negative(value, most: float = math.inf) -> bool:
    """Whether an option is a finite number that is not negative.

    Args:
        value: of the option.
        most: the largest that is allowed.
    """
    return is_finite(value) and 0.0 <= float(value) <= most


def check_not_negative(value: float, text: str) -> None:
    """Raise ValueError with a text for a value that is not a number, or is negative, infinite or
    NaN."""
    if not is_not_negative(value):
        raise ValueError(f"{text}: {value}")
