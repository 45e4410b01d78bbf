// SPDX-License-Identifier: Apache-2.0
const file = (data.model || "Profile").split("/").pop() || data.model;
byId("title").textContent = file;
document.title = file + " – mge-profile";
byId("subtitle").textContent = data.subtitle;
showRecording(byId("recording"), data.model !== file ? data.model : "", data.recording);
if (data.graph_page) element("a", { href: data.graph_page }, "The graph of the model", element("p", {}, null, byId("recording")));

const durations = data.runs.map((r) => r.duration).sort((a, b) => a - b);
const quantile = (q) => durations.length ? durations[Math.min(durations.length - 1, Math.floor(q * durations.length))] : null;
cards(byId("summary"), [
  ...(durations.length ? [["p50 of a run", asTime(quantile(0.5))], ["p99", asTime(quantile(0.99))], ["fastest", asTime(durations[0])]] : [["time of a run", asTime(total)]]),
  ["runs", String(data.runs_total)], ["operators", String(steps.length)],
  ["work", asCount(steps.reduce((n, s) => n + (s.operations || 0), 0), "FLOP")],
  ["achieved", asCount(rate(total, steps.reduce((n, s) => n + (s.operations || 0), 0)), "FLOP/s")],
  ["moved", asBytes(steps.reduce((n, s) => n + (s.bytes || 0), 0))],
  ...(data.memory.weights === null ? [] : [["weights", asBytes(data.memory.weights + data.memory.packed_weights)]]),
  ...(data.notes.map((note) => ["note", note])),
]);

// How many runs took how long.
function drawRuns() {
  const holder = byId("runs");
  holder.hidden = durations.length < 3;
  if (holder.hidden) return;
  const { svg, width, height } = makeDrawing(holder, 74, { "aria-label": `Histogram of ${durations.length} runs` });
  const low = durations[0], high = Math.max(Math.min(quantile(0.99), 1.5 * quantile(0.5)), low * 1.001), bins = Math.min(40, Math.max(8, Math.ceil(Math.sqrt(durations.length) * 2)));
  const counts = new Array(bins).fill(0);
  // Outliers are in the last column.
  for (const d of durations) counts[Math.min(bins - 1, Math.floor((d - low) / (high - low) * bins))]++;
  const most = Math.max(...counts), x = (d) => 4 + Math.min(1, (d - low) / (high - low)) * (width - 8);
  counts.forEach((n, i) => {
    if (!n) return;
    const bar = element("rect", { class: "run", x: 4 + i / bins * (width - 8), y: 52 - 34 * n / most, width: Math.max(1, (width - 8) / bins - 1), height: 34 * n / most }, null, svg);
    withTip(bar, `${n} runs around ${asTime(low + (i + 0.5) / bins * (high - low))}`);
  });
  for (const [name, d] of [["p50", quantile(0.5)]]) {
    element("line", { class: "mark", x1: x(d), x2: x(d), y1: 2, y2: 54 }, null, svg);
    label(svg, x(d), 10, name, width);
  }
  element("text", { x: 4, y: height - 6 }, asTime(low), svg);
  element("text", { x: width - 4, y: height - 6, "text-anchor": "end" }, `${asTime(high)} and more`, svg);
  label(svg, width / 2, height - 6, `${durations.length} runs`, width);
}
