# SPDX-License-Identifier: Apache-2.0
"""The operators as objects, under MegEngine's names: ``apply(Elemwise("add"), x, y)``.

MegEngine's other operators run on vendor hardware, between processes, or compute gradients; using
one raises an error that says so.
"""

from ..core.not_available import NotAvailableNameError
from .compound import (  # noqa: F401
    LSTM,
    RNN,
    BatchNorm,
    CollectiveComm,
    ConvBias,
    DeformablePSROIPooling,
    GeneralNorm,
    InstanceNorm,
    LAMBUpdate,
    LSTMCell,
    MultiHeadAttn,
    NMSKeep,
    ParamPackConcat,
    ParamPackSplit,
    PixelShuffleBackward,
    RemoteRecv,
    RemoteSend,
    Resize3D,
    RNNCell,
)
from .creation import (  # noqa: F401
    BetaRNG,
    Dropout,
    ExponentialRNG,
    Eye,
    Fill,
    FillLike,
    GammaRNG,
    GaussianRNG,
    Linspace,
    MultinomialRNG,
    PermutationRNG,
    PoissonRNG,
    ShuffleRNG,
    UniformRNG,
)
from .elementwise import (  # noqa: F401
    LSQ,
    TQT,
    AssertEqual,
    Borrow,
    CheckNonFinite,
    Copy,
    Elemwise,
    ElemwiseMultiType,
    FakeQuant,
    FastpathCopy,
    Identity,
    InplaceAdd,
    TypeCvt,
)
from .images import (  # noqa: F401
    LRN,
    AdaptivePooling,
    Convolution,
    Convolution3D,
    Convolution3DBackwardData,
    ConvolutionBackwardData,
    Correlation,
    CvtColor,
    DeformableConv,
    GroupLocal,
    GroupNorm,
    Images2Neibs,
    LayerNorm,
    Pooling,
    RegionRestrictedConvolution,
    Remap,
    Resize,
    ROIAlign,
    ROIPooling,
    SlidingWindowTranspose,
    WarpAffine,
    WarpPerspective,
)
from .indexing import (  # noqa: F401
    BatchedIncrMeshIndexing,
    BatchedMeshIndexing,
    BatchedSetMeshIndexing,
    IncrMeshIndexing,
    IncrSubtensor,
    IndexingIncrMultiAxisVec,
    IndexingMultiAxisVec,
    IndexingOneHot,
    IndexingSetMultiAxisVec,
    IndexingSetOneHot,
    MeshIndexing,
    SetMeshIndexing,
    SetSubtensor,
    Subtensor,
)
from .opdef import OpDef, apply  # noqa: F401
from .reductions import (  # noqa: F401
    SVD,
    Argmax,
    Argmin,
    Argsort,
    BatchedMatrixMul,
    CondTake,
    Cumsum,
    Dot,
    MaskedFill,
    MatrixInverse,
    MatrixMul,
    Reduce,
    Softmax,
    TopK,
)
from .shaping import (  # noqa: F401
    AddAxis,
    Broadcast,
    Concat,
    Diag,
    Dimshuffle,
    GetVarShape,
    MeshGrid,
    Padding,
    PixelShuffle,
    RemoveAxis,
    Reshape,
    Split,
    Stack,
)

_WITHOUT = """
    AtlasRuntime Barrier BatchConvBias BatchNormBackward CambriconRuntime ExternOpr MagicMindRuntime
    NvOf RegionRestrictedConvolutionBackwardData TensorRTRuntime WarpPerspectiveBackwardData
    WarpPerspectiveBackwardMat
""".split()


def __getattr__(name: str):
    if name in _WITHOUT:
        raise NotAvailableNameError(
            f"[builtin] {name} is not available as an operator object; see megengine.functional"
        )
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
