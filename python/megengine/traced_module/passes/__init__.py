# SPDX-License-Identifier: Apache-2.0
"""Passes over traced modules: they calculate less and give the same, but for rounding."""

import copy

from ..graph_member import GraphOwner
from .constants import fold_constants, freeze_attributes, freeze_shapes
from .conv_bn import fuse_conv_bn
from .elementwise import fuse_chains, normalise_elementwise
from .rewriting import graphs_of
from .scales import fold_scales

# The order of the passes: the name, the pass, and the passes that must run before it.
_PASSES = {
    "AttrToConstant": (freeze_attributes, ()),
    "FixInputShape": (freeze_shapes, ()),
    "FlodConstant": (fold_constants, ("AttrToConstant",)),
    "NormElemWise": (normalise_elementwise, ("FlodConstant",)),
    "FuseConvBn": (fuse_conv_bn, ("AttrToConstant",)),
    "BackwardFoldScale": (fold_scales, ("AttrToConstant", "NormElemWise", "FuseConvBn")),
    "FuseAddMul": (fuse_chains, ("NormElemWise",)),
}


def _with_required(names) -> set[str]:
    found: set[str] = set()
    waiting = list(names)
    while waiting:
        name = waiting.pop()
        found.add(name)
        waiting += _PASSES[name][1]
    return found


def optimize(module, enabled_pass=("FuseConvBn",)):
    """A traced module that does the same with less work.

    Args:
        module: a traced module; for ``FuseConvBn`` to find something it is in evaluation mode.
        enabled_pass: a name or several:

            - ``"AttrToConstant"``: attributes that are Tensors become constants;
            - ``"FixInputShape"``: shapes become the recorded ones;
            - ``"FlodConstant"``: values that depend only on constants are computed;
            - ``"NormElemWise"``: sums and products with numbers are normalised;
            - ``"FuseConvBn"``: batch normalisation is folded into the convolution before it;
            - ``"BackwardFoldScale"``: factors are folded into the weights before them;
            - ``"FuseAddMul"``: successive additions or multiplications of numbers are merged.

            The passes that it depends on run, too.
    Returns:
        A new module; the original is not changed.
    Raises:
        TypeError: it is not a traced module.
        ValueError: there is no such pass.
    Example:
        >>> import megengine.traced_module as T
        >>> net = M.Sequential(M.Conv2d(1, 2, 3), M.BatchNorm2d(2))
        >>> _ = net.eval()
        >>> T.optimize(T.trace_module(net, F.zeros((1, 1, 4, 4)))).graph
        Sequential.Graph (self, inp) {
            %2: _0 = getattr(self, "0") -> (Conv2d)
            %4: _0_out = _0(inp, )
            return _0_out
        }
    """
    if not isinstance(module, GraphOwner):
        raise TypeError(f"[optimize] a traced module is expected, got {type(module).__name__}")
    names = [enabled_pass] if isinstance(enabled_pass, str) else list(enabled_pass)
    for name in names:
        if name not in _PASSES:
            raise ValueError(f"[optimize] there is no pass {name!r}; there are {list(_PASSES)}")
    made = copy.deepcopy(module)
    needed = _with_required(names)
    for name, (run, _) in _PASSES.items():
        if name in needed:
            for graph in graphs_of(made):
                run(graph)
            made._compile()
    return made
