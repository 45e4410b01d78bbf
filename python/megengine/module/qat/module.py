# SPDX-License-Identifier: Apache-2.0
"""Base class of modules for quantisation-aware training."""

from collections import OrderedDict

from ...core.tensor.qparams import QParams
from ...functional.fake_quantization import fake_quant_bias
from ...tensor import Tensor
from ..module import Module


class QATModule(Module):
    """A module that computes in floats the values that its quantised form will compute in integers.

    Derive from the float module and from this class, and quantise in ``forward`` with
    ``apply_quant_weight`` and the like. ``set_qconfig`` makes observers and fake quantisers.

    Attributes:
        with_weight: whether there is a weight to be quantised.
        with_act: whether the result is to be quantised.
    Example:
        >>> import megengine.module.qat as QAT
        >>> from megengine.quantization import min_max_fakequant_qconfig
        >>> layer = QAT.Linear.from_float_module(M.Linear(2, 3))
        >>> isinstance(layer, QATModule), layer.with_weight, layer.with_act
        (True, True, True)
        >>> layer.take("weight", min_max_fakequant_qconfig)
        >>> layer.get_activation_dtype() is None
        True
        >>> layer.set_qconfig(min_max_fakequant_qconfig)
        >>> weight = layer.apply_quant_weight(Tensor([[127.5, 0.4]]))
        >>> weight, layer.get_weight_qparams().scale
        (Tensor([[127.5   0. ]], device=xpux:0), Tensor(1.003937, device=xpux:0))
        >>> layer.apply_quant_activation(Tensor([-127.5, 0.4]))
        Tensor([-128.    0.], device=xpux:0)
        >>> layer.get_activation_qparams().scale
        Tensor(1.0, device=xpux:0)
        >>> layer.apply_quant_bias(Tensor([0.3]), Tensor([1.0]), weight)
        Tensor([0.3], device=xpux:0)
        >>> layer.get_weight_dtype().metadata["mgb_dtype"]["name"]
        'QuantizedS8'
        >>> layer.set_observer(False)
        >>> layer.set_fake_quant(False)
        >>> layer.act_observer.enabled, layer.act_fake_quant.enabled
        (False, False)
    """

    with_weight = True
    with_act = True

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self._without_qconfig()

    def _without_qconfig(self) -> None:
        self.weight_observer = None
        self.act_observer = None
        self.weight_fake_quant = None
        self.act_fake_quant = None

    def __repr__(self) -> str:
        return "QAT." + super().__repr__()

    def set_qconfig(self, qconfig) -> None:
        """Set new observers and fake quantisers.

        Args:
            qconfig: a ``quantization.QConfig``.
        """
        for which in ("act", "weight"):
            self.take(which, qconfig)

    def take(self, which: str, qconfig) -> None:
        """Replace the observer and fake quantiser of weights or of results.

        Args:
            which: ``"act"`` or ``"weight"``; parts that the module lacks are skipped.
            qconfig: a ``quantization.QConfig``.
        """
        if not getattr(self, f"with_{which}"):
            return
        for name in (f"{which}_observer", f"{which}_fake_quant"):
            make = getattr(qconfig, name)
            setattr(self, name, make and make())
        if which == "weight" and hasattr(self.weight_observer, "for_weight"):
            self._prepare(self.weight_observer)

    def _prepare(self, observer: Module) -> None:
        """Set the weight of an observer of channels."""
        if getattr(self, "weight", None) is not None:
            observer.for_weight(self.weight, channel_axes(self.weight))

    def _switch(self, name: str, enable: bool) -> None:
        for part in (getattr(self, f"act_{name}"), getattr(self, f"weight_{name}")):
            if part is not None:
                part.enable() if enable else part.disable()

    def set_fake_quant(self, enable: bool) -> None:
        """Switch the fake quantisers on or off."""
        self._switch("fake_quant", enable)

    def set_observer(self, enable: bool) -> None:
        """Switch the observers on or off."""
        self._switch("observer", enable)

    # Under MegEngine's name: modules of users call it.
    def _apply_fakequant_with_observer(self, target: Tensor, fake_quant, observer) -> Tensor:
        source = _source_of_qparams(fake_quant, observer)
        if source is None:
            return target
        if observer is not None:
            target = observer(target)
        quantises = fake_quant is not None and fake_quant.enabled
        if not quantises and getattr(source, "qparams", source) is None:
            return target  # a passive observer without values
        qparams = source.get_qparams()
        if fake_quant is not None:
            target = fake_quant(target, qparams)
        target.qparams.update(qparams)
        return target

    def apply_quant_weight(self, target: Tensor) -> Tensor:
        """Observe and fake-quantise a weight, and set its ``qparams``."""
        return self._apply_fakequant_with_observer(
            target, self.weight_fake_quant, self.weight_observer
        )

    def apply_quant_activation(self, target: Tensor) -> Tensor:
        """Observe and fake-quantise a result, and set its ``qparams``."""
        return self._apply_fakequant_with_observer(target, self.act_fake_quant, self.act_observer)

    def apply_quant_bias(self, target: Tensor | None, inp: Tensor, w_qat: Tensor) -> Tensor | None:
        """Fake-quantise a bias if weight and result are; see ``quantization.fake_quant_bias``.

        Args:
            target: the bias, or None.
            inp: the input of the module.
            w_qat: the result of ``apply_quant_weight``.
        """
        parts = self.act_fake_quant, self.weight_fake_quant
        quantises = all(part is not None and part.enabled for part in parts)
        return fake_quant_bias(target, inp, w_qat) if quantises else target

    def get_weight_dtype(self):
        """The quantised dtype of the weight; None without observer and fake quantiser."""
        source = _source_of_qparams(self.weight_fake_quant, self.weight_observer)
        return source and source.get_quantized_dtype()

    def get_activation_dtype(self):
        """The quantised dtype of the result; None without observer and fake quantiser."""
        source = _source_of_qparams(self.act_fake_quant, self.act_observer)
        return source and source.get_quantized_dtype()

    def get_weight_qparams(self) -> QParams | None:
        """Quantisation parameters of the weight; None without observer and fake quantiser."""
        source = _source_of_qparams(self.weight_fake_quant, self.weight_observer)
        return source and source.get_qparams()

    def get_activation_qparams(self) -> QParams | None:
        """Quantisation parameters of the result; None without observer and fake quantiser."""
        source = _source_of_qparams(self.act_fake_quant, self.act_observer)
        return source and source.get_qparams()

    @classmethod
    def from_float_module(cls, float_module: Module) -> "QATModule":
        """Make the module of this class for a float module, with the same parameters.

        Args:
            float_module: a module of the class that this one is derived from.
        Returns:
            A module without observers and fake quantisers.
        Raises:
            TypeError: it is of another class.
        Example:
            >>> import megengine.module.qat as QAT
            >>> QAT.Linear.from_float_module(M.Linear(2, 3))
            QAT.Linear(in_features=2, out_features=3, bias=True)
        """
        origin = next(base for base in cls.__mro__ if not issubclass(base, QATModule))
        if not isinstance(float_module, origin):
            raise TypeError(
                f"[{cls.__name__}] is made from {origin.__module__}.{origin.__name__},"
                f" got {type(float_module).__name__}"
            )
        made = cls.__new__(cls)
        vars(made).update(vars(float_module))
        made._modules = list(float_module._modules)
        made._forward_pre_hooks = OrderedDict(float_module._forward_pre_hooks)
        made._forward_hooks = OrderedDict(float_module._forward_hooks)
        made._without_qconfig()
        return made


def channel_axes(weight: Tensor, transpose: bool = False) -> tuple[int, ...]:
    """The axes of a weight's output channels.

    Args:
        weight: of a convolution, with groups or without, or of a linear map.
        transpose: the convolution is a transposed one.
    """
    return (0, 1 + transpose) if weight.ndim == 5 else (int(transpose),)


def _source_of_qparams(fake_quant: Module | None, observer: Module | None) -> Module | None:
    """The source of scale and zero point: a fake quantiser that learns them, else the observer."""
    return fake_quant if hasattr(fake_quant, "get_qparams") else observer
