# SPDX-License-Identifier: Apache-2.0
"""einsum against NumPy's, exactly: the operands are small integers."""

import numpy as np
import pytest

import megengine as mge
import megengine.functional as F

CASES = [
    ("ij,jk->ik", (2, 3), (3, 4)),
    ("ij,jk", (2, 3), (3, 4)),
    ("ba,cb", (2, 3), (4, 2)),
    ("i,i->", (5,), (5,)),
    ("i,j->ij", (2,), (3,)),
    ("ij->ji", (2, 3)),
    ("ij->", (2, 3)),
    ("ij->i", (2, 3)),
    ("ii->i", (3, 3)),
    ("ii", (3, 3)),
    ("iji->j", (3, 2, 3)),
    ("bij,bjk->bik", (2, 2, 3), (2, 3, 4)),
    ("bij,bij->b", (2, 2, 3), (2, 2, 3)),
    ("...ij,...jk->...ik", (2, 5, 2, 3), (5, 3, 4)),
    ("...ij,jk", (2, 5, 2, 3), (3, 4)),
    ("i...->...", (2, 3, 4)),
    ("i...j,k", (2, 3, 4), (2,)),
    ("...,...", (2, 3), (1, 3)),
    ("a,ab,abc->abc", (2,), (2, 3), (2, 3, 4)),
    ("ab,bc,cd->ad", (2, 3), (3, 4), (4, 5)),
    ("ij,kj->ijk", (2, 3), (4, 3)),
    ("ij,k->k", (2, 3), (4,)),
    (" ij , j k -> i k ", (2, 3), (3, 4)),
]


@pytest.mark.parametrize("equation, shapes", [(c[0], c[1:]) for c in CASES])
def test_einsum(equation, shapes):
    random = np.random.RandomState(0)
    arrays = [random.randint(-4, 5, s).astype(np.float32) for s in shapes]
    got = F.einsum(equation, *[mge.Tensor(a) for a in arrays]).numpy()
    np.testing.assert_array_equal(got, np.einsum(equation, *arrays))


@pytest.mark.parametrize(
    "equation", ["ij,jk->il", "ij->ij", "i1,jk", "ij,jk->ii", "ijk,jk", "ij,ik"]
)
def test_wrong_equations(equation):
    with pytest.raises(ValueError, match="einsum"):
        F.einsum(equation, F.ones((2, 3)), F.ones((3, 4)))
