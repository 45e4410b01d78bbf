# SPDX-License-Identifier: Apache-2.0
"""Objects of MegEngine's traced modules as they stand in its files: a class's name and a state.

``traced_module.megengine_files`` makes graphs of them. Making them runs nothing.
"""

import functools

TRACED_MODULE = ("megengine.traced_module.traced_module", "TracedModule")
_HOME = "megengine.traced_module"
_OPERATORS = "megengine.core._imperative_rt.ops"
_NAMES = {
    f"{_HOME}.traced_module": ("InternalGraph", "NameSpace"),
    f"{_HOME}.pytree": ("TreeDef", "LeafDef", "ArgsIndex"),
    f"{_HOME}.node": ("ModuleNode", "TensorNode", "NodeMixin"),
    f"{_HOME}.expr": ("Input", "GetAttr", "CallMethod", "CallFunction", "Apply", "Constant"),
    f"{_HOME}.serialization": ("_ModuleState",),
    "megengine.core._imperative_rt.common": ("CompNode",),
    "inspect": ("FullArgSpec",),
}


class Record:
    """An object of a class of MegEngine; the classes derived from this one have its name."""

    state = None
    arguments: tuple = ()
    made = None  # the object that was made of it

    def __new__(cls, *arguments):
        """Keep what the object was made of."""
        made = object.__new__(cls)
        made.arguments = arguments
        return made

    def __setstate__(self, state) -> None:
        self.state = state


@functools.lru_cache(maxsize=1024)  # a file chooses the names of operators
def record_class(module: str, name: str) -> type[Record] | None:
    """The class of records for a class in a file; None for what is no part of traced modules."""
    if name in _NAMES.get(module, ()) or (module == _OPERATORS and name.isidentifier()):
        return type(name, (Record,), {})
    return None
