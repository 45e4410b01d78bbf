# SPDX-License-Identifier: Apache-2.0
"""Writes the reference of the Python packages and of the operators from the imported modules."""

import importlib
import inspect
import re
import textwrap
from pathlib import Path

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
SECTION = re.compile(r"^(Args|Attributes|Returns|Yields|Raises|Example|Note|See also):\s*$")


def as_markdown(doc: str | None) -> str:
    """A docstring with its sections as bold titles, and their contents as lists or code."""
    parts: list[str] = []
    title, lines = "", []
    for line in [*inspect.cleandoc(doc or "").splitlines(), "Note:"]:
        if found := SECTION.match(line):
            parts.append(section(title, textwrap.dedent("\n".join(lines)).strip("\n")))
            title, lines = found[1], []
        else:
            lines.append(line)
    return "\n\n".join(part for part in parts if part)


def section(title: str, text: str) -> str:
    if not text:
        return ""
    if title == "Example" or (not title and text.startswith(">>>")):
        return f"**Example**\n\n```python\n{text}\n```"
    text = escaped(text)
    if title in ("Args", "Attributes", "Raises"):
        # An entry begins at the margin; indented lines continue it.
        entries = re.split(r"\n(?=\S)", text)
        items = [re.sub(r"^([^:]+):", r"`\1`:", " ".join(e.split()), count=1) for e in entries]
        text = "\n".join(f"- {item}" for item in items)
    return f"**{title}**\n\n{text}" if title else text


def escaped(text: str) -> str:
    """Text whose angle brackets, asterisks and brackets outside of code are no markup."""
    pieces = re.split(r"(`+[^`]*`+)", text)
    return "".join(p if p[:1] == "`" else plain(p) for p in pieces)


def plain(text: str) -> str:
    """Text in which no character is markup."""
    return re.sub(r"([*\[\]])", r"\\\1", text.replace("<", "&lt;"))


def signature_of(value: object) -> str:
    try:
        text = str(inspect.signature(value))  # type: ignore[arg-type]
    except (TypeError, ValueError):
        text = getattr(value, "__text_signature__", None) or "(…)"
    return re.sub(r"megengine\.(?:tensor|core\.\w+)\.|<object object at \w+>", "", text)


def entry(name: str, value: object, level: int) -> str:
    kind = "class " if inspect.isclass(value) else ""
    head = f"{'#' * level} `{name}`\n\n```python\n{kind}{name}{signature_of(value)}\n```\n\n"
    return head + as_markdown(inspect.getdoc(value))


def public_names(module: object) -> list[str]:
    names = getattr(module, "__all__", None) or [n for n in dir(module) if n[0] != "_"]
    found = []
    for name in sorted(set(names)):
        value = getattr(module, name, None)
        if callable(value) and not inspect.ismodule(value):
            if str(getattr(value, "__module__", "")).startswith(("megengine", "megenginelite")):
                found.append(name)
    return found


def methods_of(value: type) -> list[str]:
    own = [(n, m) for n, m in vars(value).items() if n[0] != "_" and inspect.isfunction(m)]
    return [entry(f"{value.__name__}.{name}", method, 3) for name, method in own if method.__doc__]


def module_page(name: str) -> str:
    module = importlib.import_module(name)
    parts = [f"# {name}", as_markdown(module.__doc__)]
    for item in public_names(module):
        value = getattr(module, item)
        parts.append(entry(item, value, 2))
        if inspect.isclass(value):
            parts += methods_of(value)
    return "\n\n".join(parts) + "\n"


def write_python(folder: Path) -> list[str]:
    """Writes a page per module and returns their names."""
    folder.mkdir(parents=True)
    for name in MODULES:
        (folder / f"{name}.md").write_text(module_page(name))
    rows = "\n".join(f"- [`{name}`]({name}.md)" for name in MODULES)
    (folder / "index.md").write_text(f"# Python, by module\n\n{rows}\n")
    return [f"{name}.md" for name in MODULES]
