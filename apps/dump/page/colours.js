// SPDX-License-Identifier: Apache-2.0
// Fills of boxes by the chosen property, with their legend.
const dark = matchMedia("(prefers-color-scheme: dark)");
const darkKinds = ["#27476f", "#6b3540", "#4b3a66", "#6a4d1c", "#28543a", "#3a424e"];
const theme = () => dark.matches
  ? { ink: "#e6eaf0", soft: "#a3aebd", edge: "#7b8796", fold: "#222b37", open: "#181e27", line: "#4a5667", mark: "#7bbaff", heat: "#ff9b62", port: "#2c3542", kinds: darkKinds, cold: [34, 43, 55], hot: [156, 52, 16] }
  : { ink: "#1c2430", soft: "#566170", edge: "#7b8796", fold: "#ffffff", open: "#eef1f6", line: "#aab4c2", mark: "#0b5cb8", heat: "#c2410c", port: "#e4e9f0", kinds: data.kinds.map((k) => k.fill), cold: [255, 255, 255], hot: [255, 158, 112] };
const mix = (a, b, t) => `rgb(${a.map((v, i) => Math.round(v + (b[i] - v) * t)).join(",")})`;
// Fills of categories: half of the colour on paper, so that text stays readable.
const tint = (hex, t) => mix(t.cold, [1, 3, 5].map((i) => parseInt(hex.slice(i, i + 2), 16)), dark.matches ? 0.45 : 0.55);

const algorithmTimes = new Map();
for (const s of steps) algorithmTimes.set(s.algorithm || s.type, (algorithmTimes.get(s.algorithm || s.type) || 0) + s.time);
const algorithms = [...algorithmTimes.keys()].sort((a, b) => algorithmTimes.get(b) - algorithmTimes.get(a));
const algorithmColour = (s) => {
  const i = algorithms.indexOf(s.algorithm || s.type);
  return i < palette.length ? palette[i] : boundColours.unknown;
};
const hottest = steps.reduce((m, s) => Math.max(m, s.time), 0);

// Each mode: the fill of an operator and of a closed fold, and the legend.
const modes = {
  type: {
    title: "type",
    node: (n, t) => t.kinds[n.kind],
    fold: (f, t) => t.fold,
    legend: (t) => data.kinds.map((k, i) => [t.kinds[i], k.meaning]).filter((_, i) => nodes.some((n) => n.kind === i)),
  },
};
if (profile) {
  const heat = (time, most, t) => mix(t.cold, t.hot, Math.sqrt(Math.min(1, most > 0 ? time / most : 0)));
  const byStep = (colour) => ({
    node: (n, t) => { const s = stepOf(n); return s ? tint(colour(s), t) : t.fold; },
    fold: (f, t) => { const s = costliest(f); return s ? tint(colour(s), t) : t.fold; },
  });
  modes.time = {
    title: "time",
    node: (n, t) => heat(n.time, hottest, t),
    fold: (f, t) => heat(f.time, view.hottestFold, t),
    legend: (t) => [[heat(0, 1, t), "no time"], [heat(0.25, 1, t), ""], [heat(1, 1, t), "most time"]],
  };
  modes.bound = {
    title: "what bounds it", ...byStep((s) => boundColours[s.bound]),
    legend: (t) => Object.keys(boundColours).filter((b) => steps.some((s) => s.bound === b)).map((b) => [tint(boundColours[b], t), b]),
  };
  modes.algorithm = {
    title: "algorithm", ...byStep(algorithmColour),
    legend: (t) => algorithms.slice(0, palette.length).map((a, i) => [tint(palette[i], t), a.length > 40 ? a.slice(0, 39) + "…" : a]),
  };
}

function drawLegend() {
  const t = theme();
  byId("legend").replaceChildren(...modes[view.mode].legend(t).map(([fill, meaning]) => {
    const item = element("li");
    element("i", { style: `background:${fill}` }, "", item);
    item.append(meaning);
    return item;
  }));
}
