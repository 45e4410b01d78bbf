# SPDX-License-Identifier: Apache-2.0
"""Tensors below ``functional``, and what runs operators on them."""

from weakref import ref as TensorWeakRef  # noqa: F401, N812

from ...functional.math import matmul as matmul_cpp  # noqa: F401
from ...functional.tensor import broadcast_to as broadcast_cpp  # noqa: F401
from ...functional.tensor import expand_dims as expand_dims_cpp  # noqa: F401
from ...functional.tensor import reshape as reshape_cpp  # noqa: F401
from ...functional.tensor import split as split_cpp  # noqa: F401
from ...functional.tensor import squeeze as squeeze_cpp  # noqa: F401
from ...functional.tensor import transpose as transpose_cpp  # noqa: F401
from ...functional.utils import _sync as sync
from ...tensor import Tensor
from ...utils.naming import AutoNaming
from .._trace_option import set_symbolic_shape as set_cpp_use_symbolic_shape  # noqa: F401
from ..ops.opdef import apply  # noqa: F401
from ..options import get_option, set_option  # noqa: F401
from ..tensor.indexing import getitem as getitem_cpp  # noqa: F401
from ..tensor.indexing import setitem as setitem_cpp  # noqa: F401
from ..tensor.utils import astensor1d as astensor1d_cpp  # noqa: F401
from ..tensor.utils import make_shape_tuple  # noqa: F401

push_scope = AutoNaming.push_scope


def pop_scope(scope: str | None = None) -> None:
    """Leave the innermost module, whose name is given."""
    AutoNaming.pop_scope()


full_sync = sync


def Const(value, dtype=None, device=None) -> Tensor:  # noqa: N802
    """A Tensor of a value that does not change."""
    return Tensor(value, dtype=dtype, device=device)
