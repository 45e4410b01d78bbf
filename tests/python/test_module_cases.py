# SPDX-License-Identifier: Apache-2.0
"""Replays the recorded modules: names, shapes, representation, results and gradients."""

import ast
from collections import OrderedDict

import numpy as np
import pytest
from known_differences import MODULES
from oracle import Reader, difference, error_difference, tensors_in

import megengine.module as M
from megengine.autodiff import GradManager

READER = Reader("modules")
ROWS = [row for row in READER.rows if "module" in row]


def construct(row):
    return eval(row["module"], {"M": M, "OrderedDict": OrderedDict})


def class_name(row):
    return ast.parse(row["module"]).body[0].value.func.attr


def check_structure(module, row):
    if repr(module) != row["repr"]:
        return f"repr {module!r} instead of {row['repr']}"
    for kind in ("named_parameters", "named_buffers"):
        got = [[name, list(t.shape)] for name, t in getattr(module, kind)()]
        if got != row[kind]:
            return f"{kind} {got} instead of {row[kind]}"
    got = [[name, list(v.shape)] for name, v in module.state_dict().items()]
    if got != row["state_dict"]:
        return f"state_dict {got} instead of {row['state_dict']}"
    public = sorted(k for k in module.__dict__ if not k.startswith("_"))
    if public != row["attributes"]:
        return f"attributes {public} instead of {row['attributes']}"
    return None


def set_values(module, row):
    for name, tensor in module.named_tensors():
        tensor._reset(READER.tensor(row["values"][name]))


def compare(kind, got, ref):
    if (got is None) != (ref is None):
        return f"{kind}: {'missing' if got is None else 'should be None'}"
    text = None if got is None else difference(got.numpy(), READER.array(ref))
    text = text or READER.misplaced([] if got is None else [got])
    return f"{kind}: {text}" if text else None


def check_run(module, row, mode):
    """None, or what differs in training or evaluation mode."""
    part = row[mode]
    set_values(module, row)
    module.train(mode == "train")
    xs = [READER.tensor(ref) for ref in row["inputs"]]
    watched = [x for x in xs if x.dtype == np.float32] + list(module.parameters())
    for tensor in watched:
        tensor.grad = None
    try:
        with GradManager().attach(watched) as gm:
            ys = tensors_in(module(xs) if class_name(row) == "Concat" else module(*xs))
            if "error" in part and "out" not in part:
                return f"{mode}: no error, expected {part['error'][0]}"
            gm.backward(ys, [READER.tensor(ref) for ref in part.get("dy", [])])
    except Exception as error:
        return error_difference(error, part)
    texts = [compare("result", y, ref) for y, ref in zip(ys, part["out"], strict=True)]
    texts += [compare("input", x.grad, r) for x, r in zip(xs, part["grad_inputs"], strict=True)]
    for name, parameter in module.named_parameters():
        texts.append(compare(name, parameter.grad, part["grad_params"][name]))
    for name, ref in part.get("buffers_after", {}).items():
        texts.append(compare(name, dict(module.named_buffers())[name], ref))
    return next((f"{mode}: {text}" for text in texts if text), None)


def check_module(row):
    try:
        module = construct(row)
    except Exception as error:
        return error_difference(error, row)
    if "error" in row:
        return f"no error, expected {row['error'][0]}"
    text = check_structure(module, row)
    for mode in ("train", "eval"):
        if not text and mode in row:
            text = check_run(module, row, mode)
    return text


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["module"])
def test_module_behaves_as_recorded(row):
    text = check_module(row)
    if row["module"] in MODULES:
        assert text is not None, "is listed as different, but agrees"
    else:
        assert text is None
