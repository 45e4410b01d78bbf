# SPDX-License-Identifier: Apache-2.0
"""Names of modules and operators as they appear in dumped graphs."""

import threading

from ..core.tracing_state import state


class AutoNaming:
    """The path of modules that are running, on each thread.

    Example:
        >>> AutoNaming.push_scope("net")
        >>> AutoNaming.scopes()
        ['net']
        >>> AutoNaming.pop_scope()
        >>> AutoNaming.push_scope("net")
        >>> AutoNaming.push_scope("conv1")
        >>> AutoNaming.path(), AutoNaming.gen_name("weight")
        ('net.conv1', 'net.conv1.weight')
        >>> AutoNaming.clear()
        >>> AutoNaming.path()
        ''
    """

    _state = threading.local()

    @classmethod
    def scopes(cls) -> list[str]:
        """Names of the running modules, outermost first."""
        if not hasattr(cls._state, "scopes"):
            cls._state.scopes = []
        return cls._state.scopes

    @classmethod
    def push_scope(cls, scope: str | None) -> None:
        """Enter a module."""
        cls.scopes().append(scope or "")
        cls._report_path()

    @classmethod
    def pop_scope(cls) -> None:
        """Leave the innermost module."""
        cls.scopes().pop()
        cls._report_path()

    @classmethod
    def path(cls) -> str:
        """The names of the running modules, joined by dots."""
        return ".".join(filter(None, cls.scopes()))

    @classmethod
    def _report_path(cls) -> None:
        """Report the running module to a recording."""
        if state.names is not None:
            state.names.enter(cls.path())

    @classmethod
    def gen_name(cls, name: str) -> str:
        """The path of the running modules and a name, joined by dots."""
        return ".".join(filter(None, [cls.path(), name]))

    @classmethod
    def clear(cls) -> None:
        """Forget all names."""
        cls.scopes().clear()
