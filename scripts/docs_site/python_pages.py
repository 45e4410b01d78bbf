# SPDX-License-Identifier: Apache-2.0
"""Writes the pages of the Python reference, which mkdocstrings fills from the docstrings."""

import importlib
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

MODULES = """
megengine megengine.functional megengine.functional.nn megengine.functional.loss
megengine.functional.vision megengine.functional.quantized megengine.functional.distributed
megengine.module megengine.module.init megengine.module.qat megengine.module.quantized
megengine.module.vision megengine.optimizer megengine.autodiff megengine.jit megengine.amp
megengine.quantization megengine.random megengine.distributions megengine.data
megengine.data.dataset megengine.data.transform megengine.distributed
megengine.distributed.checkpoint megengine.multiprocessing
megengine.onnx megengine.hub megengine.serialization megengine.traced_module megengine.config
megengine.serving.model megengine.serving.ray
megengine.utils.network megengine.utils.network_node megengine.utils.comp_graph_tools
megengine.utils.torch_convert megengine.utils.dlpack megengine.utils.profiler
megengine.utils.module_stats megengine.utils.custom_op_tools megengine.utils.bn_fusion
megenginelite
""".split()


def public_names(module: ModuleType) -> list[str]:
    """The functions and classes that a module lists, or has from below it if it lists none."""
    listed = getattr(module, "__all__", None)
    home = "megengine" if listed else f"{module.__name__}."
    values = {n: getattr(module, n, None) for n in sorted(listed or dir(module)) if n[0] != "_"}
    return [n for n, v in values.items() if callable(v) and f"{home_of(v)}.".startswith(home)]


def home_of(value: object) -> str:
    return str(getattr(value, "__module__", ""))


def public_members(module: ModuleType, has_source: Callable[[str], bool]) -> dict[str, str]:
    """The public functions and classes of a module, and the path where each is defined.

    Those without a source, such as classes that are made when they are first used, are left out.
    """
    found = {}
    for name in public_names(module):
        value = getattr(module, name)
        paths = (f"{home}.{value.__name__}" for home in (home_of(value), module.__name__))
        if value.__doc__ and (path := next(filter(has_source, paths), None)):
            found[name] = path
    return found


def entry(heading: str, path: str) -> str:
    """The directive for a section about one function or class."""
    options = f"{{heading: {heading}, show_root_heading: true, show_root_toc_entry: true}}"
    return f"::: {path}\n    options: {options}"


def module_page(module: ModuleType, has_source: Callable[[str], bool]) -> str:
    """A page with the docstring of a module, then those of its public members."""
    name = module.__name__
    parts = [f"# {name}", f"::: {name}\n    options: {{members: false}}"]
    parts += [entry(*member) for member in public_members(module, has_source).items()]
    return "\n\n".join(parts) + "\n"


def write_python(folder: Path, has_source: Callable[[str], bool]) -> list[str]:
    """Writes a page per module and returns their names."""
    folder.mkdir(parents=True)
    for name in MODULES:
        page = module_page(importlib.import_module(name), has_source)
        (folder / f"{name}.md").write_text(page)
    rows = "\n".join(f"- [`{name}`]({name}.md)" for name in MODULES)
    (folder / "index.md").write_text(f"# Python, by module\n\n{rows}\n")
    return [f"{name}.md" for name in MODULES]
