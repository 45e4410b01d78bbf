# SPDX-License-Identifier: Apache-2.0
"""The package's declarations of the C interface agree with the C headers."""

import ctypes
import os
import re
import subprocess
from pathlib import Path

import pytest

import megenginelite as lite
from megenginelite import _config, _layout, _library, struct

INCLUDE = Path(__file__).resolve().parents[2] / "libmge/lite/include"
HEADERS = ("global_c.h", "network_c.h", "tensor_c.h")
# These say what failed, and cannot fail.
ERROR_QUERIES = {"LITE_get_last_error", "LITE_get_last_error_code", "LITE_clear_last_error"}
ENUMS = {
    "LiteLogLevel",
    "LiteBackend",
    "LiteDeviceType",
    "LiteDataType",
    "LiteTensorPhase",
    "LiteIOType",
    "LiteAlgoSelectStrategy",
}
STRUCTS = {
    "LiteLayout": _layout.LiteLayout,
    "LiteTensorDesc": _library._LiteTensorDesc,
    "LiteOptions": _config.LiteOptions,
    "LiteConfig": _config.LiteConfig,
    "LiteExtraConfig": _config.LiteExtraConfig,
    "LiteIO": _config.LiteIO,
    "LiteNetworkIO": _config._LiteNetworkIO,
}


def text_of(*names):
    text = "\n".join((INCLUDE / name).read_text() for name in names)
    return re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)


C_TEXT = text_of(*(f"lite-c/{name}" for name in HEADERS))
CALLBACKS = dict(
    (name, (result, arguments))
    for result, name, arguments in re.findall(r"typedef ([\w*]+) \(\*(\w+)\)\(([^)]*)\);", C_TEXT)
)
FUNCTIONS = {
    name: (result, arguments)
    for result, name, arguments in re.findall(
        r"LITE_CAPI ([\w* ]+?)\s?(LITE_\w+)\(([^;]*?)\);", C_TEXT
    )
}


def simple_type(name):
    scalars = {
        "int": ctypes.c_int,
        "unsigned int": ctypes.c_uint,
        "size_t": ctypes.c_size_t,
        "void*": ctypes.c_void_p,
        "char*": ctypes.c_char_p,
        "uint8_t": ctypes.c_ubyte,
        "LiteTensor": ctypes.c_void_p,
        "LiteNetwork": ctypes.c_void_p,
    }
    if name in ENUMS:
        return ctypes.c_int
    if name in CALLBACKS:
        return getattr(_library, name)
    return STRUCTS.get(name) or scalars.get(name)


def python_type(text):
    """The ctypes type of a C type without const."""
    found = simple_type(text)
    if found is None and text.endswith("*"):
        found = ctypes.POINTER(python_type(text.removesuffix("*")))
    assert found, f"the test does not know the type {text!r}"
    return found


def argument_types(text):
    """The types in a list of parameters."""
    text = " ".join(text.split())
    if text in ("", "void"):
        return []
    types = (re.sub(r"\w+$", "", part.replace("const ", "")) for part in text.split(","))
    return [python_type(part.strip().replace(" *", "*")) for part in types]


def test_every_function_is_described():
    assert set(_library.ARGUMENTS) == set(FUNCTIONS) - ERROR_QUERIES
    assert len(FUNCTIONS) > 70


@pytest.mark.parametrize("name", sorted(_library.ARGUMENTS))
def test_arguments_of_functions(name):
    result, arguments = FUNCTIONS[name]
    assert result == "int"
    assert list(_library.ARGUMENTS[name]) == argument_types(arguments)


def test_library_has_every_function():
    for name in _library.ARGUMENTS:
        assert getattr(_library.library, name)
    with pytest.raises(AttributeError, match="LITE_nothing"):
        _library.library.LITE_nothing  # noqa: B018


@pytest.mark.parametrize("name", sorted(CALLBACKS))
def test_arguments_of_callbacks(name):
    result, arguments = CALLBACKS[name]
    thunk = getattr(_library, name)
    # Bytes come as addresses.
    bytes_as_addresses = {ctypes.POINTER(ctypes.c_ubyte): ctypes.c_void_p}
    wanted = [bytes_as_addresses.get(kind, kind) for kind in argument_types(arguments)]
    assert list(thunk._argtypes_) == wanted
    assert thunk._restype_ == (None if result == "void" else python_type(result))


def test_numbers_of_enums():
    text = text_of("lite/common_enum_c.h")
    found = {}
    for body, name in re.findall(r"typedef enum(?: \w+)? {(.*?)}\s*(\w+);", text, re.DOTALL):
        entries = re.findall(r"(\w+) = ([^,]+),", body)
        found[name] = {entry: eval(number) for entry, number in entries}
    assert set(found) == ENUMS | {"ErrorCode", "LiteOpenCLCacheCompatLevel"}
    for name in ENUMS:
        assert {e.name: e.value for e in getattr(struct, name)} == found[name]


@pytest.fixture(scope="module")
def c_layout(tmp_path_factory):
    """Sizes of structs and offsets of their fields, as a C compiler has them."""
    folder = tmp_path_factory.mktemp("layout")
    lines = []
    for name in STRUCTS:
        body = re.search(rf"typedef struct {name} {{(.*?)}}", C_TEXT, re.DOTALL)[1]
        lines.append(f'printf("{name} size %zu\\n", sizeof({name}));')
        for field in re.findall(r"(\w+)(?:\[\w+\])?;", body):
            lines.append(f'printf("{name} {field} %zu\\n", offsetof({name}, {field}));')
    program = folder / "layout.c"
    program.write_text(
        "#include <stdio.h>\n#include <lite-c/global_c.h>\nint main(void) {\n"
        + "\n".join(lines)
        + "\nreturn 0; }\n"
    )
    compiler = os.environ.get("CC", "cc")
    binary = folder / "layout"
    subprocess.run([compiler, "-std=c11", f"-I{INCLUDE}", program, "-o", binary], check=True)
    output = subprocess.run([binary], check=True, stdout=subprocess.PIPE, text=True).stdout
    found = {}
    for line in output.splitlines():
        name, field, number = line.split()
        found.setdefault(name, {})[field] = int(number)
    return found


@pytest.mark.parametrize("name", sorted(STRUCTS))
def test_layout_of_structs(name, c_layout):
    kind = STRUCTS[name]
    fields = {field.lstrip("_"): getattr(kind, field).offset for field, *_ in kind._fields_}
    assert {**fields, "size": ctypes.sizeof(kind)} == c_layout[name]


def test_defaults_match_the_library():
    opened = _library.library._opened
    option = _config.LiteOptions.in_dll(opened, "default_option")
    assert bytes(option) == bytes(lite.LiteOptions())
    layout = lite.LiteLayout.in_dll(opened, "default_layout")
    assert layout == lite.LiteLayout()
    io = lite.LiteIO.in_dll(opened, "default_io")
    assert (io.is_host, io.io_type) == (1, 0) and io.config_layout == lite.LiteLayout()
