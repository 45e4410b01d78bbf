# SPDX-License-Identifier: Apache-2.0
"""load_and_run refuses shapes for which a number of the model would be another."""

import pytest

OK, USAGE = 0, 2
SHORT = ("--iter", "1", "--warmup-iter", "0")


def test_other_shapes_are_refused(run_tool, tmp_path):
    import megengine.functional as F
    from megengine.jit import trace

    def pooled(x):
        return F.avg_pool2d(x, (x.shape[2], x.shape[3]))

    traced = trace(pooled, symbolic=True, capture_as_const=True)
    traced(F.ones((1, 2, 4, 6)))
    with pytest.warns(UserWarning, match=f"turned shapes of image .*{__file__}"):
        traced.dump(tmp_path / "net.mge", arg_names="image")
    same = run_tool(
        "load_and_run", tmp_path / "net.mge", "--input", "image:#rand(0,1,1,2,4,6)", *SHORT
    )
    assert same.code == OK, same.err
    for shape in ("1,2,8,6", "1,2,4,12"):
        ran = run_tool(
            "load_and_run", tmp_path / "net.mge", "--input", f"image:#rand(0,1,{shape})", *SHORT
        )
        assert ran.code == USAGE and "is a constant of the model, got" in ran.err
    other_batch = ("--input", "image:#rand(0,1,3,2,4,6)")
    assert run_tool("load_and_run", tmp_path / "net.mge", *other_batch, *SHORT).code == OK
