# SPDX-License-Identifier: Apache-2.0
"""Statistics as tables: shares, sums, and how they are written."""

from collections.abc import Callable, Iterable

from ..logger import get_logger

_logger = get_logger("megengine.utils.module_stats")

_SHARES = ("size_cum", "percentage", "size_bar")
_PARAM_COLUMNS = ("name", "dtype", "shape", "mean", "std", "param_dim", "nbits", "size", *_SHARES)


def sizeof_fmt(num: float, suffix: str = "B") -> str:
    """A number with a unit.

    Args:
        num: the number.
        suffix: the unit: ``"B"`` counts in steps of 1024, all others in steps of 1000.
    Returns:
        Text with three decimals.
    Example:
        >>> sizeof_fmt(1536), sizeof_fmt(1536, "OPs")
        ('1.500 KiB', '1.536 KOPs')
    """
    step, mark = (1024.0, "i") if suffix == "B" else (1000.0, "")
    prefix = ""
    for larger in "KMGTPEZY":
        if abs(num) < step:
            break
        num, prefix = num / step, larger + mark
    return f"{num:.3f} {prefix}{suffix}"


def dict2table(list_of_dict: Iterable[dict], header: Iterable[str]) -> list[list]:
    """Rows of a table, the header first.

    Args:
        list_of_dict: a dict for each row.
        header: the keys, in the order of the columns; missing values are empty.
    Returns:
        List of lists.
    Example:
        >>> dict2table([{"a": 1}], ["a", "b"])
        [['a', 'b'], [1, '']]
    """
    header = list(header)
    return [header, *([row.get(key, "") for key in header] for row in list_of_dict)]


def _written(table: list[list]) -> str:
    """A table as text: columns from the left between two rules."""
    cells = [[str(cell) for cell in row] for row in table]
    widths = [max(len(cell) for cell in column) for column in zip(*cells, strict=True)]
    rule = ["-" * width for width in widths]
    lines = (
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in (rule, *cells, rule)
    )
    return "\n".join(lines)


def _print(title: str, table: list[list]) -> None:
    _logger.info("%s\n%s", title, _written(table))


def _add_shares(
    rows: list[dict], amounts: list, cumulative: str, bar: str, bar_length: int, text: Callable
) -> int:
    """Write each row's share of the total into the rows; returns the total."""
    total, so_far = sum(amounts), 0
    largest = max(amounts, default=0)
    for row, amount in zip(rows, amounts, strict=True):
        so_far += amount
        ratio = amount / total if total else 0.0
        row[cumulative] = text(so_far)
        row["ratio"] = ratio
        row["percentage"] = f"{ratio * 100:.2f}%"
        row[bar] = "#" * int(amount / largest * bar_length if largest else 0)
    return int(total)


def _sum_sizes(rows: list[dict], dimension: str, bar_length: int) -> tuple[int, int, list[dict]]:
    sizes = [row["size"] for row in rows]
    total_size = _add_shares(rows, sizes, "size_cum", "size_bar", bar_length, sizeof_fmt)
    for row in rows:
        row["size"] = sizeof_fmt(row["size"])
    total_dim = sum(row[dimension] for row in rows)
    rows.append({"name": "total", dimension: total_dim, "size": sizeof_fmt(total_size)})
    return total_dim, total_size, rows


def sum_param_stats(params: list[dict], bar_length_max: int = 20) -> tuple[int, int, list[dict]]:
    """Shares and the sum of parameters.

    Args:
        params: results of ``get_param_stats`` with a ``"name"``; shares are added to each, and a
            row with the sum at the end.
        bar_length_max: length of the longest bar.
    Returns:
        Number of elements, bytes, ``params``.
    Example:
        >>> row = {"name": "w", "param_dim": 2, "size": 8}
        >>> sum_param_stats([row])[:2], row["percentage"]
        ((2, 8), '100.00%')
    """
    return _sum_sizes(params, "param_dim", bar_length_max)


def sum_activations_stats(
    activations: list[dict], bar_length_max: int = 20
) -> tuple[int, int, list[dict]]:
    """Shares and the sum of activations.

    Args:
        activations: results of ``get_activation_stats`` with a ``"name"``; shares are added to
            each, and a row with the sum at the end.
        bar_length_max: length of the longest bar.
    Returns:
        Number of elements, bytes, ``activations``.
    Example:
        >>> sum_activations_stats([{"name": "y", "act_dim": 2, "size": 8}])[:2]
        (2, 8)
    """
    return _sum_sizes(activations, "act_dim", bar_length_max)


def _operations(amount: float) -> str:
    return sizeof_fmt(amount, "OPs")


def sum_op_stats(flops: list[dict], bar_length_max: int = 20) -> tuple[int, list[dict]]:
    """Shares and the sum of operations.

    Args:
        flops: results of ``get_op_stats`` with a ``"name"``; shares are added to each, and a row
            with the sum (also of output channels) at the end.
        bar_length_max: length of the longest bar.
    Returns:
        Number of operations, ``flops``.
    Example:
        >>> sum_op_stats([{"name": "fc", "flops_num": 6.0, "output_shapes": [(1, 3)]}])[0]
        6
    """
    amounts = [row["flops_num"] for row in flops]
    total = _add_shares(flops, amounts, "flops_cum", "bar", bar_length_max, _operations)
    channels = sum(shape[1] for row in flops for shape in row["output_shapes"] if len(shape) > 1)
    for row in flops:
        row["flops"] = _operations(row["flops_num"])
    flops.append({"name": "total", "flops": _operations(total), "output_shapes": channels})
    return total, flops


def print_param_stats(params: list[dict]) -> None:
    """Log the table of parameters.

    Args:
        params: of ``sum_param_stats``.
    Example:
        >>> row = {"name": "w", "param_dim": 2, "size": 8, "dtype": "float32", "shape": (2,)}
        >>> row |= {"mean": "0.00", "std": "0.00"}
        >>> _ = sum_param_stats([row])
        >>> print_param_stats([row])
    """
    _print("param stats: ", dict2table(params, _PARAM_COLUMNS))


def print_op_stats(flops: list[dict]) -> None:
    """Log the table of operations.

    Args:
        flops: of ``sum_op_stats``; rows with receptive fields show them.
    Example:
        >>> print_op_stats([])
    """
    field = ("receptive_field", "stride") if any("receptive_field" in row for row in flops) else ()
    shapes = ("input_shapes", "output_shapes")
    shares = ("flops", "flops_cum", "percentage", "bar")
    _print("flops stats: ", dict2table(flops, ("name", "class_name", *shapes, *field, *shares)))


def print_activations_stats(activations: list[dict], has_input: bool = False) -> None:
    """Log the table of activations.

    Args:
        activations: of ``sum_activations_stats``.
        has_input: with mean and standard deviation.
    Example:
        >>> print_activations_stats([])
    """
    values = ("mean", "std") if has_input else ()
    columns = ("name", "class_name", "dtype", "shape", *values, "nbits", "act_dim", "size")
    _print("activations stats: ", dict2table(activations, (*columns, *_SHARES)))


def print_summary(**kwargs) -> None:
    """Log names and values.

    Args:
        kwargs: the values, in this order.
    Example:
        >>> print_summary(params=3, flops=12)
    """
    _print("summary", [["item", "value"], *([name, value] for name, value in kwargs.items())])
