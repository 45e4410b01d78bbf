# SPDX-License-Identifier: Apache-2.0
"""Handles for registered hooks."""

from collections.abc import Callable, MutableMapping


class HookHandler:
    """A registered hook, which is in a dictionary until it is removed.

    Args:
        source_dict: the dictionary.
        hook: the callable.
    Example:
        >>> net = M.ReLU()
        >>> hook = net.register_forward_hook(lambda module, inputs, output: print("ran"))
        >>> _ = net(F.ones(1))
        ran
        >>> hook.remove()
    """

    hook_num = 0  # key of the next hook in such dictionaries

    def __init__(self, source_dict: MutableMapping, hook: Callable):
        self.source_dict = source_dict
        while HookHandler.hook_num in source_dict:  # used by a hook from a file
            HookHandler.hook_num += 1
        self.id = HookHandler.hook_num
        HookHandler.hook_num += 1
        source_dict[self.id] = hook

    def remove(self) -> None:
        """Remove the hook; a second call has no effect."""
        self.source_dict.pop(self.id, None)
