# SPDX-License-Identifier: Apache-2.0
"""Base class of quantised modules."""

from collections.abc import Callable
from typing import TypeVar

from ... import functional as F
from ...core.tensor.dtype import get_scale, is_quantize, qint8, qint32
from ...tensor import Parameter, Tensor
from ..module import Module
from ..qat import QATModule

_Class = TypeVar("_Class", bound=type)
# Parts of a QAT module that only training needs.
_OF_TRAINING = ("weight_observer", "act_observer", "weight_fake_quant", "act_fake_quant")


class QuantizedModule(Module):
    """A module that computes in integers, in evaluation mode only.

    Args:
        name: name shown in dumped graphs.
    Attributes:
        output_dtype: of the result.
        weight_scale: where the output channels of the weight have scales of their own, these, in a
            shape that broadcasts with the result; the weight has the scale 1 then. Else None.
    Raises:
        ValueError: it is called in training mode.
    Example:
        >>> import megengine.quantization as Q
        >>> net = Q.quantize_qat(M.Sequential(M.QuantStub(), M.Linear(3, 2)))
        >>> _ = net(F.ones((1, 3)))
        >>> _ = net.eval()
        >>> isinstance(Q.quantize(net)[1], QuantizedModule)
        True
    """

    weight_scale: Tensor | None = None
    _channel_shape: tuple[int, ...] = (-1,)  # shape of ``weight_scale``

    def __call__(self, *inputs, **kwargs):
        if self.training:
            raise ValueError(
                "quantized module only support inference: call eval() on the net first"
            )
        return super().__call__(*inputs, **kwargs)

    def __repr__(self) -> str:
        return "Quantized." + super().__repr__()

    @classmethod
    def from_qat_module(cls, qat_module: QATModule) -> "QuantizedModule":
        """The quantised form of a module of quantisation-aware training.

        Args:
            qat_module: module of the class of the same name in ``module.qat``.
        Returns:
            A module with quantised weights.
        Raises:
            ValueError: it has neither an observer nor a fake quantiser with a scale.
        Example:
            >>> from megengine.quantization import quantize, quantize_qat
            >>> qat = quantize_qat(M.Sequential(M.QuantStub(), M.Linear(2, 1), M.DequantStub()))
            >>> _ = qat(Tensor([[1.0, 2.0]]))
            >>> quantize(qat)[1]  # made by Linear.from_qat_module
            Quantized.Linear()
        """
        return cls._taken_from(qat_module, qat_module)

    @classmethod
    def _taken_from(cls, qat_module: QATModule, part: Module) -> "QuantizedModule":
        """A module with the plain attributes of a part, without tensors and modules."""
        made = cls.__new__(cls)
        QuantizedModule.__init__(made, name=qat_module.name)
        for name, value in vars(part).items():
            if name not in vars(made) and name not in _OF_TRAINING:
                if not isinstance(value, (Tensor, Module)):
                    setattr(made, name, value)
        made.training = qat_module.training
        made._name, made._short_name = qat_module._name, qat_module._short_name
        made.output_dtype = qat_module.get_activation_dtype()
        if made.output_dtype is None and qat_module.with_act:
            raise ValueError(_scale_is_missing(qat_module, "result"))
        return made

    @classmethod
    def _with_weight(
        cls, qat_module: QATModule, part: Module, weight: Tensor, bias: Tensor | None
    ) -> "QuantizedModule":
        """The same with a quantised weight and a float bias: the bias's scale is the product of
        the weight's and the input's, which is known only with the input."""
        made = cls._taken_from(qat_module, part)
        qparams = qat_module.get_weight_qparams()
        if qparams is None:
            raise ValueError(_scale_is_missing(qat_module, "weight"))
        meta = qparams.dtype_meta
        if qparams.scale.size > 1:
            steps = F.clip(weight / qparams.scale, meta.qmin, meta.qmax)
            made.weight = Parameter(steps.detach().astype(qint8(1.0)), name=part.weight.name)
            made.weight_scale = qparams.scale.reshape(*cls._channel_shape)
        else:
            dtype = qat_module.get_weight_dtype()
            if qparams.zero_point is None:
                # A type's range may be narrower than that of its dtype, and weights that have
                # changed since the observer saw them may exceed it.
                scale = get_scale(dtype)
                weight = F.clip(weight, meta.qmin * scale, meta.qmax * scale)
            made.weight = Parameter(weight.detach().astype(dtype), name=part.weight.name)
        if bias is not None:
            bias = Parameter(bias.detach(), name=part.bias.name if part.bias is not None else None)
        made.bias = bias
        return made

    def _bias_steps(self, inp: Tensor) -> Tensor | None:
        """The bias in qint32 with the scale of the product; None without a bias.

        Raises:
            TypeError: the input is not quantised.
        """
        if not is_quantize(inp.dtype):
            raise TypeError(
                f"quantised modules take Tensors of quantised dtypes, got {inp.dtype}; a QuantStub"
                " makes them"
            )
        if self.bias is None:
            return None
        bias = self.bias
        if self.weight_scale is not None:
            bias = bias / self.weight_scale.reshape(bias.shape)
        return bias.astype(qint32(get_scale(inp.dtype) * get_scale(self.weight.dtype)))

    def _from_sums(self, sums: Tensor, nonlinear_mode: str) -> Tensor:
        """The result of exact sums of products, after ``"identity"`` or ``"relu"``."""
        if self.weight_scale is not None:
            sums = sums.astype("float32") * self.weight_scale
        out = sums.astype(self.output_dtype)
        return F.relu(out) if nonlinear_mode == "relu" else out


def converted(layer: str, shape: str) -> Callable[[_Class], _Class]:
    """Returns a decorator that adds an example of the conversion to a class's docstring.

    Args:
        layer: the float layer, as an expression.
        shape: of its input.
    """

    def complete(cls: _Class) -> _Class:
        cls.__doc__ = f"""{(cls.__doc__ or "").rstrip()}

    Example:
        >>> import megengine.quantization as Q
        >>> net = Q.quantize_qat(M.Sequential(M.QuantStub(), {layer}))
        >>> _ = net(F.ones({shape}))
        >>> _ = net.eval()
        >>> net = Q.quantize(net)
        >>> type(net[1]).__module__, type(net[1]).__name__
        ('{cls.__module__}', '{cls.__name__}')
    """
        return cls

    return complete


def _scale_is_missing(qat_module: QATModule, what: str) -> str:
    return (
        f"[{type(qat_module).__name__}] the scale of its {what} is unknown: set_qconfig makes"
        " observers or fake quantisers"
    )
