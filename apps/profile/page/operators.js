// SPDX-License-Identifier: Apache-2.0
// The tables: by type, and the steps, one by one or grouped.
function grouped(of) {
  const groups = new Map();
  for (const s of visible) {
    const key = of(s), g = groups.get(key) || { key, count: 0, time: 0, operations: 0, bytes: 0, steps: [] };
    g.count++; g.time += s.time; g.operations += s.operations || 0; g.bytes += s.bytes || 0; g.steps.push(s);
    groups.set(key, g);
  }
  return [...groups.values()];
}
let visible = steps;
const shareOf = (t) => total > 0 ? t / total : 0;
const groupColumns = (title) => [
  plain(title, (g) => g.key, { sticky: true }),
  amount("count", (g) => g.count, String),
  amount("time", (g) => g.time, asTime, { first: true }),
  { title: "share", value: (g) => shareOf(g.time), text: (g) => asShare(shareOf(g.time)), bar: true, number: true },
  amount("each", (g) => g.time / g.count, asTime),
  amount("FLOP/s", (g) => rate(g.time, g.operations), (v) => asCount(v, "FLOP/s")),
  amount("bandwidth", (g) => rate(g.time, g.bytes), (v) => v === null ? none : asBytes(v) + "/s"),
];
makeTable(byId("types"), groupColumns("type"), grouped((s) => s.type));

// Columns that are looked at first need no scrolling; long words come last.
const stepColumns = [
  plain("name", (s) => s.name || s.type, { sticky: true, long: true }),
  amount("time", (s) => s.time, asTime, { first: true }),
  { title: "share", value: (s) => s.share, text: (s) => asShare(s.share), bar: true, number: true },
  plain("type", (s) => s.type),
  plain("bound by", (s) => s.bound === "unknown" ? "" : s.bound),
  amount("of the roof", (s) => s.of_roof, asShare),
  amount("FLOP/s", (s) => s.rate, (v) => asCount(v, "FLOP/s")),
  amount("bandwidth", (s) => s.bandwidth, (v) => v === null ? none : asBytes(v) + "/s"),
  amount("fastest", (s) => s.least, asTime),
  amount("slowest", (s) => s.most, asTime),
  plain("algorithm", (s) => s.algorithm, { long: true }),
  amount("#", (s) => s.index, String),
  amount("work", (s) => s.operations, (v) => asCount(v, "FLOP")),
  amount("moved", (s) => s.bytes, asBytes),
  plain("layout", (s) => s.layout),
  plain("inputs", (s) => s.inputs, { long: true }),
  plain("outputs", (s) => s.outputs, { long: true }),
  plain("stage", (s) => s.stage),
  plain("computes", (s) => s.sources.join(", "), { long: true }),
  { title: "graph", value: (s) => s.link || "", text: (s) => s.link ? "show" : "", link: (s) => s.link },
];
// A column without contents is left out.
const filled = stepColumns.filter((c) => steps.some((s) => c.value(s) !== null && c.value(s) !== ""));
const groupings = {
  none: { title: "each step" },
  equal: { title: "equal steps", of: (s) => `${s.type} ${s.inputs} → ${s.outputs}` },
  type: { title: "type", of: (s) => s.type },
  bound: { title: "what bounds it", of: (s) => s.bound },
  algorithm: { title: "algorithm", of: (s) => s.algorithm || "none named" },
  stage: { title: "stage of the network", of: (s) => s.stage },
};
for (const [key, g] of Object.entries(groupings)) element("option", { value: key }, g.title, byId("group"));
let current = null;

function fillOperators() {
  const grouping = groupings[byId("group").value];
  current = grouping.of ? makeTable(byId("steps"), groupColumns(grouping.title), grouped(grouping.of))
    : makeTable(byId("steps"), filled, visible, (line, s) => {
      line.dataset.step = s.index;
      if (s.index === chosen) line.classList.add("chosen");
      line.addEventListener("click", () => choose(s.index, false));
    });
}
tableButtons(byId("copies"), () => current, file.replace(/\.\w+$/, "") + ".csv");

const haystack = steps.map((s) => [s.name, s.type, s.algorithm, s.layout, s.inputs, s.outputs, s.bound, s.stage, ...s.sources].join("\n").toLowerCase());
function search() {
  const words = byId("search").value.toLowerCase().split(/\s+/).filter(Boolean);
  visible = steps.filter((s, i) => words.every((w) => haystack[i].includes(w)));
  if (current && !groupings[byId("group").value].of) current.show(visible); else fillOperators();
  byId("found").textContent = `${visible.length} of ${steps.length}`;
}
function markChosen(scroll) {
  for (const line of byId("steps").querySelectorAll("tr.chosen")) line.classList.remove("chosen");
  if (scroll && current.reveal(steps[chosen])) byId("steps").parentElement.scrollIntoView({ block: "nearest" });
  const line = byId("steps").querySelector(`tr[data-step="${chosen}"]`);
  if (line) line.classList.add("chosen");
}
function choose(index, scroll) {
  chosen = index;
  if (groupings[byId("group").value].of || !visible.includes(steps[index])) {
    byId("search").value = "";
    if (byId("group").value !== "none") { byId("group").value = "none"; current = null; }
    search();
  }
  markChosen(scroll);
  drawTimeline();
  markRoofline();
}
