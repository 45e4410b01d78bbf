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
            "libmge/base/file.cpp",
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


def test_text_without_tables_is_refused():
    with pytest.raises(ValueError, match="no section 'Layering'"):
        check_layers.read_tables("## Other\n")
    with pytest.raises(ValueError, match="has 0 tables, expected 3"):
        check_layers.read_tables("## Layering\n\nnothing here\n")


def test_project_table_is_readable():
    text = (check_layers.Path(check_layers.__file__).parents[1] / "ARCHITECTURE.md").read_text()
    layers, bans, silences = check_layers.read_tables(text)
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
def test_names_of_operators_may_stand(name_faults, path, line):
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


def test_the_third_table_says_what_is_known():
    with pytest.raises(ValueError, match="dance"):
        check_layers.read_tables(ARCHITECTURE.replace("| compare |", "| dance |"))
