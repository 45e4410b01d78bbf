# SPDX-License-Identifier: Apache-2.0
"""mge-dump evaluate: accuracy of classifiers, with torchvision's preprocessing."""

import base64
import json

import numpy as np
import pytest
from browser_pages import Elements, Scripts, dom_of, looks_of, needs_browser

TOOL = "mge-dump"
CLASSES, SIDE, RESIZE = 7, 16, 20
MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
NORMALISED = ("--mean", ",".join(map(str, MEAN)), "--std", ",".join(map(str, STD)))


def linear(seed):
    import megengine as mge
    import megengine.functional as F

    random = np.random.RandomState(seed)
    w = mge.Tensor(random.standard_normal((3 * SIDE * SIDE, CLASSES)).astype("float32") / 20)
    return lambda x: F.matmul(F.flatten(x, 1), w)


@pytest.fixture(scope="module")
def classifiers(write_model):
    inputs = {"data": np.ones((4, 3, SIDE, SIDE), "float32")}
    return [write_model(f"linear{seed}", linear(seed), inputs, "scores") for seed in (1, 2)]


@pytest.fixture(scope="module")
def pictures(tmp_path_factory):
    """A folder of images in several sizes and formats, and their labels."""
    image = pytest.importorskip("PIL.Image")
    random = np.random.RandomState(5)
    folder = tmp_path_factory.mktemp("images")
    labels = {}
    for i in range(45):
        # At most twice as high as wide: Pillow 13 and earlier versions resize these alike.
        height, width = random.randint(30, 60, 2)
        # A few large blocks besides the noise: classes that differ.
        pixels = random.randint(0, 256, (height, width, 3))
        pixels[: height // 2] = (pixels[: height // 2] + 255 * random.randint(0, 2, 3)) // 2
        name = f"image {i}.png" if i % 3 else f"image{i}.ppm"
        image.fromarray(pixels.astype("uint8")).save(folder / name)
        labels[name] = int(random.randint(CLASSES))
    lines = [
        f"{name},{label}" if i % 2 else f"{name} {label}"
        for i, (name, label) in enumerate(labels.items())
    ]
    (folder / "labels.txt").write_text("# name label\n" + "\n".join(lines) + "\n\n")
    return folder, labels


def as_torchvision(path, resize=RESIZE):
    """Resize, CenterCrop, ToTensor and Normalize of torchvision, as they are for PIL images."""
    from PIL import Image

    picture = Image.open(path).convert("RGB")
    width, height = picture.size
    if resize is None:
        picture = picture.resize((SIDE, SIDE), Image.BILINEAR)
    elif width <= height:
        picture = picture.resize((resize, int(resize * height / width)), Image.BILINEAR)
    else:
        picture = picture.resize((int(resize * width / height), resize), Image.BILINEAR)
    width, height = picture.size
    top, left = round((height - SIDE) / 2.0), round((width - SIDE) / 2.0)
    picture = picture.crop((left, top, left + SIDE, top + SIDE))
    data = np.asarray(picture, "float32").transpose(2, 0, 1) / np.float32(255)
    mean, std = (np.array(v, "float32").reshape(3, 1, 1) for v in (MEAN, STD))
    return (data - mean) / std


def reference(outputs_of, model, folder, labels, resize=RESIZE):
    """Scores of all images, and the shares of right labels among the best one and five."""
    data = np.stack([as_torchvision(folder / name, resize) for name in labels])
    (scores,) = outputs_of(model, np.resize(data, (48, *data.shape[1:])))
    scores = scores[: len(labels)]
    best = np.argsort(-scores, axis=1, kind="stable")
    right = best == np.array(list(labels.values())).reshape(-1, 1)
    return scores, right[:, 0].mean(), right[:, :5].any(axis=1).mean()


def evaluated(run_tool, *arguments):
    ran = run_tool(TOOL, "evaluate", *arguments)
    assert ran.code == 0, ran.err
    return ran


# Without a size of the shorter side images are distorted, and versions of Pillow differ.
@pytest.mark.parametrize(("resize", "tolerance"), [(RESIZE, 1e-4), (None, 0.1)])
def test_accuracy_is_that_of_torchvision(
    run_tool, outputs_of, classifiers, pictures, resize, tolerance
):
    folder, labels = pictures
    how = ("--resize", resize) if resize else ()
    flags = ("--images", folder, "--labels", folder / "labels.txt", *NORMALISED, *how)
    ran = evaluated(run_tool, classifiers[0], *flags, "--worst", len(labels))
    (result,) = ran.result["evaluated"]
    scores, top1, top5 = reference(outputs_of, classifiers[0], folder, labels, resize)
    assert result["top1"] == pytest.approx(top1, abs=1e-12)
    assert result["top5"] == pytest.approx(top5, abs=1e-12)
    assert 0 < top1 < 1 and top1 < top5
    # The probability depends on every pixel.
    powers = np.exp(scores.astype("float64"))
    shares = powers / powers.sum(axis=1, keepdims=True)
    expected = {name: shares[i, label] for i, (name, label) in enumerate(labels.items())}
    got = {row["image"]: row["probability_of_label"] for row in result["worst"]}
    assert got == pytest.approx(expected, rel=tolerance)
    in_order = [row["probability_of_label"] for row in result["worst"]]
    assert in_order == sorted(in_order)
    assert f"{100 * top1:.2f}" in ran.out and f"{100 * top5:.2f}" in ran.out


def test_batch_and_classes(run_tool, classifiers, pictures):
    folder, labels = pictures
    flags = ("--images", folder, "--labels", folder / "labels.txt", *NORMALISED)
    results = [
        evaluated(run_tool, classifiers[0], *flags, *batch).result["evaluated"][0]
        for batch in ((), ("--batch-size", 1), ("--batch-size", 32))
    ]
    assert len({r["top1"] for r in results}) == 1
    classes = results[0]["classes"]
    assert sum(c["images"] for c in classes) == len(labels)
    assert sum(c["top1"] for c in classes) == round(results[0]["top1"] * len(labels))


def test_two_models_in_one_table(run_tool, classifiers, pictures, tmp_path):
    folder, labels = pictures
    (tmp_path / "names").write_text("\n".join(f"<class> {i}" for i in range(CLASSES)))
    flags = [
        "--images",
        folder,
        "--labels",
        folder / "labels.txt",
        "--class-names",
        tmp_path / "names",
    ]
    page = tmp_path / "worst.html"
    ran = evaluated(run_tool, *classifiers, *flags, "--html", page, "--worst", 5)
    first, second = ran.result["evaluated"]
    assert first["same_as_first"] == len(labels) and first["gained"] == first["lost"] == 0
    n = len(labels)
    assert round(second["top1"] * n) == round(first["top1"] * n) + second["gained"] - second["lost"]
    assert all(str(model) in ran.out for model in classifiers)
    assert "<class> 3" in {c["name"] for c in first["classes"]}
    text = page.read_text()
    data = json.loads(Scripts(text).texts["data"])
    images = [image for model in data["worst"] for image in model["images"]]
    assert len(images) == 10
    assert all(base64.b64decode(i["png"], validate=True).startswith(b"\x89PNG") for i in images)
    assert "<class>" not in text and "://" not in text.replace("http://www.w3.org/2000/svg", "")
    assert "<class> 3" in {c["name"] for c in data["classes"]}
    assert [m["top1"] for m in data["models"]] == [first["top1"], second["top1"]]
    assert [i["name"] for i in data["worst"][1]["images"]] == [w["image"] for w in second["worst"]]


@needs_browser
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [500, 1300, 2560])
def test_looks_of_the_page(run_tool, classifiers, pictures, tmp_path, width, scheme):
    folder, _ = pictures
    out = tmp_path / "page.html"
    flags = ("--images", folder, "--labels", folder / "labels.txt", "--worst", 7)
    evaluated(run_tool, *classifiers, *flags, "--html", out)
    assert looks_of(out, tmp_path, width, scheme) == {"wide": [], "faint": []}
    page = Elements(dom_of(out, tmp_path))
    assert len(page.of("worst", "img")) == 14
    assert len(page.of("models", "tr")) == 3


def test_folders_are_classes(run_tool, classifiers, pictures, tmp_path):
    folder, labels = pictures
    for i, name in enumerate(labels):
        (tmp_path / "all" / f"class{i % 3}").mkdir(parents=True, exist_ok=True)
        (tmp_path / "all" / f"class{i % 3}" / name).write_bytes((folder / name).read_bytes())
    result = evaluated(run_tool, classifiers[0], "--images", tmp_path / "all").result
    found = {c["name"]: c["images"] for c in result["evaluated"][0]["classes"]}
    assert found == {f"class{i}": 15 for i in range(3)}


def test_pixels_and_channels_last(run_tool, write_model, pictures):
    """A model that takes uint8 in another layout normalises for itself."""
    import megengine.functional as F

    folder, labels = pictures
    net = linear(1)

    def of_pixels(x):
        x = F.transpose(x.astype("float32"), (0, 3, 1, 2)) / 255
        return net(x)

    pixels = write_model("pixels", of_pixels, {"d": np.ones((4, SIDE, SIDE, 3), "uint8")}, "s")
    plain = write_model("plain", net, {"d": np.ones((4, 3, SIDE, SIDE), "float32")}, "s")
    flags = ("--images", folder, "--labels", folder / "labels.txt")
    first, second = (evaluated(run_tool, m, *flags).result["evaluated"][0] for m in (pixels, plain))
    assert (first["top1"], first["top5"]) == (second["top1"], second["top5"])
    for option in ("--mean", "--std", "--divide-by"):
        ran = run_tool(TOOL, "evaluate", pixels, *flags, option, "0.5", json=False)
        assert ran.code == 2 and f"[{option}] has no effect" in ran.err


@pytest.mark.parametrize(
    ("labels", "flags", "code", "message"),
    [
        ("nothing.png 1", [], 2, "nothing.png"),
        ("image0.ppm 9", [], 2, "has the label 9, the model has 7 classes"),
        ("image0.ppm cat", [], 2, "line 1: 'cat' is not the number of a class"),
        ("image0.ppm", [], 2, "expected NAME LABEL"),
        ("labels.txt 1", [], 5, "is not a readable image"),
        ("# nothing", [], 2, "has no images"),
        ("image0.ppm 1", ["--mean", "1,2"], 2, "[--mean] 2 numbers for 3 channels"),
        ("image0.ppm 1", ["--std", "0,1,1"], 2, "out of range"),
    ],
)
def test_misuse(run_tool, classifiers, pictures, tmp_path, labels, flags, code, message):
    folder, _ = pictures
    (tmp_path / "l").write_text(labels)
    arguments = ("evaluate", classifiers[0], "--images", folder, "--labels", tmp_path / "l", *flags)
    ran = run_tool(TOOL, *arguments, json=False)
    assert ran.code == code and message in ran.err, ran.err
    assert len(ran.err.splitlines()) == 1


def test_models_that_do_not_classify_images(run_tool, two_inputs, small_model, pictures):
    folder, _ = pictures
    flags = ("--images", folder, "--labels", folder / "labels.txt")
    for model, message in ((two_inputs, "has 2 inputs"), (small_model, "expected images")):
        ran = run_tool(TOOL, "evaluate", model, *flags)
        assert ran.code == 2 and message in json.dumps(ran.report["error"]), ran.err
    ran = run_tool(TOOL, "evaluate", small_model, "--images", folder / "none", json=False)
    assert ran.code == 2 and "is not a folder" in ran.err
