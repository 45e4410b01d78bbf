# SPDX-License-Identifier: Apache-2.0
"""What quantised modules have in common."""

from ...core.tensor.dtype import get_scale, is_quantize, qint32
from ...tensor import Parameter, Tensor
from ..module import Module
from ..qat import QATModule

# What a QAT module has for its training alone.
_OF_TRAINING = ("weight_observer", "act_observer", "weight_fake_quant", "act_fake_quant")


class QuantizedModule(Module):
    """A module that computes in integers, in evaluation mode only.

    Args:
        name: name shown in dumped graphs.
    Raises:
        ValueError: it is called in training mode.
    """

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
            qat_module: of the class of the same name in ``module.qat``.
        Returns:
            A module with the weights on their steps.
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
        return made

    @classmethod
    def _with_weight(
        cls, qat_module: QATModule, part: Module, weight: Tensor, bias: Tensor | None
    ) -> "QuantizedModule":
        """The same with a weight on the steps of its dtype and a bias in floats: its steps are the
        product of weight's and input's, which is known when the input is there."""
        made = cls._taken_from(qat_module, part)
        made.weight = Parameter(weight.detach().astype(qat_module.get_weight_dtype()))
        made.bias = None if bias is None else Parameter(bias.detach())
        return made


def bias_steps(bias: Tensor | None, inp: Tensor, weight: Tensor) -> Tensor | None:
    """A bias on the steps of a product.

    Args:
        bias: float32, or None.
        inp: of a quantised dtype.
        weight: of a quantised dtype.
    Returns:
        qint32 Tensor, or None.
    Raises:
        TypeError: ``inp`` is not quantised.
    """
    if not is_quantize(inp.dtype):
        raise TypeError(
            f"quantised modules take Tensors of quantised dtypes, got {inp.dtype}; a QuantStub"
            " makes them"
        )
    if bias is None:
        return None
    return bias.astype(qint32(get_scale(inp.dtype) * get_scale(weight.dtype)))
