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
  // If there are very many boxes, those that are hardly a pixel wide become one path for each colour.
  const mergesBelow = memory.boxes.length > 2000 ? 1.5 : 0, merged = new Map(), pixels = new Set();
  const nameOf = (box) => `${box.name}, ${asBytes(box.bytes)}`;
  for (const box of memory.boxes) {
    const at = x(box.first), w = x(box.last + 1) - at, upper = y(box.offset + box.bytes), h = y(box.offset) - upper;
    const fill = box.workspace ? "workspace" : box.step < 0 ? "#8a94a3" : colourOf(steps[box.step]);
    if (w < mergesBelow) {
      const pixel = `${Math.floor(at)} ${Math.floor(upper)} ${Math.floor(h)}`;
      if (!pixels.has(pixel)) merged.set(fill, (merged.get(fill) || "") + `M${at.toFixed(1)} ${upper.toFixed(1)}h1v${Math.max(0.5, h - 0.5).toFixed(1)}h-1z`);
      pixels.add(pixel);
      continue;
    }
    element("rect", { x: at.toFixed(2), y: upper.toFixed(2), width: Math.max(0.5, w - 0.5).toFixed(2), height: Math.max(0.5, h - 0.5).toFixed(2), ...(box.workspace ? { class: "step workspace" } : { class: "step", fill, "fill-opacity": 0.75 }) }, null, svg);
    if (h > 15 && w > 60 && !box.workspace && shorten(nameOf(box), w - 8)) element("text", { class: "on", x: at + 4, y: upper + h / 2 + 4 }, shorten(nameOf(box), w - 8), svg);
  }
  for (const [fill, d] of merged) element("path", { class: fill === "workspace" ? "step workspace" : "step", d, ...(fill === "workspace" ? {} : { fill, "fill-opacity": 0.75 }) }, null, svg);
  const boxAt = (event) => {
    if (!event.target.classList.contains("step")) return null;
    const near = (box) => event.offsetX >= x(box.first) - 1 && event.offsetX <= Math.max(x(box.last + 1), x(box.first) + 1) && event.offsetY >= y(box.offset + box.bytes) - 1 && event.offsetY <= y(box.offset) + 1;
    return memory.boxes.findLast(near);
  };
  svg.addEventListener("pointermove", (event) => {
    const box = boxAt(event);
    if (box) showTip(event, `${box.name}\n${asBytes(box.bytes)} at ${asBytes(box.offset)}\n` + (box.first === box.last ? `step ${box.first}` : `steps ${box.first} to ${box.last}`));
    else hideTip();
  });
  svg.addEventListener("pointerleave", hideTip);
  svg.addEventListener("click", (event) => { const box = boxAt(event); if (box && box.step >= 0) choose(box.step, true); });
  const path = live.map((b, i) => `${i ? "L" : "M"}${x(i)} ${y(b)}H${x(i + 1)}`).join("");
  element("path", { d: path, class: "total" }, null, svg);
  element("circle", { class: "peak", cx: (x(peakAt) + x(peakAt + 1)) / 2, cy: y(peak), r: 4 }, null, svg);
  label(svg, (x(peakAt) + x(peakAt + 1)) / 2, Math.max(12, y(peak) - 8), `peak ${asBytes(peak)}`, width, { class: "strong" });
  const stripes = element("pattern", { id: "stripes", width: 6, height: 6, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" }, null, svg);
  element("line", { x1: 0, x2: 0, y1: 0, y2: 6, class: "stripe" }, null, stripes);
}
