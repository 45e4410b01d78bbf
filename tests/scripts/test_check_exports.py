# SPDX-License-Identifier: Apache-2.0
import check_exports
import pytest


@pytest.fixture
def faults(tree):
    def check(header, path="libmge/graph/a.h"):
        files = {"libmge/mge.h": f'#include "{path}"\n', path: header}
        return [fault.split(": ", 1)[0] for fault in check_exports.check(tree(files))]

    return check


@pytest.mark.parametrize(
    "header",
    [
        "MGE_API int f(int x = g());\n",
        "inline int f() { return g(); }\n",
        "template <class T>\nint f(T x);\n",
        "class MGE_API A {\npublic:\n    A(int x);\n    int f() const;\n};\n",
        "struct A {\n    int (*f)(int);\n    int x = g();\n    A() = default;\n};\n",
        "struct A {\n    virtual int h() = 0;\n};\n",
        "constexpr int f(int x);\nusing F = int(int);\n",
        "// int f();\n",
    ],
)
def test_linkable_code_passes(faults, header):
    assert faults(f"namespace mge {{\n{header}}}\n") == []


@pytest.mark.parametrize(
    "header, line",
    [
        ("int f(int x = g());\n", 1),
        ("std::vector<int> f(\n    int x);\n", 2),
        ("struct A {\n    int f() const;\n};\n", 2),
        ("class A {\npublic:\n    explicit A(int x);\n};\n", 3),
    ],
)
def test_unsupported_operators_are_named(faults, header, line):
    assert faults(header) == [f"libmge/graph/a.h:{line}"]


def test_uninstalled_header_may_hide_all(tree):
    assert check_exports.check(tree({"libmge/mge.h": "\n", "libmge/a/a.h": "int f();\n"})) == []


def test_operator_rules_are_in_their_info(faults):
    header = "struct A {\n    static int infer(int x);\n};\nKernelList kernels(Cpu, A);\n"
    assert faults(header, "libmge/ops/a.h") == []
    assert faults("int f();\n", "libmge/ops/a.h") == ["libmge/ops/a.h:1"]
