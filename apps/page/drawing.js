// SPDX-License-Identifier: Apache-2.0
function makeDrawing(holder, height, attributes = {}) {
  holder.replaceChildren();
  const width = Math.max(300, holder.clientWidth);
  return { svg: element("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "img", ...attributes }, null, holder), width, height };
}
function niceTicks(from, to, count) {
  const rough = (to - from) / count;
  if (!(rough > 0 && Number.isFinite(rough))) return Number.isFinite(from) ? [from] : [];
  const power = 10 ** Math.floor(Math.log10(rough));
  const size = power * [1, 2, 5, 10].find((m) => m * power >= rough);
  // Far from 0, adding a small size changes nothing: the ticks are counted.
  const first = Math.ceil(from / size), last = Math.floor(to / size);
  return Array.from({ length: Math.max(0, last - first + 1) }, (_, i) => (first + i) * size);
}
// Times on an axis in one unit, without digits that all have.
function timeUnit(ticks) {
  const [size, unit] = [[1e6, " s"], [1e3, " ms"], [1, " µs"]].find(([s]) => Math.max(...ticks.map(Math.abs)) >= s) || [1, " µs"];
  return (micros) => +(micros / size).toPrecision(6) + unit;
}
const shorten = (text, pixels) => text.length * 6.2 <= pixels ? text : pixels < 26 ? "" : text.slice(0, Math.floor(pixels / 6.2) - 1) + "…";

// A label in the middle of its place, or beside it where it would leave the drawing.
function label(svg, x, y, text, width, attributes = {}) {
  const half = text.length * 3.1, anchor = x + half > width - 2 ? "end" : x - half < 2 ? "start" : "middle";
  element("text", { x: anchor === "end" ? Math.min(x, width - 2) : anchor === "start" ? Math.max(x, 2) : x, y, "text-anchor": anchor, ...attributes }, text, svg);
}
