# SPDX-License-Identifier: Apache-2.0
"""Pages of the tools in a headless browser: their elements, and how they look."""

import json
import os
import shutil
import subprocess
from html.parser import HTMLParser

import pytest


class Scripts(HTMLParser):
    """The texts of the script elements, by id."""

    def __init__(self, text):
        super().__init__()
        self.texts, self.current, self.tags = {}, None, []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        self.current = dict(attributes).get("id", "code") if tag == "script" else None

    def handle_data(self, text):
        if self.current:
            self.texts[self.current] = self.texts.get(self.current, "") + text

    def handle_endtag(self, tag):
        self.current = None


def browser():
    for name in ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome"):
        if path := shutil.which(name):
            return path
    return None


needs_browser = pytest.mark.skipif(
    not browser(), reason="no Chromium: apt-get install chromium-headless-shell"
)


def dom_of(page, tmp_path, *flags):
    """The page's elements after its script has run in a headless browser."""
    done = subprocess.run(
        [
            browser(), "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run",
            f"--user-data-dir={tmp_path / 'browser'}", "--window-size=1300,2400",
            "--virtual-time-budget=5000", *flags, "--dump-dom",
            page if isinstance(page, str) else page.as_uri(),
        ],
        capture_output=True,
        text=True,
        timeout=600,
        check=True,
        env={**os.environ, "LD_PRELOAD": ""},  # no sanitizer's runtime in the browser
    )  # fmt: skip
    return done.stdout


class Elements(HTMLParser):
    """The elements of the page with their texts, each with the id of its part."""

    EMPTY = ("meta", "input", "link", "br")

    def __init__(self, text):
        super().__init__()
        self.stack, self.all = [], []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        inside = self.stack[-1]["inside"] if self.stack else ()
        if name := attributes.get("id"):
            inside = (*inside, name)
        self.all.append({"tag": tag, "attributes": attributes, "text": "", "inside": inside})
        if tag not in self.EMPTY:
            self.stack.append(self.all[-1])

    def handle_endtag(self, tag):
        while self.stack and self.stack.pop()["tag"] != tag:
            pass

    def handle_data(self, text):
        for element in self.stack:
            element["text"] += text

    def of(self, part, tag):
        return [e for e in self.all if part in e["inside"] and e["tag"] == tag]

    def text_of(self, name):
        return next(e["text"] for e in self.all if e["attributes"].get("id") == name)


# Elements wider than the window, outside of parts that scroll, and texts below the contrast of AA.
LOOKS = """
<script>
addEventListener("load", () => {
  const wide = [...document.querySelectorAll("body *")].filter((e) => {
    if (e instanceof SVGElement) return false;
    const box = e.getBoundingClientRect();
    for (let p = e.parentElement; p; p = p.parentElement)
      if (p !== document.body && /auto|scroll|hidden/.test(getComputedStyle(p).overflowX))
        return false;
    return box.width > 0 && box.right > innerWidth + 1;
  }).map((e) => `${e.tagName} ${e.id} ${e.className}`);
  const pixel = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const onto = (colour, under) => {
    for (const fill of [`rgb(${under.join(",")})`, colour]) {
      pixel.fillStyle = fill;
      pixel.fillRect(0, 0, 1, 1);
    }
    return [...pixel.getImageData(0, 0, 1, 1).data].slice(0, 3);
  };
  const linear = (v) => (v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
  const light = (c) => c.map((v) => linear(v / 255))
    .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  const behind = (e) => {
    const layers = [];
    for (let p = e; p; p = p.parentElement) layers.unshift(getComputedStyle(p).backgroundColor);
    return layers.reduce((under, colour) => onto(colour, under), [255, 255, 255]);
  };
  const faint = [...document.querySelectorAll("body *")].filter((e) => {
    const shown = e.getBoundingClientRect().width > 0 && !e.closest("script, [hidden], :disabled");
    const hasText = [...e.childNodes].some((n) => n.nodeType === 3 && n.data.trim());
    if (!shown || !hasText || e.matches("text.on")) return false;
    const svg = e instanceof SVGElement, under = behind(svg ? e.closest("div") : e);
    const colour = getComputedStyle(e)[svg ? "fill" : "color"];
    const [a, b] = [light(under), light(onto(colour, under))];
    return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05) < 4.5;
  }).map((e) => `${e.tagName} ${e.id} ${e.className} ${e.textContent.trim().slice(0, 40)}`);
  document.documentElement.setAttribute("data-looks", JSON.stringify({ wide, faint }));
});
</script>
"""


def looks_of(page, tmp_path, width, scheme):
    """Faults of the page in a window of this width. The page has to be ready, without errors."""
    probe = tmp_path / "probe.html"
    probe.write_text(page.read_text().replace("</body>", LOOKS + "</body>"))
    theme = {"dark": 0, "light": 1}[scheme]
    flags = [f"--window-size={width},900", f"--blink-settings=preferredColorScheme={theme}"]
    root = Elements(dom_of(probe, tmp_path, *flags)).all[0]["attributes"]
    assert "data-error" not in root, root["data-error"]
    assert root["data-ready"] == "true"
    return json.loads(root["data-looks"])
