# SPDX-License-Identifier: Apache-2.0
"""Models of other vendors' libraries as operators.

This engine runs none of them. Programs that import these functions for such hardware work as long
as they do not call them.
"""

from collections.abc import Sequence
from typing import Any, NoReturn

from ..core.not_available import NotAvailableError
from ..tensor import Tensor


def _refuse(who: str, kind: str) -> NoReturn:
    raise NotAvailableError(f"[{who}] this version of megengine does not run {kind}")


def extern_opr_subgraph(
    inputs: Sequence[Tensor],
    output_shapes: Sequence[tuple[int, ...]],
    dump_name: str,
    dump_data: bytes,
    output_dtypes: Sequence[Any],
) -> list[Tensor]:
    """A model of an external loader as an operator.

    Args:
        inputs: Tensors.
        output_shapes: the shapes of the results.
        dump_name: name of the loader.
        dump_data: the serialized model.
        output_dtypes: the dtypes of the results.
    Raises:
        NotAvailableError: always.
    Example:
        >>> import megengine as mge
        >>> try:
        ...     extern_opr_subgraph((), [(1,)], "loader", b"", ["float32"])
        ... except mge.NotAvailableError as error:
        ...     print(error)
        [extern_opr_subgraph] this version of megengine does not run external loaders
    """
    _refuse("extern_opr_subgraph", "external loaders")


def tensorrt_runtime_opr(
    inputs: Sequence[Tensor], *, data: bytes | None = None
) -> list[Tensor] | None:
    """A TensorRT engine as an operator.

    Args:
        inputs: Tensors.
        data: the serialized engine; None: the result is None.
    Raises:
        NotAvailableError: there is an engine.
    Example:
        >>> tensorrt_runtime_opr(()) is None
        True
    """
    if data is not None:
        _refuse("tensorrt_runtime_opr", "TensorRT engines")
    return None


def cambricon_runtime_opr(
    inputs: Sequence[Tensor], data: bytes, symbol: str, tensor_dim_mutable: bool
) -> list[Tensor]:
    """A Cambricon model as an operator.

    Args:
        inputs: Tensors.
        data: the serialized model.
        symbol: name of the function in the model.
        tensor_dim_mutable: whether the shapes of the inputs may change.
    Raises:
        NotAvailableError: always.
    Example:
        >>> import megengine as mge
        >>> try:
        ...     cambricon_runtime_opr((), b"", "subnet0", True)
        ... except mge.NotAvailableError as error:
        ...     print(error)
        [cambricon_runtime_opr] this version of megengine does not run Cambricon models
    """
    _refuse("cambricon_runtime_opr", "Cambricon models")


def atlas_runtime_opr(inputs: Sequence[Tensor], data: bytes) -> list[Tensor]:
    """An Atlas model as an operator.

    Args:
        inputs: Tensors.
        data: the serialized model.
    Raises:
        NotAvailableError: always.
    Example:
        >>> import megengine as mge
        >>> try:
        ...     atlas_runtime_opr((), b"")
        ... except mge.NotAvailableError as error:
        ...     print(error)
        [atlas_runtime_opr] this version of megengine does not run Atlas models
    """
    _refuse("atlas_runtime_opr", "Atlas models")


def magicmind_runtime_opr(inputs: Sequence[Tensor], data: bytes) -> list[Tensor]:
    """A MagicMind model as an operator.

    Args:
        inputs: Tensors.
        data: the serialized model.
    Raises:
        NotAvailableError: always.
    Example:
        >>> import megengine as mge
        >>> try:
        ...     magicmind_runtime_opr((), b"")
        ... except mge.NotAvailableError as error:
        ...     print(error)
        [magicmind_runtime_opr] this version of megengine does not run MagicMind models
    """
    _refuse("magicmind_runtime_opr", "MagicMind models")
