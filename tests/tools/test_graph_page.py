# SPDX-License-Identifier: Apache-2.0
"""mge-dump graph --html: folds, layouts, times, and the page in a browser."""

import json
import shutil

import pytest
from browser_pages import Elements, Scripts, dom_of, looks_of, needs_browser

pytestmark = pytest.mark.skipif(not shutil.which("dot"), reason="Graphviz is not installed")
TOOL = "mge-dump"


@pytest.fixture(scope="module")
def blocks_model(write_model):
    """Six equal residual blocks, with names only of operators' types."""
    import numpy as np

    import megengine as mge
    import megengine.functional as F

    random = np.random.RandomState(3)
    weights = [
        [mge.tensor(random.standard_normal((8, 8)).astype("float32")) for _ in range(2)]
        for _ in range(6)
    ]

    def net(x):
        for a, b in weights:
            x = x + F.matmul(F.relu(F.matmul(x, a)), b)
            x = F.tanh(x)
        return x

    return write_model("blocks", net, {"x": np.ones((4, 8), "float32")}, "y")


@pytest.fixture(scope="module")
def scoped_model(tmp_path_factory):
    """Two modules of three operators, with the modules' names."""
    import numpy as np

    import megengine as mge
    import megengine.module as M
    from megengine.jit import trace

    net = M.Sequential(
        *[M.Sequential(M.Conv2d(3, 3, 3, padding=1), M.ReLU(), M.AvgPool2d(2)) for _ in range(2)]
    )
    net.eval()
    traced = trace(symbolic=True, capture_as_const=True)(lambda x: net(x))
    traced(mge.tensor(np.ones((1, 3, 16, 16), "float32")))
    path = tmp_path_factory.mktemp("models") / "scoped.mge"
    traced.dump(str(path), arg_names=["x"], output_names=["y"], keep_opr_name=True)
    return path


def page_of(run_tool, model, tmp_path, *flags):
    """The data of the page, its report and its path."""
    out = tmp_path / "graph.html"
    ran = run_tool(TOOL, "graph", model, "--html", out, *flags)
    assert ran.code == 0, ran.err
    return json.loads(Scripts(out.read_text()).texts["data"]), ran, out


def profile_of(run_tool, model, path):
    assert run_tool("load_and_run", model, "--iter", 5, "--profile", path).code == 0
    return path


def test_equal_blocks_fold_to_one_box_each(run_tool, blocks_model, tmp_path):
    data, ran, _ = page_of(run_tool, blocks_model, tmp_path)
    names = [fold["name"] for fold in ran.result["folds"]]
    assert names[1:] == [f"block {i} of 6" for i in range(1, 7)]
    assert {fold["operators"] for fold in ran.result["folds"][1:]} == {5}
    assert len(data["nodes"]) == ran.result["operators"] == 30
    assert "block 6 of 6" in ran.out


def test_modules_fold_by_their_names(run_tool, scoped_model, tmp_path):
    _, ran, _ = page_of(run_tool, scoped_model, tmp_path)
    names = [fold["name"] for fold in ran.result["folds"]]
    assert names == ["", "0", "1"]


def test_layouts_hold_all_boxes_without_overlap(run_tool, blocks_model, tmp_path):
    data, _, _ = page_of(run_tool, blocks_model, tmp_path)
    seen = set()
    for fold in data["folds"]:
        for layout in fold["layouts"]:
            boxes = layout["boxes"]
            for type_, index, x, y, w, h in boxes:
                if type_ == 0:
                    seen.add(index)
                assert -1 <= x - w / 2 and x + w / 2 <= layout["width"] + 1
                assert -1 <= y - h / 2 and y + h / 2 <= layout["height"] + 1
            for i, (_, _, x, y, w, h) in enumerate(boxes):
                for _, _, x2, y2, w2, h2 in boxes[:i]:
                    assert abs(x - x2) >= (w + w2) / 2 - 1 or abs(y - y2) >= (h + h2) / 2 - 1
            assert all(len(edge) >= 10 and len(edge) % 2 == 0 for edge in layout["edges"])
    assert seen == set(range(len(data["nodes"])))


def test_operators_have_parameters_shapes_and_weights(run_tool, image_model, tmp_path):
    data, _, _ = page_of(run_tool, image_model, tmp_path)
    conv = next(node for node in data["nodes"] if node["op"] == "conv2d")
    assert conv["lines"] == ["conv2d", "3×3", "→ 1×4×8×6"] and "padding" in conv["params"]
    weight = conv["inputs"][1]["weight"]
    assert weight["min"] <= weight["mean"] <= weight["max"] and weight["zeros"] == 0


def test_file_and_operators_are_described(run_tool, image_model, tmp_path):
    data, _, _ = page_of(run_tool, image_model, tmp_path)
    info = run_tool("mge-dump", "info", image_model).result
    assert data["facts"] == {**info["metadata"], "format": "mge"}
    assert set(data["docs"]) == {node["op"] for node in data["nodes"]}
    assert all(data["docs"].values())


def test_times_of_a_profile(run_tool, blocks_model, tmp_path):
    profile = profile_of(run_tool, blocks_model, tmp_path / "run.json")
    data, ran, _ = page_of(run_tool, blocks_model, tmp_path, "--profile", profile)
    report = ran.result["profile"]
    steps = json.loads(profile.read_text())["steps"]
    assert [step["name"] for step in report["steps"]] == [step["name"] for step in steps]
    known = [bool(step["operators"]) for step in report["steps"]]
    assert known == [bool(step["sources"]) for step in steps]
    total = sum(step["time_s"] for step in report["steps"] if step["operators"])
    times = [fold["time_s"] for fold in ran.result["folds"]]
    assert times[0] == pytest.approx(total)
    assert sum(times[1:]) == pytest.approx(total)
    for finding in report["findings"]:
        least = 0 if finding["step"] is None else report["steps"][finding["step"]]["time_s"]
        assert finding["time_s"] >= least and finding["reason"] and finding["advice"]
    assert sum(node["time"] for node in data["nodes"]) == pytest.approx(total)
    assert "findings" in ran.out and "1. " in ran.out


def test_a_profile_of_another_model_is_refused(run_tool, blocks_model, small_model, tmp_path):
    profile = profile_of(run_tool, small_model, tmp_path / "other.json")
    out = tmp_path / "graph.html"
    ran = run_tool(TOOL, "graph", blocks_model, "--html", out, "--profile", profile)
    assert ran.code == 2 and "another model" in ran.err and not out.exists()


def test_flags_that_need_another(run_tool, small_model, tmp_path):
    profile = profile_of(run_tool, small_model, tmp_path / "run.json")
    assert run_tool(TOOL, "graph", small_model, "--profile", profile).code == 2
    page = tmp_path / "graph.html"
    assert run_tool(TOOL, "graph", small_model, "--html", page, "--profile-page", "x").code == 2


def test_page_without_graphviz(run_tool, image_model, tmp_path):
    out = tmp_path / "graph.html"
    ran = run_tool(TOOL, "graph", image_model, "--html", out, env={"PATH": str(tmp_path)})
    assert ran.code == 4 and "apt install graphviz" in ran.err and not out.exists()


def hostile(write_model):
    import numpy as np

    import megengine.functional as F

    name = "</script><script>document.documentElement.dataset.owned=1</script>"
    return write_model("hostile", lambda x: F.relu(x) + 1, {name: np.ones((2, 3), "float32")}, "y")


def test_page_is_one_file_and_safe(run_tool, write_model, tmp_path):
    data, _, out = page_of(run_tool, hostile(write_model), tmp_path)
    page = Scripts(out.read_text())
    assert set(page.texts) == {"data", "code"}
    assert not [a for _, a in page.tags if "src" in a or "href" in a]
    assert data["inputs"][0]["name"].startswith("</script>")


@needs_browser
def test_hostile_names_stay_names(run_tool, write_model, tmp_path):
    _, _, out = page_of(run_tool, hostile(write_model), tmp_path)
    page = Elements(dom_of(out, tmp_path))
    root = page.all[0]["attributes"]
    assert root["data-ready"] == "true" and "data-error" not in root and "data-owned" not in root


@needs_browser
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [500, 1400, 2560])
def test_looks(run_tool, blocks_model, tmp_path, width, scheme):
    profile = profile_of(run_tool, blocks_model, tmp_path / "run.json")
    _, _, out = page_of(run_tool, blocks_model, tmp_path, "--profile", profile)
    assert looks_of(out, tmp_path, width, scheme) == {"wide": [], "faint": []}


FITTED = """
<script>
addEventListener("load", () => {
  byId("fit").click();
  const stage = canvas.getBoundingClientRect().top;
  document.documentElement.setAttribute("data-fitted", JSON.stringify([
    byId("path").getBoundingClientRect().bottom - stage, view.y,
    view.y + view.scene.height * view.k, byId("legend").getBoundingClientRect().top - stage]));
});
</script>
"""


@needs_browser
def test_fitted_graph_is_between_the_path_and_the_legend(run_tool, blocks_model, tmp_path):
    _, _, out = page_of(run_tool, blocks_model, tmp_path)
    probe = tmp_path / "probe.html"
    probe.write_text(out.read_text().replace("</body>", FITTED + "</body>"))
    root = Elements(dom_of(probe, tmp_path, "--window-size=900,500")).all[0]["attributes"]
    heights = json.loads(root["data-fitted"])
    assert heights == sorted(heights)


@needs_browser
def test_panel_shows_findings_and_a_link_selects(run_tool, blocks_model, tmp_path):
    profile = profile_of(run_tool, blocks_model, tmp_path / "run.json")
    flags = ("--profile", profile, "--profile-page", "run.html")
    data, _, out = page_of(run_tool, blocks_model, tmp_path, *flags)
    page = Elements(dom_of(out, tmp_path))
    assert data["profile"]["findings"][0]["title"] in page.text_of("panel")
    name = data["nodes"][7]["name"]
    page = Elements(dom_of(f"{out.as_uri()}#node={name.replace('#', '%23')}", tmp_path))
    assert page.text_of("panel").startswith(name)
    links = [e["attributes"]["href"] for e in page.of("panel", "a")]
    assert links and links[0].startswith("run.html#step=")
