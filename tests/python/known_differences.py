# SPDX-License-Identifier: Apache-2.0
"""Differences from the recorded results, with reasons. A test fails if an entry is wrong."""

# Calls that answer otherwise: id and reason.
CASES = {
    **dict.fromkeys(
        ["F.norm/044", "F.normalize/003"],
        "recorded ignores the axis if the order is infinite",
    ),
    **dict.fromkeys(
        ["F.log1p/000", "F.sqrt/000", "F.square/000", "F.mean/003", "F.var/003", "F.std/003"]
        + ["F.softmax/012", "F.softmax/013"],
        "recorded gradient of a scalar has shape (1,)",
    ),
    **dict.fromkeys(
        ["F.equal/002", "F.not_equal/002", "F.less/002", "F.less_equal/002", "F.greater/002"]
        + ["F.greater_equal/002"],
        "recorded result of scalars has shape (1,)",
    ),
    **dict.fromkeys(
        ["F.log1p/007", "F.sqrt/007", "F.square/007", "F.div/010"],
        "recorded gradient of float16 is float32",
    ),
    **dict.fromkeys(
        ["F.add/015", "F.mul/015", "F.real/000", "F.sub/015", "T.astype/018", "T.astype/019"],
        "recorded cannot make a complex Tensor of an array, nor convert to one",
    ),
    "F.atan/007": "recorded result of float16 is float32",
    "F.exp/009": "recorded exp(NaN) and exp(infinity) are finite",
    **dict.fromkeys(
        ["F.sigmoid/008", "F.hswish/008", "F.silu/008", "F.gelu/008"],
        "recorded refuses integers; they have one obvious meaning as float32",
    ),
    "F.sigmoid/009": "recorded sigmoid(NaN) is a number",
    **dict.fromkeys(["F.squeeze/000", "F.squeeze/002"], "recorded gradient has its axes swapped"),
    "F.squeeze/006": "recorded fails where there is nothing to remove",
    "F.svd/004": "recorded fails on the singular values alone",
    "F.stack/004": "recorded stack of scalars has rank 2",
    "F.tile/002": "recorded fails for more counts than axes",
    "F.vision.interpolate/031": "recorded has no gradient where the result is the input",
    **dict.fromkeys(
        ["F.sum/017", "F.prod/017", "F.mean/017", "F.min/017", "F.max/017"],
        "recorded has no gradient where no axis is reduced",
    ),
    "F.diag/009": "recorded reads outside of the matrix",
    "F.where/002": "recorded gradient of a scalar has the shape of the mask",
    "F.one_hot/005": "recorded fails for a scalar",
    "F.arange/007": "recorded fails for an empty range",
    "F.full/010": "recorded fails for a Tensor as the value",
    "F.conv1d/005": "recorded refuses groups",
    **dict.fromkeys(
        ["F.conv_transpose2d/006", "F.conv_transpose2d/007", "F.conv_transpose2d/008"],
        "recorded fails for an output padding",
    ),
    "F.nn.general_norm/002": "recorded fails where all axes are normalised",
    **dict.fromkeys(
        ["T.__setitem__/007", "T.__setitem__/011", "T.__setitem__/013", "T.__setitem__/031"],
        "recorded leaves the new axes of the key in the Tensor",
    ),
    "F.batch_norm/003": "one element per channel: 1e-4 instead of 0 remains of the subtraction",
    "T.__setitem__/022": "recorded gradient is that of another assignment",
    **dict.fromkeys(
        ["T.__getitem__/026", "T.__setitem__/026"], "recorded fails for slices beyond the end"
    ),
    **dict.fromkeys(
        [f"F.vision.correlation/00{i}" for i in range(4)],
        "recorded gradient is not that of the result; finite differences are",
    ),
    "T.__index__/000": "recorded is an AttributeError; Python's protocol wants a TypeError",
    **dict.fromkeys(
        ["T.__and__/002", "T.__or__/002", "T.__xor__/002"],
        "recorded is an AttributeError by accident; other wrong operands give a TypeError",
    ),
}

# Modules that behave otherwise: construction and reason.
MODULES = {
    "M.Conv1d(2, 4, 3)": "recorded is a defect: its representation fails",
    "M.Conv1d(4, 4, 3, stride=2, padding=1, groups=2)": "the same defect",
    "M.RNNCell(3, 4)": "recorded gradients of the biases have the shape of the batch",
    "M.RNN(3, 4, num_layers=2, bidirectional=True)": "recorded is a defect: backward fails in eval",
    "M.RNN(3, 4, batch_first=True, nonlinearity='relu')": "the same defect",
    "M.LSTM(3, 4)": "recorded gradients are not those of the results; finite differences are",
    "M.LSTM(3, 4, bidirectional=True, bias=False)": "the same defect",
    "M.MultiHeadAttention(4, 2)": "recorded is a defect: its representation fails",
    "M.BatchMatMulActivation(2, 3, 4)": "recorded is a defect: the bias does not broadcast",
}

# With a negative epsilon Adam divides by differences of nearly equal numbers.
OPTIMIZER_TOLERANCE = {"optimizer/014": 5}
# The recorded LAMB cannot be made, for it gives a function an argument too many: test_lamb.py.
OPTIMIZERS_BROKEN_IN_RECORDING = ["LAMB", "LAMBFp16"]
# Functions missing in the recorded version: test_random.py.
RANDOM_NOT_RECORDED = ["exponential", "multinomial"]

# Rows and cells of dtype_promotion.tsv that are otherwise, and why.
PROMOTION_ROWS = {
    "x[:] = y": "recorded takes over the dtype of an array, also one that Tensors cannot have",
}
PROMOTION_CELLS = {
    # Recorded is the dtype of the operand that is not bfloat16.
    **{
        ("F.where(bool, x, y)", *pair): "float32"
        for other in ("uint8", "int8", "int16", "int32", "float16")
        for pair in (("bfloat16", other), (other, "bfloat16"))
    },
    # A product of vectors is a matrix product like others.
    **{("x @ y", name, name): "int32" for name in ("uint8", "int8", "int16")},
    # Recorded computes in float32, and has a meaning for bool.
    ("F.atan", "bool"): "!RuntimeError",
    ("F.atan", "float16"): "float16",
    ("F.atan", "bfloat16"): "bfloat16",
    ("F.leaky_relu", "bool"): "!RuntimeError",
    ("F.leaky_relu", "bfloat16"): "bfloat16",
    # Recorded leaves bfloat16 on the way.
    ("F.norm", "bfloat16"): "bfloat16",
    # An element of an array is a float of Python, as that of other floats nearly is.
    ("x.item(0)", "bfloat16"): "py float",
    ("x.tolist()", "bfloat16"): "py float",
}

# Representations that are otherwise, and what they are.
REPRESENTATIONS = {
    # The spelling of a device in C++ does not matter.
    "repr(mge.Tensor([1.0]).device)": "xpux:0",
}
