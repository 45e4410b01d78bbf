# SPDX-License-Identifier: Apache-2.0
"""Operators that do several things: normalisation, layers of networks, an optimizer's step."""

from typing import Any

from .. import _mge
from ..core.not_available import NotAvailableError
from ..core.tensor.dtype import is_quantize
from ..distributed import helper
from ..functional import (
    activation,
    detection,
    elemwise,
    nn,
    normalization,
    quantized,
    tensor,
    vision,
)
from ..module import rnn
from ..tensor import Tensor
from .images import _FORMATS, GroupNorm, _groups, _Window
from .opdef import OpDef, Strategy, choice

_ops = _mge.ops
_PHASES = "TRAINING INFERENCE"
_ACTIVATIONS = {
    "identity": lambda x: x,
    "relu": activation.relu,
    "sigmoid": activation.sigmoid,
    "tanh": elemwise.tanh,
    "h_swish": activation.hswish,
}


class BatchNorm(OpDef):
    """Channels with mean 0 and variance 1.

    The inputs are images, factors, shifts and maybe running means and variances. The results are
    the running means and variances as they are then (if they are given), means and 1/deviations of
    the images (in training), an empty vector of bytes, and the images.
    """

    ParamDim = choice("ParamDim", "DIM_11HW DIM_1CHW DIM_1C11 DIM_111C")
    FwdMode = choice("FwdMode", _PHASES)
    param_dim: str = ParamDim.DIM_11HW
    fwd_mode: str = FwdMode.TRAINING
    epsilon: float = 1e-4
    avg_factor: float = 1.0
    scale: float = 1.0
    bias: float = 0.0

    def __call__(self, x: Tensor, weight: Tensor, bias: Tensor, *running: Tensor):
        self._only(param_dim="DIM_1C11")
        is_training = self.fwd_mode == "TRAINING"
        given = running or (_ops.mul(weight, 0.0), _ops.add(_ops.mul(weight, 0.0), 1.0))
        y, mean, var, saved_mean, saved_factor = _ops.batch_norm(
            x,
            weight,
            bias,
            *given,
            training=is_training,
            momentum=1.0 - self.avg_factor,
            epsilon=self.epsilon,
        )
        results = (mean, var) if running else ()
        if is_training:
            shape = weight._tuple_shape
            results += tuple(_ops.reshape(one, shape=shape) for one in (saved_mean, saved_factor))
        return (*results, Tensor([], dtype="uint8", device=x.device), y)


class GeneralNorm(OpDef):
    """Neighbouring axes with mean 0 and variance 1; their means, 1/deviations."""

    affine: bool = True
    eps: float = 1e-5
    axis_start: int = 0
    axis_end: int = 0

    def __call__(self, x: Tensor, *weight_and_bias: Tensor) -> tuple[Tensor, ...]:
        axes = list(range(self.axis_start, self.axis_end))
        y = normalization.general_norm(x, axes, self.affine, *weight_and_bias, eps=self.eps)
        mean = _ops.mean(x, axes=axes, keepdims=True)
        var = _ops.mean(_ops.square(_ops.sub(x, mean)), axes=axes, keepdims=True)
        kept = [extent for axis, extent in enumerate(x._tuple_shape) if axis not in axes]
        factor = _ops.rsqrt(_ops.add(var, self.eps))
        return y, _ops.reshape(mean, shape=kept), _ops.reshape(factor, shape=kept)


class InstanceNorm(OpDef):
    """Channels of each image with mean 0 and variance 1; their means and variances."""

    Format = choice("Format", _FORMATS)
    affine: bool = True
    eps: float = 1e-5
    group: int = 1
    format: str = Format.NCHW

    def __call__(self, x: Tensor, *weight_and_bias: Tensor) -> tuple[Tensor, ...]:
        self._only(format="NCHW")
        channels = x._tuple_shape[1]
        return GroupNorm(self.affine, self.eps, channels)(x, *weight_and_bias)


class ConvBias(_Window):
    """Convolution, a bias, maybe a further summand (for plain dtypes), an activation."""

    NonlineMode = choice("NonlineMode", "IDENTITY RELU SIGMOID H_SWISH")
    Mode = choice("Mode", "CROSS_CORRELATION CONVOLUTION")
    Sparse = choice("Sparse", "DENSE GROUP")
    Format = choice("Format", _FORMATS)
    ComputeMode = choice("ComputeMode", "DEFAULT FLOAT32")
    nonlineMode: str = NonlineMode.IDENTITY  # noqa: N815
    mode: str = Mode.CROSS_CORRELATION
    sparse: str = Sparse.DENSE
    format: str = Format.NCHW
    pad_h: int = 0
    pad_w: int = 0
    stride_h: int = 1
    stride_w: int = 1
    dilate_h: int = 1
    dilate_w: int = 1
    compute_mode: str = ComputeMode.DEFAULT
    Strategy = Strategy
    strategy: Strategy = Strategy.HEURISTIC
    dtype: Any = None

    def __call__(self, x: Tensor, weight: Tensor, *summands: Tensor) -> Tensor:
        self._only(format="NCHW", mode="CROSS_CORRELATION")
        arguments: dict[str, Any] = {
            "stride": self._stride,
            "padding": self._padding,
            "dilation": self._dilation,
            "groups": _groups(self.sparse, weight),
        }
        activation_name = self.nonlineMode.name.lower()
        if is_quantize(x.dtype):
            (bias,) = summands
            return quantized.conv_bias_activation(
                x, weight, bias, self.dtype, nonlinear_mode=activation_name, **arguments
            )
        y = nn.conv2d(x, weight, *summands[:1], **arguments)
        y = y + summands[1] if len(summands) > 1 else y
        return _ACTIVATIONS[activation_name](y)


class PixelShuffleBackward(OpDef):
    """Blocks of pixels as channels: ``pixel_shuffle`` the other way round."""

    factor: int = 0

    def __call__(self, y: Tensor) -> Tensor:
        *batch, channels, height, width = y._tuple_shape
        f, rank = self.factor, len(batch)
        parts = _ops.reshape(y, shape=[*batch, channels, height // f, f, width // f, f])
        order = [*range(rank), rank, rank + 2, rank + 4, rank + 1, rank + 3]
        moved = _ops.transpose(parts, pattern=order)
        return _ops.reshape(moved, shape=[*batch, channels * f * f, height // f, width // f])


class NMSKeep(OpDef):
    """Which of each image's boxes (best first) overlap no better one, and how many those are.

    The last of the indices is repeated up to ``max_output``.
    """

    iou_thresh: float = 0.0
    max_output: int = 0

    def __call__(self, boxes: Tensor) -> tuple[Tensor, ...]:
        images, count, _ = boxes._tuple_shape
        if count == 0:
            shapes = (images, self.max_output), (images,)
            return tuple(tensor.zeros(shape, dtype="int32") for shape in shapes)
        scores = Tensor([float(-place) for place in range(count)], device=boxes.device)
        kept = [
            detection.nms(boxes[image], scores, self.iou_thresh, self.max_output)
            for image in range(images)
        ]
        rows = [
            _ops.concat(one, *[one[-1:]] * (self.max_output - one._tuple_shape[0]), axis=0)
            for one in kept
        ]
        counts = Tensor([one._tuple_shape[0] for one in kept], dtype="int32", device=boxes.device)
        return tensor.stack(rows), counts


class DeformablePSROIPooling(OpDef):
    """Means of regions with moved parts, and the numbers of samples."""

    no_trans: bool = True
    spatial_scale: float = 1.0
    trans_std: float = 1.0
    pooled_h: int = 1
    pooled_w: int = 1
    part_size: int = 1
    sample_per_part: int = 1

    def __call__(self, x: Tensor, rois: Tensor, trans: Tensor) -> Tensor:
        cells = (self.part_size, self.pooled_h, self.pooled_w, self.sample_per_part)
        scales = (self.spatial_scale, self.trans_std)
        return detection.deformable_psroi_pooling(x, rois, trans, self.no_trans, *cells, *scales)


class Resize3D(OpDef):
    """Volumes of the depth, height and width that the second input is."""

    InterpolationMode = choice("InterpolationMode", "NEAREST LINEAR AREA CUBIC LANCZOS4")
    Format = choice("Format", "NCDHW NDHWC")
    imode: str = InterpolationMode.LINEAR
    format: str = Format.NDHWC
    align_corners: bool = False

    def __call__(self, x: Tensor, size: Tensor) -> Tensor:
        self._only(format="NCDHW", imode="LINEAR")
        sizes = tuple(size.numpy().tolist())
        return vision.interpolate(x, sizes, mode="trilinear", align_corners=self.align_corners)


class ParamPackConcat(OpDef):
    """Tensors as one vector; the last input is the offsets again."""

    offsets: tuple[int, ...] = ()

    def __call__(self, *inputs: Tensor) -> Tensor:
        *parts, offsets = inputs
        return helper.param_pack_concat(parts, offsets, list(self.offsets))


class ParamPackSplit(OpDef):
    """The Tensors that were packed into a vector."""

    offsets: tuple[int, ...] = ()
    shapes: tuple[tuple[int, ...], ...] = ()

    def __call__(self, x: Tensor) -> tuple[Tensor, ...]:
        return helper.param_pack_split(x, list(self.offsets), self.shapes)


class RNNCell(OpDef):
    """One step of a recurrent network. Inputs: x, its weight and bias, state, its weight and
    bias."""

    NonlineMode = choice("NonlineMode", "IDENTITY RELU TANH")
    nonlineMode: str = NonlineMode.IDENTITY  # noqa: N815

    def __call__(self, x, weight_ih, bias_ih, hx, weight_hh, bias_hh) -> Tensor:
        total = nn.linear(x, weight_ih) + bias_ih + nn.linear(hx, weight_hh) + bias_hh
        return _ACTIVATIONS[self.nonlineMode.name.lower()](total)


class LSTMCell(OpDef):
    """A step of an LSTM: input, weight, bias, state, weight, bias, cell; state, cell and gates."""

    def __call__(self, x, weight_ih, bias_ih, hx, weight_hh, bias_hh, cx) -> tuple[Tensor, ...]:
        total = nn.linear(x, weight_ih) + bias_ih + nn.linear(hx, weight_hh) + bias_hh
        return (*rnn._lstm_state(total, cx), total)


class _Recurrent(OpDef):
    def _network(self, kind: type, width: int, weights: Tensor, **more):
        sizes = (width, self.hidden_size, self.num_layers)
        network = kind(*sizes, self.bias, False, self.dropout, self.bidirectional, **more)
        network.train(self.fwd_mode == "TRAINING")
        network._flatten_weights = weights
        return network


class RNN(_Recurrent):
    """A recurrent network: sequences, state, all weights in one; output, state, no bytes."""

    NonlineMode = RNNCell.NonlineMode
    FwdMode = choice("FwdMode", _PHASES)
    num_layers: int = 1
    bidirectional: bool = False
    bias: bool = True
    hidden_size: int = 128
    dropout: float = 0.0
    nonlineMode: str = NonlineMode.IDENTITY  # noqa: N815
    fwd_mode: str = FwdMode.TRAINING

    def __call__(self, x: Tensor, hx: Tensor, weights: Tensor) -> tuple[Tensor, ...]:
        if self.nonlineMode == "IDENTITY":
            raise NotImplementedError("[RNN] nonlineMode must be 'RELU' or 'TANH'")
        kind = self.nonlineMode.name.lower()
        network = self._network(rnn.RNN, x._tuple_shape[2], weights, nonlinearity=kind)
        output, state = network.apply_op(x, hx)
        return output, state, Tensor([], device=x.device)


class LSTM(_Recurrent):
    """A network of LSTM cells: sequences, state, cell, weights; output, state, cell, no bytes."""

    FwdMode = choice("FwdMode", _PHASES)
    num_layers: int = 1
    bidirectional: bool = False
    bias: bool = True
    hidden_size: int = 128
    proj_size: int = 0
    dropout: float = 0.0
    fwd_mode: str = FwdMode.TRAINING

    def __call__(self, x: Tensor, hx: Tensor, cx: Tensor, weights: Tensor) -> tuple[Tensor, ...]:
        self._only(proj_size=0)
        network = self._network(rnn.LSTM, x._tuple_shape[2], weights)
        output, (state, cell) = network.apply_op(x, (hx, cx))
        return output, state, cell, Tensor([], device=x.device)


class LAMBUpdate(OpDef):
    """A step of LAMB: both means, parameter and gradient; the means and the parameter anew.

    The gradient may have another dtype than the parameter.
    """

    beta_1: float = 1.0
    beta_2: float = 1.0
    step: float = 1.0
    lr: float = 1.0
    weight_decay: float = 1.0
    eps: float = 1.0
    bias_correction: bool = True
    always_adapt: bool = False

    def __call__(self, exp_avg, exp_avg_sq, param, grad) -> tuple[Tensor, ...]:
        param, exp_avg, exp_avg_sq, _ = _ops.lamb_step(
            param,
            grad if grad.dtype == param.dtype else grad.astype(param.dtype),
            exp_avg,
            exp_avg_sq,
            Tensor(self.step - 1.0, device=param.device),
            Tensor(float(self.lr), device=param.device),
            beta1=self.beta_1,
            beta2=self.beta_2,
            epsilon=self.eps,
            weight_decay=self.weight_decay,
            bias_correction=self.bias_correction,
            always_adapt=self.always_adapt,
        )
        return exp_avg, exp_avg_sq, param


class _Nowhere(OpDef):
    def __call__(self, *inputs: Tensor) -> Tensor:
        raise NotAvailableError(
            f"[{type(self).__name__}] is not available as an operator object; see"
            " megengine.functional and megengine.distributed"
        )


class MultiHeadAttn(_Nowhere):
    """Use ``functional.multi_head_attention`` instead."""

    AttnMaskType = choice("AttnMaskType", "NO_MASK DEFAULT_MASK CUDNN_STYLE_MASK USER_DEFINED_MASK")
    TensorCombinationType = choice("TensorCombinationType", "NONE ONLY_MASK ONLY_BIASKV ALL")
    num_heads: int = 1
    embeding_size: int = 0
    k_size: int = 0
    v_size: int = 0
    qproj_size: int = 0
    kproj_size: int = 0
    vproj_size: int = 0
    oproj_size: int = 0
    qbias: bool = False
    kbias: bool = False
    vbias: bool = False
    obias: bool = False
    sm_scaler: float = 1.0
    input_order: int = 0
    attn_mask_type: str = AttnMaskType.NO_MASK
    tensor_combination_type: str = TensorCombinationType.NONE
    add_zero_attn: bool = False
    need_weights: bool = False
    reslink: bool = False
    training: bool = True
    seed: int = 0
    attn_prob: float = 0.0
    out_prob: float = 0.0
    handle: int = 0


class CollectiveComm(_Nowhere):
    """Work of several processes, of which there is one."""

    Mode = choice(
        "Mode",
        "REDUCE_SUM BROADCAST ALL_GATHER REDUCE_SCATTER_SUM ALL_REDUCE_SUM ALL_REDUCE_MAX"
        " ALL_REDUCE_MIN ALL_REDUCE_PROD GATHER SCATTER ALL_TO_ALL",
    )
    mode: str = Mode.REDUCE_SUM
    key: str = ""
    nr_devices: int = 0
    rank: int = 0
    is_root: bool = False
    local_grad: bool = False
    addr: str = ""
    port: int = 0
    dtype: Any = None
    backend: str = ""
    comp_node: str = ""


class RemoteSend(_Nowhere):
    """A Tensor sent to another process."""

    key: str = ""
    addr: str = ""
    port: int = 0
    rank_to: int = 0
    backend: str = ""


class RemoteRecv(_Nowhere):
    """A Tensor from another process."""

    key: str = ""
    addr: str = ""
    port: int = 0
    rank_from: int = 0
    cn: str = ""
    shape: tuple[int, ...] = ()
    dtype: Any = None
    backend: str = ""
