# SPDX-License-Identifier: Apache-2.0
"""Errors for names of MegEngine's interface that this version does not have."""


class NotAvailableError(NotImplementedError):
    """A feature belongs to the interface but is not in this version.

    Example:
        >>> import megengine as mge
        >>> try:
        ...     import megengine.lite
        ... except mge.NotAvailableError as error:  # an ImportError too
        ...     print(error)
        megengine.lite is not available in this version of megengine
        >>> hasattr(mge.jit, "xla_trace")
        False
    """


class NotAvailableNameError(NotAvailableError, AttributeError):
    """An attribute of a module or a class."""


class NotAvailableModuleError(NotAvailableError, ModuleNotFoundError):
    """A module, or a name that was imported from one."""
