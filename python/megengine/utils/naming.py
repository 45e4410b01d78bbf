# SPDX-License-Identifier: Apache-2.0
"""Names of modules and operators as they appear in dumped graphs."""

import threading


class AutoNaming:
    """The path of modules that are running, on each thread."""

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

    @classmethod
    def pop_scope(cls) -> None:
        """Leave the innermost module."""
        cls.scopes().pop()

    @classmethod
    def gen_name(cls, name: str) -> str:
        """The path of the running modules and a name, joined by dots."""
        return ".".join([s for s in cls.scopes() if s] + [name])

    @classmethod
    def clear(cls) -> None:
        """Forget all names."""
        cls.scopes().clear()
