// SPDX-License-Identifier: Apache-2.0
const mostPoints = 1500;
const rooflineSteps = steps.filter((s) => s.real_rate > 0 && s.bytes > 0);
// The lines above which no step can be: memory and caches rise with operations per byte, arithmetic is level.
function slopes() {
  if (!data.peak) return [];
  return [{ name: "memory", rate: data.peak.bytes_per_s }, ...(data.peak.caches || []).map((c) => ({ name: c.name, rate: c.bytes_per_s }))];
}
// Above the memory's roof: why.
function reasonAbove(s, tops) {
  const intensity = s.real_operations / s.bytes;
  if (s.real_rate <= Math.min(s.most_operations_per_s, intensity * data.peak.bytes_per_s)) return null;
  return s.real_rate > Math.max(...tops) ? "arithmetic" : "caches";
}

function drawRoofline() {
  const points = rooflineSteps, peak = data.peak;
  const tops = peak ? [...new Set([peak.operations_per_s, ...points.map((s) => s.most_operations_per_s)])] : [];
  const reasons = peak ? points.map((s) => reasonAbove(s, tops)).filter(Boolean) : [];
  const winograd = points.filter((s) => s.real_operations < s.operations).length;
  byId("roofline-hint").textContent = peak
    ? `A point near a line cannot get faster on this machine; far below, another algorithm may. Measured peak: ${asCount(peak.operations_per_s, "FLOP/s")}, ${asBytes(peak.bytes_per_s)}/s${peak.busy ? " (on a busy machine; it may be higher)" : ""}. Area is time.`
      + (winograd ? ` The ${winograd} steps of Winograd's algorithm are drawn at the work that it does, which is less than a direct convolution's.` : "")
      + (reasons.length ? ` ${reasons.length} of ${points.length} operators ${reasons.length === 1 ? "is" : "are"} above the roof of the memory: data that is still in the caches moves faster than memory` + (reasons.includes("arithmetic") ? ", and some algorithms need fewer operations than are counted." : ".") : "")
    : "The peak of the machine was not measured; area is time.";
  const { svg, width, height } = makeDrawing(byId("roofline"), 380, { "aria-label": "Roofline: achieved operations per second by operations per byte" });
  if (!points.length) return;
  const intensity = (s) => s.real_operations / s.bytes;
  const log = Math.log10, range = (values) => [Math.floor(log(Math.min(...values))), Math.ceil(log(Math.max(...values)) + 1e-9)];
  const ridge = peak ? Math.max(...tops) / peak.bytes_per_s : 1;
  const [x0, x1] = range([...points.map(intensity), ridge / 4, ridge * 4]);
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
  const highest = Math.max(...tops);
  for (const slope of slopes()) {
    const lowest = Math.max(10 ** x0, 10 ** y0 / slope.rate), bend = Math.max(lowest, highest / slope.rate);
    element("path", { class: slope.name === "memory" ? "roof" : "roof cache", d: `M${x(lowest)} ${y(Math.min(highest, lowest * slope.rate))}L${x(bend)} ${y(highest)}` + (slope.name === "memory" ? `H${x(10 ** x1)}` : "") }, null, svg);
    const at = Math.max(lowest, Math.min(bend, 10 ** (x0 + 0.35 * (x1 - x0)) * (peak.bytes_per_s / slope.rate)));
    element("text", { x: x(at) + 8, y: y(at * slope.rate) + 16 }, `${slope.name} ${asBytes(slope.rate)}/s`, svg);
  }
  for (const top of tops) {
    if (top < highest) element("path", { class: "roof", d: `M${x(top / peak.bytes_per_s)} ${y(top)}H${x(10 ** x1)}` }, null, svg);
    label(svg, width - 20, y(top) - 6, `arithmetic ${asCount(top, "FLOP/s")}`, width);
  }
  for (const s of [...points].sort((a, b) => b.time - a.time).slice(0, mostPoints)) {
    const dot = element("circle", { class: s.index === chosen ? "step chosen" : "step", cx: x(intensity(s)), cy: y(s.real_rate), r: 2.5 + 16 * Math.sqrt(s.share), fill: colourOf(s), "fill-opacity": 0.75 }, null, svg);
    withTip(dot, () => describe(s) + (peak && reasonAbove(s, tops) ? "\nabove the memory's roof: its data came from caches" : ""));
    dot.addEventListener("click", () => choose(s.index, true));
  }
}
