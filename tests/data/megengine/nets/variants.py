# SPDX-License-Identifier: Apache-2.0
"""Name and options of the dumps of each net."""

V2, V1 = ("v2", {}), ("v1", {"dump_format": "FBS"})
NAMES = (
    "names",
    {"keep_var_name": 2, "keep_opr_name": True, "keep_param_name": True, "keep_opr_priority": True},
)
PLAIN = ("plain", {"optimize_for_inference": False})
V1_PLAIN = ("v1_plain", {"dump_format": "FBS", "optimize_for_inference": False})
V1_NAMES = ("v1_names", {**V1[1], **NAMES[1]})
UNCHANGED = ("no_change_graph", {"no_change_graph": True})
NCHW44 = ("nchw44", {"enable_nchw44": True})
FUSED = ("fuse", {"enable_fuse_conv_bias_nonlinearity": True})
FUSED_Z = (
    "fuse_z",
    {"enable_fuse_conv_bias_nonlinearity": True, "enable_fuse_conv_bias_with_z": True},
)
MIXED16, HALF = ("io16xc32", {"enable_io16xc32": True}), ("ioc16", {"enable_ioc16": True})
TESTED = ("testcase", {"input_data": True})
NCHW88, NCHW44_DOT = (
    ("nchw88", {"enable_nchw88": True}),
    ("nchw44_dot", {"enable_nchw44_dot": True}),
)
NCHW4, NCHW32 = ("nchw4", {"enable_nchw4": True}), ("nchw32", {"enable_nchw32": True})
NCHW64 = ("nchw64", {"enable_nchw64": True})
PREPARED = ("preprocess", {"enable_fuse_preprocess": True})
VARIANTS = {
    "blocked": [NCHW44, NCHW88, NCHW44_DOT, NCHW4, NCHW32, FUSED_Z, PREPARED],
    "lenet": [NAMES, FUSED, MIXED16, HALF, TESTED, PLAIN, V1_PLAIN, NCHW44],
    "mixed": [UNCHANGED, FUSED, FUSED_Z, NCHW44, V1_PLAIN, V1_NAMES, HALF, MIXED16],
    "shuffle": [NCHW44, NAMES, V1_PLAIN, FUSED],
    "attention": [UNCHANGED, HALF, PLAIN, TESTED],
    "enlarged": [NCHW44, NCHW44_DOT],
    "layouts": [NCHW4, NCHW32, NCHW44],
    "uneven": [NCHW64],
    "dense": [PLAIN, FUSED, ("v1_fuse", {"dump_format": "FBS", **FUSED[1]})],
    "places": [PLAIN],
    "shapes": [PLAIN],
    "residual": [NAMES, NCHW44, NCHW44_DOT],
    "norms": [PLAIN],
}
for name in ("more_elemwise", "more_reduce", "norms", "plain_norms", "indexing"):
    VARIANTS.setdefault(name, []).append(UNCHANGED)


# MegEngine's own float16 convolutions give other numbers, NaN among them, in each run on a CPU.
# Layouts of other processors do not come back.
UNTRUSTED = {("lenet", HALF[0]), ("lenet", MIXED16[0]), ("mixed", HALF[0]), ("mixed", MIXED16[0])}
UNTRUSTED |= {("residual", NCHW44_DOT[0])}
UNTRUSTED |= {("blocked", v[0]) for v in (NCHW88, NCHW4, NCHW32, NCHW44_DOT)}
