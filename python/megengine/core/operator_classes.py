# SPDX-License-Identifier: Apache-2.0
"""MegEngine's names for the classes of a graph's variables and operators."""

CLASSES = frozenset(
    """
    AdaptivePoolingForward Argmax Argmin ArgsortForward AssertEqual AxisAddRemove
    BatchConvBiasForward BatchNormForward BatchedIncrMeshIndexing BatchedMatrixMul
    BatchedMeshIndexing BatchedSetMeshIndexing Broadcast Concat CondTake ConstOpBase
    ConvBiasForward ConvolutionBackwardData ConvolutionForward Copy CvtColorForward
    DeformableConvForward DeformablePSROIPoolingForward Dimshuffle Dot Elemwise
    ElemwiseMultiType Eye GetVarShape GroupLocalForward Host2DeviceCopy Identity ImmutableTensor
    IncrMeshIndexing IncrSubtensor IndexingBase IndexingIncrMultiAxisVec IndexingMultiAxisVec
    IndexingOneHot IndexingSetMultiAxisVec IndexingSetOneHot Linspace MatrixInverse MatrixMul
    MeshIndexing NMSKeep NetworkNode NvOf OpNode PoolingForward RNGOpr ROIAlignForward
    ROIPoolingForward ReadOnlyOpNode Reduce RemapForward Reshape ResizeForward SVD
    SetMeshIndexing SetSubtensor SharedDeviceTensor Subtensor TopK TypeCvt VarNode
    WarpAffineForward WarpPerspectiveForward str_to_mge_class
    """.split()
)


def operator_class(kind: str) -> str:
    """Returns the name of MegEngine's class for an operator of a graph, or the type itself.

    Args:
        kind: the type in MegEngine's files, such as ``"Convolution"``.
    Example:
        >>> operator_class("Convolution"), operator_class("Elemwise")
        ('ConvolutionForward', 'Elemwise')
    """
    candidates = (kind, f"{kind}Forward", kind.removesuffix("MGB"))
    return next((name for name in candidates if name in CLASSES), kind)
