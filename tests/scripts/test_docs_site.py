# SPDX-License-Identifier: Apache-2.0
"""The parts of scripts/docs that need neither mkdocs nor a build."""

import json
import re
from types import SimpleNamespace

import pytest
from docs_site.check_site import broken_links
from docs_site.check_sources import faults
from docs_site.cpp_pages import collect, installed_headers, plain
from docs_site.navigation import with_pages
from docs_site.operator_facts import gpu_rows, short
from docs_site.operator_pages import families_of_operators, page_of
from docs_site.python_pages import module_page
from docs_site.schema_pages import schema_page
from docs_site.search_weights import weigh_pages, weight_of
from docs_site.stage import Stage


@pytest.fixture
def staged(tree, tmp_path):
    """Stages the files below docs/ and elsewhere, and returns what the site has, by path."""

    def stage(files):
        root, out = (
            tree({f"root/{name}": text for name, text in files.items()}) / "root",
            tmp_path / "out",
        )
        Stage(root, out).run()
        return {p.relative_to(out).as_posix(): p.read_text() for p in out.rglob("*") if p.is_file()}

    return stage


def test_pages_of_docs_are_at_the_top_of_the_site(staged):
    assert staged({"docs/a/b.md": "# B\n"}) == {"a/b.md": "# B\n"}


def test_a_linked_source_becomes_a_page_of_code(staged):
    site = staged({"docs/a.md": "[x](../examples/x.py)\n", "examples/x.py": "print(1)\n"})
    assert site["a.md"] == "[x](source/examples/x.py.md)\n"
    assert site["source/examples/x.py.md"] == "# examples/x.py\n\n````python\nprint(1)\n````\n"


def test_a_linked_folder_lists_its_files_or_shows_its_readme(staged):
    site = staged(
        {
            "docs/a.md": "[x](../x) [y](../y)\n",
            "x/one.cpp": "",
            "x/two.cpp": "",
            "y/README.md": "# Y\n",
        }
    )
    assert "- `one.cpp`\n- `two.cpp`" in site["source/x.md"]
    assert site["a.md"] == "[x](source/x.md) [y](source/y/README.md)\n"


def test_links_keep_anchors_and_code_is_unchanged(staged):
    text = "[c](../C.md#part)\n```\n[c](../C.md)\n```\n[w](https://x.y/z) [none](../none.md)\n"
    expected = text.replace("[c](../C.md#part)", "[c](source/C.md#part)")
    assert staged({"docs/a.md": text, "C.md": "# C\n"})["a.md"] == expected


def test_a_linked_schema_becomes_a_table(staged):
    schema = {"title": "A report", "properties": {"n": {"type": "integer", "description": "Runs"}}}
    files = {
        "docs/a.md": "[s](schemas/s.schema.json)\n",
        "docs/schemas/s.schema.json": json.dumps(schema),
    }
    site = staged(files)
    assert site["a.md"] == "[s](schemas/s.schema.md)\n"
    assert "| `n` | integer |  | Runs. |" in site["schemas/s.schema.md"]


@pytest.fixture
def table(tmp_path):
    """The rows of the table of a schema."""

    def rows(schema):
        path = tmp_path / "x.schema.json"
        path.write_text(json.dumps(schema))
        page = schema_page(path).split("\n## ")[0]
        return [line for line in page.splitlines() if line.startswith("| `")]

    return rows


def test_schema_lists_required_fields(table):
    schema = {"required": ["a"], "properties": {"a": {"enum": [1, 2]}, "b": {"const": "x"}}}
    assert table(schema) == ["| `a` | `1`, `2` | yes |  |", '| `b` | `"x"` |  |  |']


def test_no_field_of_one_alternative_is_always_there(table):
    schema = {
        "anyOf": [{"required": ["a"]}, {"required": ["b"]}],
        "properties": {"a": {"type": "string"}},
    }
    assert table(schema) == ["| `a` | string |  |  |"]


def test_fields_without_description_are_in_the_row_of_their_object(table):
    schema = {"properties": {"a": {"type": "object", "required": ["x", "y"]}}}
    assert table(schema) == ["| `a` | object |  | Fields: `x`, `y`. |"]


def test_a_definition_that_holds_itself_is_shown_once(table):
    node = {"type": "object", "properties": {"next": {"$ref": "#/$defs/node"}}}
    schema = {"$defs": {"node": node}, "properties": {"first": {"$ref": "#/$defs/node"}}}
    assert table(schema) == ["| `first` | object |  |  |", "| `first.next` | object `node` |  |  |"]


@pytest.fixture
def site(tree):
    def faults_of(files):
        return broken_links(tree(files))

    return faults_of


def test_site_with_valid_links_passes(site):
    page = (
        '<h1 id="top">A</h1><a href="b.html#x">b</a><a href="#top">t</a><a href="https://x.y">w</a>'
    )
    assert site({"a.html": page, "b.html": '<p id="x">'}) == []


def test_missing_files_and_anchors_are_named(site):
    page = '<a href="none.html">n</a><a href="b.html#none">b</a><img src="c.png">'
    assert site({"a.html": page, "b.html": ""}) == [
        "a.html: no anchor b.html#none",
        "a.html: no file c.png",
        "a.html: no file none.html",
    ]


@pytest.fixture
def source_faults(tree):
    """The faults of a folder docs/ whose pages, but `index.md`, are all in the navigation."""

    def check(files, nav=None):
        pages = (
            [name.removeprefix("docs/") for name in files if name.endswith(".md")]
            if nav is None
            else nav
        )
        return faults(
            tree({**files, "mkdocs.yml": "nav:\n" + "".join(f"  - {p}\n" for p in pages)})
        )

    return check


def test_links_between_pages_lead_to_files_and_headings(source_faults):
    pages = {
        "docs/a.md": "# A\n[b](b.md#two-words)\n[self](#a)\n",
        "docs/b.md": "## Two `words`!\n",
    }
    assert source_faults(pages) == []


def test_links_to_nothing_are_named_with_their_line(source_faults):
    pages = {"docs/a.md": "# A\n[x](x.md) [b](b.md#none)\n", "docs/b.md": "# B\n"}
    assert source_faults(pages) == [
        "docs/a.md:2: no file x.md",
        "docs/a.md:2: no heading b.md#none",
    ]


def test_links_in_code_and_to_generated_pages_are_skipped(source_faults):
    text = "```\n[x](x.md)\n```\n`[y](y.md)` [ops](reference/operators/index.md)\n"
    assert source_faults({"docs/a.md": text}) == []


def test_pages_outside_of_the_navigation_are_named(source_faults):
    assert source_faults({"docs/a.md": "# A\n"}, nav=[]) == [
        "docs/a.md: not in the nav of mkdocs.yml"
    ]


def test_a_page_has_the_members_of_its_module_that_have_a_source():
    def public(name, home):
        return type(name, (), {"__doc__": "It is.", "__module__": home})

    members = {"Here": "megengine.fake", "There": "megengine.real", "Other": "numpy"}
    module = SimpleNamespace(
        __name__="megengine.fake",
        __all__=["Made", *members],
        Made=public("Made", "megengine.fake"),
        **{name: public(name, home) for name, home in members.items()},
    )
    known = {"megengine.fake.Here", "megengine.real.There", "megengine.fake.There"}
    page = module_page(module, known.__contains__)
    assert page.startswith(
        "# megengine.fake\n\n::: megengine.fake\n    options: {members: false}\n"
    )
    assert re.findall("^::: (.+)$", page, re.MULTILINE)[1:] == [
        "megengine.fake.Here",
        "megengine.real.There",
    ]


def test_plain_text_is_not_markup():
    assert plain("a[0] * <b>") == r"a\[0\] \* &lt;b>"


def test_operators_have_the_family_of_their_headers_folder(tree):
    header = 'struct Snake {\n    static constexpr auto name = "snake";\n};\n'
    root = tree({"libmge/ops/nn/snake.h": header + header.replace("snake", "worm")})
    assert families_of_operators(root) == {"snake": "nn", "worm": "nn"}


def test_no_family_has_the_page_of_the_table():
    assert [page_of(family) for family in ("nn", "index")] == ["nn.md", "indexing.md"]


def test_sets_of_dtypes_have_names():
    assert short(["bool", "float16", "bfloat16", "float32", "int32"]) == "floats, bool, int32"


def test_algorithms_on_gpus_are_in_order_of_preference_with_their_dtypes(tree):
    root = tree(
        {
            "docs/data/gpu_algorithms.tsv": "operator\talgorithms\nmatmul\ttiled, split\n",
            "docs/data/gpu_dtypes.tsv": "operator\talgorithm\tdtypes\nmatmul\ttiled\tfloats\n",
        }
    )
    assert gpu_rows(root) == {"matmul": "`tiled` (floats), `split`"}


def test_pages_of_the_reference_are_below_their_index():
    config = "nav:\n  - Ops: reference/ops/index.md\n  - Other: b.md\n"
    ops = "  - Ops:\n      - reference/ops/index.md\n      - nn: reference/ops/nn.md\n"
    expected = f"nav:\n{ops}  - Other: b.md\n"
    assert with_pages(config, "reference/ops", ["nn.md"]) == expected


def test_answers_weigh_more_than_the_reference_in_the_search(tree):
    root = tree({"how-to/a.md": "# A\n", "reference/cpp/b.md": "# B\n", "c.md": "# C\n"})
    weigh_pages(root)
    assert (root / "how-to/a.md").read_text() == "---\nsearch:\n  boost: 4\n---\n\n# A\n"
    assert (root / "c.md").read_text() == "# C\n"
    assert weight_of("how-to/a.md") > weight_of("tools/x.md") > weight_of("reference/cpp/b.md")


def test_headers_are_read_from_the_xml_of_doxygen(tree):
    member = (
        '<memberdef kind="function" prot="public"><type>int</type><name>rank</name>'
        "<argsstring>(int x)</argsstring><briefdescription>The rank.</briefdescription>"
        '<location file="/x/libmge/op/rank.h"/></memberdef>'
    )
    xml = (
        f'<doxygen><compounddef kind="namespace"><compoundname>mge</compoundname>{member}'
        "</compounddef></doxygen>"
    )
    assert collect(tree({"namespacemge.xml": xml})) == {
        "libmge/op/rank.h": [("rank", "### `rank`\n\n```cpp\nint rank(int x);\n```\n\nThe rank.")]
    }


def test_the_reference_has_installed_headers_alone(tree):
    root = tree(
        {
            "libmge/mge.h": '#include "libmge/op/op.h"\n',
            "libmge/op/op.h": '#include "libmge/ops/all.h"\n',
            "libmge/op/apply.cpp.h": "",
            "libmge/ops/all.h": "",
            "libmge/lite/network_impl.h": "",
            "libmge/lite/include/lite/network.h": "",
        }
    )
    public = ["libmge/lite/include/lite/network.h", "libmge/mge.h", "libmge/op/op.h"]
    assert installed_headers(root) == public
