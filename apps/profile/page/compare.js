// SPDX-License-Identifier: Apache-2.0
const fileOf = (model) => (model || "profile").split("/").pop();
const { before, after } = data, changes = data.changes;
byId("title").textContent = fileOf(before.model) === fileOf(after.model) ? `${fileOf(before.model)}: before and after` : `${fileOf(before.model)} and ${fileOf(after.model)}`;
document.title = byId("title").textContent + " – mge-profile diff";
for (const [id, side] of Object.entries({ before, after })) {
  element("p", { class: "hint" }, `${id}: ${side.model}, ${side.origin}`, byId(id));
  showRecording(byId(id), "", side.recording);
}
byId("recorded").hidden = !data.recorded.length;
const orDash = (key) => (d) => d[key] || none;
makeTable(byId("circumstances"), [plain("what", (d) => d.name, { sticky: true }), plain("before", orDash("before")), plain("after", orDash("after"))], data.recorded);
const signed = (d) => (d < 0 ? "−" : "+") + asTime(Math.abs(d));
const ratio = (b, a) => b > 0 && a !== null ? a / b : null;
const times = (r) => r === null ? none : r.toFixed(3) + "×";
cards(byId("summary"), [["before", asTime(before.total)], ["after", asTime(after.total)], ["difference", signed(after.total - before.total)],
  ["after / before", times(ratio(before.total, after.total))], ["slower", String(changes.filter((c) => c.difference > 0).length)], ["faster", String(changes.filter((c) => c.difference < 0).length)]]);

for (const c of [...changes].sort((p, q) => Math.abs(q.difference) - Math.abs(p.difference)).slice(0, 3)) {
  const item = element("li", {}, null, byId("findings"));
  element("strong", {}, c.name || c.type, item);
  element("div", { class: c.difference > 0 ? "slower" : "faster" }, `${signed(c.difference)}: ${asTime(c.before)} → ${asTime(c.after)}`, item);
  const why = c.before === null ? "Only the second profile has it." : c.after === null ? "Only the first profile has it."
    : c.algorithm_before !== c.algorithm_after ? `The algorithm changed from ${c.algorithm_before || "none"} to ${c.algorithm_after || "none"}.`
    : c.count_before !== c.count_after ? `${c.count_before} steps became ${c.count_after}.` : "The same algorithm took another time: compare threads, machine load and shapes.";
  element("p", {}, why, item);
}

const slowest = changes.reduce((m, c) => Math.max(m, c.before || 0, c.after || 0), 0);
const columns = [
  plain("name", (c) => c.name || c.type, { sticky: true, long: true }),
  amount("difference", (c) => c.difference, signed),
  amount("size", (c) => Math.abs(c.difference), asTime, { first: true }),
  amount("before", (c) => c.before, asTime),
  amount("after", (c) => c.after, asTime),
  amount("after / before", (c) => ratio(c.before, c.after), times),
  plain("type", (c) => c.type, { long: true }),
  amount("steps", (c) => c.count_after, (v) => String(v)),
  plain("algorithm before", (c) => c.algorithm_before, { long: true }),
  plain("algorithm after", (c) => c.algorithm_after, { long: true }),
];
const colourLine = (line, c) => {
  line.children[1].classList.add(c.difference > 0 ? "slower" : "faster");
  const both = element("span", { class: "both", "aria-hidden": "true" }, null, line.children[3]);
  for (const t of [c.before, c.after]) element("i", { style: `width:${slowest > 0 ? 100 * (t || 0) / slowest : 0}%` }, "", both);
};
const shown = makeTable(byId("steps"), columns, changes, colourLine);
tableButtons(byId("copies"), () => shown, "comparison.csv");
const kinds = {
  all: () => true, slower: (c) => c.difference > 0, faster: (c) => c.difference < 0,
  algorithm: (c) => c.before !== null && c.after !== null && c.algorithm_before !== c.algorithm_after, one: (c) => c.before === null || c.after === null,
};
function filter() {
  const words = byId("search").value.toLowerCase().split(/\s+/).filter(Boolean), kind = kinds[byId("which").value];
  const found = changes.filter((c) => kind(c) && words.every((w) => `${c.name} ${c.type} ${c.algorithm_before} ${c.algorithm_after}`.toLowerCase().includes(w)));
  shown.show(found);
  byId("found").textContent = `${found.length} of ${changes.length}`;
}
byId("search").addEventListener("input", filter);
byId("which").addEventListener("change", filter);
filter();
document.documentElement.setAttribute("data-ready", "true");
