# SPDX-License-Identifier: Apache-2.0
"""Objects of MegEngine's traced modules as stored in its files: a class's name and a state.

``traced_module.megengine_files`` converts them to graphs. Creating them runs no code of the file.
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
        """Keep the arguments of the constructor."""
        made = object.__new__(cls)
        made.arguments = arguments
        return made

    def __setstate__(self, state) -> None:
        self.state = state


@functools.lru_cache(maxsize=1024)  # a file chooses the names of operators
def record_class(module: str, name: str) -> type[Record] | None:
    """The class of records for a class in a file; None for a class that does not belong to
    traced modules."""
    if name in _NAMES.get(module, ()) or (module == _OPERATORS and name.isidentifier()):
        return type(name, (Record,), {})
    return None
