# SPDX-License-Identifier: Apache-2.0
"""A script for several processes that runs all collective functions, with gradients, in a group of
all processes and in one of some; and the results that one process computes for them.

    all_collectives.py ENGINE OUTPUT

Each process writes OUTPUT.RANK.npz.
"""

import sys

import numpy as np

NAMES = (
    "all_reduce_sum",
    "all_reduce_max",
    "all_reduce_min",
    "reduce_sum",
    "broadcast",
    "all_gather",
    "gather",
    "reduce_scatter_sum",
    "scatter",
    "all_to_all",
)
ROWS = (1, 700)  # in each part: short and long messages
DTYPES = ("float32", "float16")


def groups_of(size):
    """Ranks of all processes, and of some in another order."""
    return {"all": list(range(size)), "some": sorted({0, size - 1}, reverse=True)}


def values(kind, rank, n, rows, dtype):
    """The tensor ("x") of a process, or the weights ("w") of its result. Their sums are inexact."""
    seed = [ord(kind), rank, rows]
    return np.random.default_rng(seed).standard_normal((n * n * rows, 3)).astype(dtype)


def cases(size):
    """Name of each case, function, group, rows of a part, and dtype."""
    for name in NAMES:
        for key, group in groups_of(size).items():
            for rows in ROWS:
                for dtype in DTYPES:
                    yield f"{name} {key} {rows} {dtype}", name, group, rows, dtype


def result_rows(name, n, rows):
    """Rows of the result where x has n * rows of them."""
    joined, cut = ("all_gather", "gather"), ("reduce_scatter_sum", "scatter")
    return n * n * rows if name in joined else rows if name in cut else n * rows


def as_one_process(name, xs, ws, me):
    """The result and the gradient in process `me` of a group; NumPy adds in the order of ranks."""
    n = len(xs)

    def total(parts):
        result = parts[0].astype("float32")
        for part in parts[1:]:
            result = result + part.astype("float32")
        return result.astype(parts[0].dtype)

    def part(x, i=me):
        return np.split(x, n)[i]

    whole = np.concatenate
    extremes = {"all_reduce_max": np.maximum, "all_reduce_min": np.minimum}
    if name in extremes:
        y = extremes[name].reduce(xs)
        return y, total(ws) * (xs[me] == y).astype(y.dtype)
    is_first = me == 0
    return {
        "all_reduce_sum": lambda: (total(xs), total(ws)),
        "reduce_sum": lambda: (total(xs) if is_first else None, ws[0]),
        "broadcast": lambda: (xs[0], total(ws) if is_first else None),
        "all_gather": lambda: (whole(xs), part(total(ws))),
        "gather": lambda: (whole(xs) if is_first else None, part(ws[0])),
        "reduce_scatter_sum": lambda: (part(total(xs)), whole(ws)),
        "scatter": lambda: (part(xs[0]), whole(ws) if is_first else None),
        "all_to_all": lambda: (whole([part(x) for x in xs]), whole([part(w) for w in ws])),
    }[name]()


def expected_of(rank, size):
    """The arrays that a process has to write, by case."""
    found = {}
    for case, name, group, rows, dtype in cases(size):
        if rank not in group:
            continue
        n = len(group)
        xs = [values("x", r, n, rows, dtype)[: n * rows] for r in group]
        ws = [values("w", r, n, rows, dtype)[: result_rows(name, n, rows)] for r in group]
        y, dx = as_one_process(name, xs, ws, group.index(rank))
        found |= {f"{case} y": y, f"{case} dx": dx}
    return {key: value for key, value in found.items() if value is not None}


def require_expected(output, size):
    """Checks the bits that the processes have written."""
    for rank in range(size):
        expected = expected_of(rank, size)
        with np.load(f"{output}.{rank}.npz") as found:
            assert set(found) == set(expected)
            for key, value in expected.items():
                assert found[key].dtype == value.dtype, key
                assert found[key].tobytes() == value.tobytes(), key


def main(engine, output):
    import megengine as mge
    import megengine.distributed as dist
    from megengine.autodiff import GradManager

    dist.init_process_group(backend=engine)
    rank, size = dist.get_rank(), dist.get_world_size()
    found = {}
    for case, name, ranks, rows, dtype in cases(size):
        manager = GradManager()  # its number is the same in all processes
        if rank not in ranks:
            continue
        group, n = dist.new_group(ranks), len(ranks)
        x = mge.Parameter(values("x", rank, n, rows, dtype)[: n * rows])
        w = mge.Tensor(values("w", rank, n, rows, dtype)[: result_rows(name, n, rows)])
        manager.attach(x)
        with manager:
            y = getattr(dist.functional, name)(x, group)
            if y is None:
                manager.backward()
            else:
                manager.backward(y, w)
        found |= {f"{case} y": y, f"{case} dx": x.grad}
    dist.group_barrier()
    np.savez(
        f"{output}.{rank}.npz", **{key: y.numpy() for key, y in found.items() if y is not None}
    )
    print(dist.get_backend(), rank, size)


if __name__ == "__main__":
    main(*sys.argv[1:])
