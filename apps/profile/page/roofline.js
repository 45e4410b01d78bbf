// SPDX-License-Identifier: Apache-2.0
const mostPoints = 1500;
const rooflineSteps = steps.filter((s) => s.real_rate > 0 && s.bytes > 0);
// The lines above which no step can be: memory and caches rise with operations per byte, arithmetic is level.
const slopes = data.peak ? [{ name: "memory", rate: data.peak.bytes_per_s }, ...data.peak.caches.map((c) => ({ name: c.name, rate: c.bytes_per_s }))] : [];
const isAboveMemory = (s) => s.real_rate > Math.min(s.most_operations_per_s, s.real_operations / s.bytes * data.peak.bytes_per_s);
// Why a point is where it is, if it is above the memory's roof.
function reasonAbove(s) {
  if (!data.peak || !isAboveMemory(s)) return "";
  if (s.real_rate > s.most_operations_per_s) return "above the arithmetic's roof: it needs fewer operations than are counted";
  if (s.of_roof !== null && s.of_roof <= 1.2 && s.data_from !== "memory") return `above the memory's roof: its data came from the ${s.data_from} cache`;
  return s.data_from === "memory" && slopes.length > 1 ? "" : "above the memory's roof: its data came from caches";
}
function aboveText() {
  const above = rooflineSteps.filter(isAboveMemory), arithmetic = above.filter((s) => s.real_rate > s.most_operations_per_s).length;
  if (!above.length) return "";
  return ` ${above.length} of ${rooflineSteps.length} operators ${above.length === 1 ? "is" : "are"} above the roof of the memory: data that is still in the caches moves faster than memory`
    + (slopes.length > 1 ? " (dashed lines)" : "") + (arithmetic ? ", and some algorithms need fewer operations than are counted." : ".");
}

function drawRoofline() {
  const points = rooflineSteps, peak = data.peak;
  const tops = peak ? [...new Set([peak.operations_per_s, ...points.map((s) => s.most_operations_per_s)])] : [];
  const winograd = points.filter((s) => s.real_operations < s.operations).length;
  byId("roofline-hint").textContent = peak
    ? `A point near a line cannot get faster on this machine; far below, another algorithm may. Measured peak: ${asCount(peak.operations_per_s, "FLOP/s")}, ${asBytes(peak.bytes_per_s)}/s${peak.busy ? " (on a busy machine; it may be higher)" : ""}. Area is time.`
      + (winograd ? ` The ${winograd} steps of Winograd's algorithm are drawn at the work that it does, which is less than a direct convolution's.` : "")
      + aboveText()
    : "The peak of the machine was not measured; area is time.";
  const { svg, width, height } = makeDrawing(byId("roofline"), 380, { "aria-label": "Roofline: achieved operations per second by operations per byte" });
  if (!points.length) return;
  const intensity = (s) => s.real_operations / s.bytes;
  const log = Math.log10, range = (values) => [Math.floor(log(Math.min(...values))), Math.ceil(log(Math.max(...values)) + 1e-9)];
  const highest = Math.max(...tops), ridges = peak ? slopes.map((slope) => highest / slope.rate) : [1];
  // Every line is in sight.
  const [x0, x1] = range([...points.map(intensity), Math.min(...ridges) / 4, Math.max(...ridges) * 4]);
  const [y0, y1] = range([...points.map((s) => s.real_rate), ...tops]);
  const left = 92, bottom = height - 40;
  const x = (v) => left + (log(v) - x0) / (x1 - x0) * (width - left - 14), y = (v) => bottom - (log(v) - y0) / (y1 - y0) * (bottom - 26);
  for (let e = x0; e <= x1; e++) {
    element("line", { x1: x(10 ** e), x2: x(10 ** e), y1: 26, y2: bottom, class: "grid" }, null, svg);
    label(svg, x(10 ** e), bottom + 14, String(10 ** e >= 0.01 ? +(10 ** e).toPrecision(2) : `1e${e}`), width);
  }
  for (let e = y0; e <= y1; e++) {
    element("line", { x1: left, x2: width - 14, y1: y(10 ** e), y2: y(10 ** e), class: "grid" }, null, svg);
    element("text", { x: left - 8, y: y(10 ** e) + 4, "text-anchor": "end" }, round(asCount(10 ** e, "FLOP/s")), svg);
  }
  label(svg, (left + width) / 2, height - 6, "operations per byte moved (log)", width, { class: "strong" });
  label(svg, left, 14, "achieved operations per second (log)", width, { class: "strong" });
  // Names lie along their lines, in turn at the upper and at the lower end.
  const turn = -Math.atan2(y(1) - y(10), x(10) - x(1)) * 180 / Math.PI;
  slopes.forEach((slope, i) => {
    const isMemory = slope.name === "memory", bend = highest / slope.rate, lowest = Math.max(10 ** x0, 10 ** y0 / slope.rate);
    element("path", { class: isMemory ? "roof" : "roof cache", d: `M${x(lowest)} ${y(lowest * slope.rate)}L${x(bend)} ${y(highest)}` + (isMemory ? `H${x(10 ** x1)}` : "") }, null, svg);
    const atEnd = i % 2 === 1, at = atEnd ? [x(bend) - 10, bend] : [x(lowest) + 10, lowest];
    const height = y(at[1] * slope.rate) + (x(at[1]) - at[0]) * Math.tan(-turn * Math.PI / 180);
    element("text", { class: "name", x: at[0], y: isMemory ? height + 13 : height - 4, "text-anchor": atEnd ? "end" : "start", transform: `rotate(${turn} ${at[0]} ${height})` }, `${slope.name} ${asBytes(slope.rate)}/s`, svg);
  });
  for (const top of tops) {
    if (top < highest) element("path", { class: "roof", d: `M${x(top / peak.bytes_per_s)} ${y(top)}H${x(10 ** x1)}` }, null, svg);
    label(svg, width - 20, y(top) - 6, `arithmetic ${asCount(top, "FLOP/s")}`, width);
  }
  for (const s of [...points].sort((a, b) => b.time - a.time).slice(0, mostPoints))
    element("circle", { class: "step", "data-step": s.index, cx: x(intensity(s)).toFixed(1), cy: y(s.real_rate).toFixed(1), r: (2.5 + 16 * Math.sqrt(s.share)).toFixed(1), fill: colourOf(s), "fill-opacity": 0.75 }, null, svg);
  const stepAt = (event) => steps[event.target.getAttribute("data-step") ?? -1];
  svg.addEventListener("pointermove", (event) => {
    const s = stepAt(event);
    if (s) showTip(event, [describe(s), reasonAbove(s)].filter(Boolean).join("\n")); else hideTip();
  });
  svg.addEventListener("pointerleave", hideTip);
  svg.addEventListener("click", (event) => { const s = stepAt(event); if (s) choose(s.index, true); });
  markRoofline();
}
function markRoofline() {
  for (const dot of byId("roofline").querySelectorAll(".chosen")) dot.classList.remove("chosen");
  const dot = byId("roofline").querySelector(`[data-step="${chosen}"]`);
  if (dot) dot.classList.add("chosen");
}
