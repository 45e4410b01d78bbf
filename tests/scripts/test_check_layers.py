# SPDX-License-Identifier: Apache-2.0
import check_layers
import pytest

ARCHITECTURE = """
## 4. Layering

| # | folder | may not know about |
|---|---|---|
| 0 | `base` | tensors |
| 1 | `kernel` | operators |
| 2 | `ops` | graphs |
| 3 | `model`, `train` | each other |
| 4 | `apps`, `python` | nothing includes them |

| files | except | may not include |
|---|---|---|
| `libmge/ops/*` | `*.cpu.cpp` | `libmge/kernel/cpu/*`, `hwy/*` |
| `libmge/kernel/scalar/*` | | `*` |

| files | except | may not do with operators' names |
|---|---|---|
| `libmge/*` | `libmge/ops/*`, `libmge/model/import/*` | write |
| `apps/*` | | compare |

| # | folder or file | what it is |
|---|---|---|
| 0 | `core`, `logger` | the foundation |
| 1 | `functional`, `utils/hook` | functions |
| 2 | `utils` | the rest |
| 3 | `core/tensor/utils` | re-exports |
| 4 | `__init__` | the package |

## 5. Something else
"""


@pytest.fixture
def faults(tree):
    def check(path, *headers):
        lines = "".join(f"#include {header}\n" for header in headers)
        return check_layers.check(tree({"ARCHITECTURE.md": ARCHITECTURE, path: "// top\n" + lines}))

    return check


@pytest.mark.parametrize(
    "path, header",
    [
        ("libmge/ops/add.cpp", '"libmge/base/error.h"'),
        ("libmge/ops/add.cpp", '"libmge/ops/op.h"'),
        ("libmge/ops/nn/softmax.cpu.cpp", '"libmge/kernel/cpu/simd.h"'),
        ("libmge/ops/nn/softmax.cpu.cpp", "<hwy/highway.h>"),
        ("libmge/ops/nn/softmax.onnx.cpp", '"libmge/model/site.h"'),
        ("libmge/train/sgd.cpp", "<vector>"),
        ("libmge/mge.h", '"libmge/train/sgd.h"'),
        ("apps/tool/main.cpp", '"libmge/mge.h"'),
        ("apps/tool/main.cpp", '"apps/cli/command.h"'),
    ],
)
def test_allowed(faults, path, header):
    assert faults(path, header) == []


@pytest.mark.parametrize(
    "path, header, reason",
    [
        (
            "libmge/base/files/file.cpp",
            '"libmge/kernel/select.h"',
            "'base' is layer 0, 'kernel' is layer 1",
        ),
        (
            "libmge/train/sgd.cpp",
            '"libmge/model/reader.h"',
            "'train' is layer 3, 'model' is layer 3",
        ),
        ("libmge/ops/add.cpp", '"libmge/kernel/cpu/simd.h"', "'libmge/ops/*' may not include it"),
        ("libmge/ops/add.h", "<hwy/highway.h>", "'libmge/ops/*' may not include it"),
        ("libmge/kernel/scalar/add.h", "<cmath>", "'libmge/kernel/scalar/*' may not include it"),
        (
            "libmge/model/reader.cpp",
            '"apps/cli/command.h"',
            "'model' is layer 3, 'apps' is layer 4",
        ),
        ("python/src/module.cpp", '"apps/cli/command.h"', "'python' is layer 4, 'apps' is layer 4"),
        ("libmge/model/reader.cpp", '"libmge/mge.h"', "an umbrella header is for users"),
        (
            "libmge/extra/x.cpp",
            '"libmge/base/error.h"',
            "folder 'extra' is not in the layering table",
        ),
    ],
)
def test_faults_name_file_line_and_reason(faults, path, header, reason):
    (fault,) = faults(path, "<cstddef>" if "scalar" not in path else "", header)[-1:]
    assert fault.startswith(f"{path}:3: includes {header[1:-1]}: ")
    assert reason in fault


def test_folders_are_not_crowded(tree):
    def faults(count):
        names = [f"libmge/base/{i}.{suffix}" for i in range(count) for suffix in ("cpp", "txt")]
        return check_layers.check(
            tree({"ARCHITECTURE.md": ARCHITECTURE} | dict.fromkeys(names, ""))
        )

    assert faults(45) == []
    assert faults(46) == ["libmge/base: 46 files, more than 45; part them into subfolders"]


def test_text_without_tables_is_refused():
    with pytest.raises(ValueError, match="no section 'Layering'"):
        check_layers.read_tables("## Other\n")
    with pytest.raises(ValueError, match="has 0 tables, expected 4"):
        check_layers.read_tables("## Layering\n\nnothing here\n")


def test_project_table_is_readable():
    text = (check_layers.Path(check_layers.__file__).parents[1] / "ARCHITECTURE.md").read_text()
    layers, bans, silences, floors = check_layers.read_tables(text)
    assert layers["base"] == 0
    assert layers["ops"] < layers["graph"] < layers["compile"] < layers["eager"] < layers["python"]
    assert any(ban.files.startswith("libmge/kernel/scalar") for ban in bans)
    assert [silence.files for silence in silences] == ["libmge/*", "apps/*", "python/src/*"]


@pytest.fixture
def name_faults(tree):
    """Faults of one line in a project that has an operator named flip."""

    def check(path, line):
        header = 'struct Flip {\n    static constexpr auto name = "flip";\n};\n'
        files = {"ARCHITECTURE.md": ARCHITECTURE, "libmge/ops/shape/flip.h": header}
        return check_layers.check(tree({**files, path: f"// top\n{line}\n"}))

    return check


@pytest.mark.parametrize(
    "path, line",
    [
        ("libmge/passes/x.cpp", "if (node.op == &ops::Flip::info) return;"),
        ("libmge/passes/x.cpp", '// flips: op.name == "flip" once'),
        ("libmge/passes/x.cpp", "if (known.op == node.op->name) return;"),
        ("libmge/passes/x.cpp", "if (pass.name == wanted || value.name.starts_with('#')) return;"),
        ("libmge/passes/x.cpp", 'throw_user(op.name, "cannot flip");'),
        ("libmge/ops/shape/flip.cpp", 'if (op.name == "flip") return;'),
        ("libmge/model/import/table.cpp", 'Row{"Flip", "flip"},'),
        ("apps/tool/report.cpp", 'row["flip"] = 1;'),
    ],
)
def test_operator_names_may_be_used(name_faults, path, line):
    assert name_faults(path, line) == []


@pytest.mark.parametrize(
    "path, line",
    [
        ("libmge/passes/x.cpp", 'if (node.op->name == "rotate") return;'),
        ("libmge/passes/x.cpp", 'if ("rotate" != op_.name) return;'),
        ("libmge/passes/x.cpp", "if (s.op.name != ops::Flip::name) return;"),
        ("libmge/passes/x.cpp", "if (ops::Flip::name == node.op->name) return;"),
        ("libmge/passes/x.cpp", 'bool b = node.op->name.find("pool") != npos;'),
        ("libmge/kernel/x.cpp", 'return problem.op.starts_with("conv");'),
        ("libmge/kernel/x.cpp", 'return p.op == "rotate";'),
        ("libmge/compile/x.cpp", 'auto* op = find_op("rotate");'),
        ("apps/tool/report.cpp", 'if (node.op->name == "flip") return;'),
    ],
)
def test_names_of_operators_are_not_compared(name_faults, path, line):
    (fault,) = [f for f in name_faults(path, line) if "compares" in f]
    assert fault.startswith(f"{path}:2: ")


def test_names_of_operators_are_not_listed(name_faults):
    (fault,) = name_faults("libmge/kernel/x.cpp", 'constexpr std::array rules{Rule{"flip", 0}};')
    assert fault.startswith("libmge/kernel/x.cpp:2: 'flip' is the name of an operator")


def test_third_table_lists_known_values():
    with pytest.raises(ValueError, match="dance"):
        check_layers.read_tables(ARCHITECTURE.replace("| compare |", "| dance |"))


@pytest.fixture
def python_faults(tree):
    """Faults of Python files given as {path below python/megengine: text}."""

    def check(files):
        files = {f"python/megengine/{path}": text for path, text in files.items()}
        return check_layers.check(tree({"ARCHITECTURE.md": ARCHITECTURE, **files}))

    return check


CORE = {"core/__init__.py": "", "core/dtype.py": "import numpy\n", "logger.py": "import os\n"}


@pytest.mark.parametrize(
    "path, line",
    [
        ("functional/math.py", "from ..core.dtype import float32"),
        ("functional/math.py", "from .. import _mge, logger"),
        ("functional/math.py", "from ..core import *"),
        ("core/tensor/utils.py", "from ...utils import *"),
        ("utils/profiler.py", "from .hook import Hook"),
        ("__init__.py", "from . import logger, utils"),
    ],
)
def test_python_files_may_import_lower_floors(python_faults, path, line):
    utils = {"utils/__init__.py": "", "utils/hook.py": "", "functional/__init__.py": ""}
    assert python_faults({**CORE, **utils, path: f"# top\n{line}\n"}) == []


@pytest.mark.parametrize(
    "path, line, reason",
    [
        (
            "core/dtype.py",
            "from ..functional import math",
            "'core' is floor 0, 'functional' is floor",
        ),
        ("core/dtype.py", "import megengine.functional.math", "'core' is floor 0, 'functional' is"),
        ("core/dtype.py", "from .. import logger", "'core' is floor 0, 'logger' is floor 0"),
        ("core/dtype.py", "from .tensor import utils", "'core' is floor 0, 'core/tensor/utils' is"),
        ("utils/hook.py", "from . import profiler", "'utils/hook' is floor 1, 'utils' is floor 2"),
        ("logger.py", "from . import extra", "'megengine.extra' is not in the table"),
        (
            "core/dtype.py",
            "def f():\n    from ..functional import math  # slow",
            "'core' is floor 0, 'functional' is floor 1",
        ),
    ],
)
def test_python_imports_that_do_not_point_down(python_faults, path, line, reason):
    others = {
        "core/tensor/utils.py": "",
        "extra.py": "",
        "functional/math.py": "",
        "utils/profiler.py": "",
    }
    faults = python_faults({**CORE, **others, path: f"# top\n{line}\n"})
    (fault,) = [fault for fault in faults if "table of" in fault or "is floor" in fault][:1]
    assert fault.startswith(f"python/megengine/{path}:{2 + line.count(chr(10))}: ")
    assert reason in fault


def test_cycles_of_python_files(python_faults):
    deferred = "def f():\n    from . import b  # b imports this file\n"
    faults = python_faults(
        {"core/a.py": deferred, "core/b.py": "from . import c\n", "core/c.py": "from .a import f\n"}
    )
    (fault,) = [fault for fault in faults if "cycle" in fault]
    names = fault.rpartition(": ")[2].split(" -> ")
    assert len(names) == 4 and names[0] == names[-1]
    assert set(names) == {"megengine.core.a", "megengine.core.b", "megengine.core.c"}
    # To import utils/p/x is to import the package utils/p first.
    faults = python_faults(
        {
            "utils/p/__init__.py": "from .. import y\n",
            "utils/p/x.py": "",
            "utils/y.py": "from .p import x\n",
            "core/c.py": "",
        }
    )
    assert any("megengine.utils.p -> " in fault for fault in faults)


@pytest.mark.parametrize(
    "lines, faulty",
    [
        (["import cv2  # is optional"], []),
        (["# OpenCV is optional.", "import cv2"], []),
        (["# Both are optional.", "import cv2", "from PIL import Image"], []),
        (["import cv2"], [2]),
        (["import cv2  # is optional", "x = 1", "import PIL"], [4]),
    ],
)
def test_imports_in_functions_have_a_reason(python_faults, lines, faulty):
    text = "def f():\n" + "".join(f"    {line}\n" for line in lines)
    faults = python_faults({"core/a.py": text})
    assert [int(fault.split(":")[1]) for fault in faults] == faulty
    assert all("says why" in fault for fault in faults)
