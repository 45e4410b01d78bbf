# SPDX-License-Identifier: Apache-2.0
"""Settings of the checks of ``trace_module``."""


class _Checks:
    expressions = False
    results = True


checks = _Checks()


def enable_expr_checker() -> bool:
    """From now on compare the result of each expression with the recorded one.

    A difference is an error that names the expression.

    Returns:
        Whether that was so before.
    Example:
        >>> enable_expr_checker()
        False
        >>> checks.expressions = False
    """
    before, checks.expressions = checks.expressions, True
    return before


def disable_default_checker() -> bool:
    """Stop comparing the results of the traced module with those of the Module.

    Returns:
        Whether that was compared before.
    Example:
        >>> disable_default_checker()
        True
        >>> checks.results = True
    """
    before, checks.results = checks.results, False
    return before


def _get_expr_checker() -> bool:
    """Whether expressions are compared, under MegEngine's name."""
    return checks.expressions


def _get_default_checker() -> bool:
    """Whether results are compared, under MegEngine's name."""
    return checks.results
