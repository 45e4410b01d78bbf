// SPDX-License-Identifier: Apache-2.0
// Each value is a box from its first to its last step at its place in the arena; x is the time of the shown run.
function stepStarts() {
  const n = data.memory.live.length, run = shownRun(), own = spans.filter((s) => s.run === run && data.tracks[s.track] === data.tracks[0]);
  // Steps in the order of their execution; equally wide ones where the timeline has others.
  if (own.length !== n || !n) return { starts: Array.from({ length: n + 1 }, (_, i) => i), isTime: false };
  const origin = own[0].start;
  return { starts: [...own.map((s) => s.start - origin), own[n - 1].start + own[n - 1].duration - origin], isTime: true };
}
function drawMemory() {
  const memory = data.memory, live = memory.live, n = live.length;
  const peak = n ? Math.max(...live) : 0, peakAt = live.indexOf(peak);
  byId("memory-hint").textContent = n
    ? `Largest: ${asBytes(peak)} live at once` + (memory.plan ? `, in an arena of ${asBytes(memory.plan)}. ` : ". ")
      + (memory.boxes.length ? "Boxes are at their place in the arena: values in the colour of the operator that makes them, "
        + "workspaces of kernels hatched grey. The line is the sum of what is live." : "")
    : "This profile does not say when values live.";
  const { svg, width, height } = makeDrawing(byId("memory"), 280, { "aria-label": "Memory over time" });
  if (!n) return;
  const { starts, isTime } = stepStarts(), end = starts[n];
  const largest = Math.max(memory.plan || 0, ...live, ...memory.boxes.map((b) => b.offset + b.bytes), 1);
  const left = 74, bottom = height - 36, top = 18;
  const x = (i) => left + starts[i] / end * (width - left - 8), y = (b) => bottom - b / largest * (bottom - top);
  const unit = 1024 ** Math.floor(Math.log(largest) / Math.log(1024));
  for (const b of niceTicks(0, largest / unit, 5).map((t) => t * unit)) {
    element("line", { x1: left, x2: width - 8, y1: y(b), y2: y(b), class: "grid" }, null, svg);
    element("text", { x: left - 8, y: y(b) + 4, "text-anchor": "end" }, round(asBytes(b)), svg);
  }
  const ticks = niceTicks(0, end, Math.max(2, (width - left) / 130)), words = isTime ? timeUnit(ticks) : String;
  for (const t of ticks) label(svg, left + t / end * (width - left - 8), bottom + 14, words(t), width);
  label(svg, (left + width) / 2, height - 6, isTime ? "time in the run" : "step", width);
  for (const box of memory.boxes) {
    const rect = element("rect", {
      class: "step", x: x(box.first), y: y(box.offset + box.bytes), width: Math.max(0.5, x(box.last + 1) - x(box.first) - 0.5),
      height: Math.max(0.5, y(box.offset) - y(box.offset + box.bytes) - 0.5),
      ...(box.workspace ? { class: "step workspace" } : { fill: box.step < 0 ? "#8a94a3" : colourOf(steps[box.step]), "fill-opacity": 0.75 }),
    }, null, svg);
    withTip(rect, `${box.name}\n${asBytes(box.bytes)} at ${asBytes(box.offset)}\n` + (box.first === box.last ? `step ${box.first}` : `steps ${box.first} to ${box.last}`));
    if (box.step >= 0) rect.addEventListener("click", () => choose(box.step, true));
    const w = x(box.last + 1) - x(box.first), h = y(box.offset) - y(box.offset + box.bytes), text = shorten(`${box.name}, ${asBytes(box.bytes)}`, w - 8);
    if (h > 15 && w > 60 && text && !box.workspace) element("text", { class: "on", x: x(box.first) + 4, y: y(box.offset + box.bytes / 2) + 4 }, text, svg);
  }
  const path = live.map((b, i) => `${i ? "L" : "M"}${x(i)} ${y(b)}H${x(i + 1)}`).join("");
  element("path", { d: path, class: "total" }, null, svg);
  element("circle", { class: "peak", cx: (x(peakAt) + x(peakAt + 1)) / 2, cy: y(peak), r: 4 }, null, svg);
  label(svg, (x(peakAt) + x(peakAt + 1)) / 2, Math.max(12, y(peak) - 8), `peak ${asBytes(peak)}`, width, { class: "strong" });
  const stripes = element("pattern", { id: "stripes", width: 6, height: 6, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" }, null, svg);
  element("line", { x1: 0, x2: 0, y1: 0, y2: 6, class: "stripe" }, null, stripes);
}
