# SPDX-License-Identifier: Apache-2.0
"""Writes the reference of the C++ library from the XML that Doxygen makes of installed headers.

MkDoxy 1.2.8 makes 546 pages of the same headers, 531 more than this: listings of sources and
indexes that no setting removes fill the navigation and the search.
"""

import re
import shutil
import subprocess
import xml.etree.ElementTree as ET
from collections import defaultdict
from pathlib import Path

# Our comments are plain; Doxygen reads those with "///" or "/**", and "<" behind a member.
FILTER = (
    r"sed -E 's|^( *)// ?|\1/// |; s|([;,{}]) +// ?|\1 ///< |; "
    r"s|^( *)/\* |\1/** |; s|([;,{}]) +/\* |\1 /**< |'"
)
SETTINGS = f"""
INPUT_FILTER = "{FILTER}"
GENERATE_HTML = NO
GENERATE_LATEX = NO
GENERATE_XML = YES
XML_PROGRAMLISTING = NO
EXTRACT_ALL = YES
QUIET = YES
WARNINGS = NO
MACRO_EXPANSION = YES
EXPAND_ONLY_PREDEF = YES
PREDEFINED = MGE_API= LITE_API= LITE_CAPI= LITE_ANY_INT=
JAVADOC_AUTOBRIEF = YES
"""
# As cmake/install_headers.cmake; operators have pages of their own.
PUBLIC = ("libmge/mge.h", "libmge/own_operators.h")
LITE = "libmge/lite/include"


def installed_headers(root: Path) -> list[str]:
    """The headers that programs can include, without generated ones and those of operators."""
    found, waiting = set(), list(PUBLIC)
    while waiting:
        header = waiting.pop()
        if header in found or not (root / header).exists():
            continue
        found.add(header)
        waiting += re.findall(r'#include "(libmge/[^"]+)"', (root / header).read_text())
    lite = (path.relative_to(root).as_posix() for path in (root / LITE).rglob("*.h"))
    return sorted({h for h in found if "/ops/" not in h} | set(lite))


def text_of(element: ET.Element | None) -> str:
    return " ".join("".join(element.itertext()).split()) if element is not None else ""


def plain(text: str) -> str:
    """Text in which no character is markup."""
    return re.sub(r"([*\[\]])", r"\\\1", text.replace("<", "&lt;"))


def description(element: ET.Element) -> str:
    parts = [
        text_of(element.find("briefdescription")),
        text_of(element.find("detaileddescription")),
    ]
    return plain(" ".join(part for part in parts if part))


def declaration(member: ET.Element) -> str:
    type_of = text_of(member.find("type"))
    arguments = text_of(member.find("argsstring"))
    return f"{type_of} {text_of(member.find('name'))}{arguments}".strip()


def header_of(element: ET.Element) -> str:
    location = element.find("location")
    path = location.get("file", "") if location is not None else ""
    return path[path.index("libmge/") :] if "libmge/" in path else ""


def members(compound: ET.Element) -> list[ET.Element]:
    kinds = ("function", "variable", "typedef", "enum")
    return [
        m
        for m in compound.iter("memberdef")
        if m.get("prot") == "public" and m.get("kind") in kinds and header_of(m)
    ]


def type_entry(compound: ET.Element, name: str) -> str:
    lines = [f"{declaration(m)};" for m in members(compound) if m.get("kind") != "enum"]
    notes = [
        f"- `{text_of(m.find('name'))}`: {d}" for m in members(compound) if (d := description(m))
    ]
    code = "```cpp\n" + "\n".join(lines) + "\n```" if lines else ""
    parts = [f"### `{name}`", description(compound), code, "\n".join(notes)]
    return "\n\n".join(part for part in parts if part)


def function_entry(member: ET.Element) -> str:
    head = f"### `{text_of(member.find('name'))}`\n\n```cpp\n{declaration(member)};\n```"
    return f"{head}\n\n{description(member)}"


def collect(xml: Path) -> dict[str, list[tuple[str, str]]]:
    """Entries (sort key, text) of the names in the namespaces mge and lite, by header."""
    found = defaultdict(list)
    for file in sorted(xml.glob("*.xml")):
        compound = ET.parse(file).getroot().find("compounddef")
        if compound is None:
            continue
        name = text_of(compound.find("compoundname"))
        kind = compound.get("kind")
        is_ours = kind == "file" or name.startswith(("mge", "lite", "Lite"))
        if not is_ours or "<" in name or "@" in name:
            continue
        if kind in ("class", "struct") and (header := header_of(compound)):
            short = name.removeprefix("mge::")
            found[header].append((short, type_entry(compound, short)))
        elif kind == "namespace" or (kind == "file" and f"{LITE}/lite-c/" in header_of(compound)):
            for member in members(compound):
                short = text_of(member.find("name"))
                # In C a struct has its name by a typedef.
                if text_of(member.find("type")) != f"struct {short}":
                    found[header_of(member)].append((short, function_entry(member)))
    return found


def write_cpp(folder: Path, root: Path, work: Path) -> list[str]:
    """Writes a page per folder of headers and returns their names."""
    work.mkdir(parents=True, exist_ok=True)
    shutil.rmtree(work / "xml", ignore_errors=True)
    headers = " ".join(installed_headers(root))
    settings = SETTINGS + f"INPUT = {headers}\nOUTPUT_DIRECTORY = {work}\n"
    subprocess.run(["doxygen", "-"], input=settings, text=True, cwd=root, check=True)
    folder.mkdir(parents=True)
    pages = defaultdict(list)
    for header, entries in sorted(collect(work / "xml").items()):
        if not header.endswith(".h"):
            continue
        texts = [text for _, text in sorted(entries)]
        shown = header.removeprefix(f"{LITE}/")
        pages[header.split("/")[1]].append("\n\n".join([f"## `{shown}`", *texts]))
    names = sorted(name for name in pages if "." not in name)
    for name in names:
        (folder / f"{name}.md").write_text("\n\n".join([f"# C++: {name}", *pages[name]]) + "\n")
    rows = "\n".join(f"- [`libmge/{name}`]({name}.md)" for name in names)
    intro = (
        "The headers that are installed. Operators have the same parameters in C++ and Python: "
        "[operators](../operators/index.md)."
    )
    (folder / "index.md").write_text(f"# C++, by folder\n\n{intro}\n\n{rows}\n")
    return [f"{name}.md" for name in names]
