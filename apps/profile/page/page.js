"use strict";
// Everything on the page is made with textContent and attributes: names come from models of strangers.
window.addEventListener("error", (e) => document.documentElement.setAttribute("data-error", String(e.message)));

const data = JSON.parse(document.getElementById("data").textContent);
const steps = data.steps;
const byId = (id) => document.getElementById(id);

function element(tag, attributes = {}, text = null, parent = null) {
  const svg = ["svg", "g", "rect", "line", "path", "text", "circle", "clipPath", "pattern", "title"].includes(tag);
  const e = svg ? document.createElementNS("http://www.w3.org/2000/svg", tag) : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) e.setAttribute(name, value);
  if (text !== null) e.textContent = text;
  if (parent) parent.appendChild(e);
  return e;
}

// --- numbers ---------------------------------------------------------------------------------------------
function scaled(value, base, units) {
  let unit = 0;
  while (value >= base && unit + 1 < units.length) { value /= base; unit++; }
  return (value >= 100 || (unit === 0 && Number.isInteger(value)) ? value.toFixed(0) : value.toPrecision(3)) + " " + units[unit];
}
const none = "–";
const asTime = (s) => s === null ? none : s < 1e-3 ? (s * 1e6).toFixed(2) + " µs" : s < 1 ? (s * 1e3).toFixed(3) + " ms" : s.toFixed(3) + " s";
// On an axis: no more digits than the number has.
const round = (text) => text.replace(/(\.\d*?)0+(?= )/, "$1").replace(/\.(?= )/, "");
const asBytes = (b) => b === null ? none : scaled(b, 1024, ["B", "KiB", "MiB", "GiB", "TiB"]);
const asCount = (n, unit) => n === null ? none : scaled(n, 1000, ["", "k", "M", "G", "T", "P"].map((p) => p + unit));
const asShare = (x) => x === null ? none : (100 * x).toFixed(1) + " %";

const total = steps.reduce((sum, s) => sum + s.time, 0);
for (const s of steps) {
  s.share = total > 0 ? s.time / total : 0;
  s.rate = s.operations !== null && s.time > 0 ? s.operations / s.time : null;
  s.bandwidth = s.bytes !== null && s.time > 0 ? s.bytes / s.time : null;
  // The roof above an operator is the lower of what the arithmetic and what the memory allow.
  const roof = data.peak && s.operations && s.bytes
    ? Math.min(s.most_operations_per_s, s.operations / s.bytes * data.peak.bytes_per_s) : null;
  s.of_roof = roof && s.rate !== null ? s.rate / roof : null;
}

// --- colours: one per type, the costly types first ---------------------------------------------------------
const types = new Map();
for (const s of steps) {
  const t = types.get(s.type) || { type: s.type, count: 0, time: 0, operations: 0, bytes: 0 };
  t.count++; t.time += s.time; t.operations += s.operations || 0; t.bytes += s.bytes || 0;
  types.set(s.type, t);
}
const sortedTypes = [...types.values()].sort((a, b) => b.time - a.time);
const palette = ["#2f6fdf", "#d1495b", "#2a9d62", "#b0721e", "#7a52c7", "#178f9c", "#c2459b", "#7d8a1f", "#4f6d8c", "#a0522d"];
sortedTypes.forEach((t, i) => { t.colour = palette[i % palette.length]; });
const colour = (type) => types.get(type).colour;

// --- tips ------------------------------------------------------------------------------------------------
const tip = byId("tip");
function showTip(event, text) {
  tip.textContent = text;
  tip.hidden = false;
  const w = tip.offsetWidth, h = tip.offsetHeight;
  tip.style.left = Math.max(4, Math.min(event.clientX + 14, innerWidth - w - 4)) + "px";
  tip.style.top = Math.max(4, Math.min(event.clientY + 14, innerHeight - h - 4)) + "px";
}
function withTip(e, text) {
  e.addEventListener("pointermove", (event) => showTip(event, typeof text === "function" ? text() : text));
  e.addEventListener("pointerleave", () => { tip.hidden = true; });
}
function describe(s) {
  const lines = [s.name || s.type, `${s.type} · ${s.algorithm || "no algorithm named"}`, asTime(s.time) + ", " + asShare(s.share)];
  if (s.operations !== null) lines.push(asCount(s.operations, "FLOP") + ", " + asCount(s.rate, "FLOP/s"));
  if (s.bytes !== null) lines.push(asBytes(s.bytes) + ", " + asBytes(s.bandwidth) + "/s");
  if (s.of_roof !== null) lines.push(asShare(s.of_roof) + " of what the machine allows");
  if (s.inputs || s.outputs) lines.push(`${s.inputs} → ${s.outputs}`);
  if (s.sources.length) lines.push("computes " + s.sources.join(", "));
  return lines.join("\n");
}

// --- drawing ---------------------------------------------------------------------------------------------
function canvas(holder, height) {
  holder.replaceChildren();
  const width = Math.max(320, holder.clientWidth);
  return { svg: element("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "img" }, null, holder), width, height };
}
function niceTicks(from, to, count) {
  const rough = (to - from) / count;
  if (!(rough > 0)) return [from];
  const power = 10 ** Math.floor(Math.log10(rough));
  const size = power * [1, 2, 5, 10].find((m) => m * power >= rough);
  const ticks = [];
  for (let t = Math.ceil(from / size) * size; t <= to; t += size) ticks.push(t);
  return ticks;
}
const shorten = (text, pixels) => text.length * 6.2 <= pixels ? text : pixels < 26 ? "" : text.slice(0, Math.floor(pixels / 6.2) - 1) + "…";

// A label in the middle of its place, or beside it where it would leave the drawing.
function label(svg, x, y, text, width) {
  const half = text.length * 3.1, anchor = x + half > width - 2 ? "end" : x - half < 2 ? "start" : "middle";
  element("text", { x: anchor === "end" ? Math.min(x, width - 2) : anchor === "start" ? Math.max(x, 2) : x, y, "text-anchor": anchor }, text, svg);
}

// --- timeline --------------------------------------------------------------------------------------------
const spans = data.spans;  // sorted by start; microseconds
const timeline = { left: 130, row: 26, top: 24 };
const firstTime = spans.reduce((t, s) => Math.min(t, s.start), Infinity);
const lastTime = spans.reduce((t, s) => Math.max(t, s.start + s.duration), -Infinity);
const everything = spans.length ? [firstTime, Math.max(lastTime, firstTime + 1e-3)] : [0, 1];
let view = data.first_view ? [...data.first_view] : [...everything];

function drawTimeline() {
  const height = timeline.top + timeline.row * Math.max(1, data.tracks.length) + 8;
  const { svg, width } = canvas(byId("timeline"), height);
  const x = (t) => timeline.left + (t - view[0]) / (view[1] - view[0]) * (width - timeline.left - 8);
  const micros = (t) => asTime(t * 1e-6);
  const origin = everything[0];
  const timeTicks = niceTicks(view[0] - origin, view[1] - origin, Math.max(2, width / 130));
  const [size, unit] = [[1e6, " s"], [1e3, " ms"], [1, " µs"]].find(([s]) => Math.max(...timeTicks) >= s) || [1, " µs"];
  for (const t of timeTicks) {
    element("line", { x1: x(t + origin), x2: x(t + origin), y1: 18, y2: height, class: "grid" }, null, svg);
    label(svg, x(t + origin), 13, +(t / size).toPrecision(6) + unit, width);
  }
  data.tracks.forEach((name, i) =>
    element("text", { x: 8, y: timeline.top + i * timeline.row + 16 }, shorten(name, timeline.left - 12), svg));
  const clip = element("clipPath", { id: "plot" }, null, svg);
  element("rect", { x: timeline.left, y: 0, width: Math.max(1, width - timeline.left - 8), height }, null, clip);
  const plot = element("g", { "clip-path": "url(#plot)" }, null, svg);
  // What is narrower than half a pixel is drawn together with its neighbours.
  const drawnTo = new Array(data.tracks.length).fill(-Infinity);
  for (const span of spans) {
    if (span.start + span.duration < view[0] || span.start > view[1]) continue;
    const left = x(span.start), right = x(span.start + span.duration);
    if (right - drawnTo[span.track] < 0.5) continue;
    drawnTo[span.track] = Math.max(right, left + 0.5);
    const s = steps[span.step];
    const box = element("rect", {
      class: "step", x: left, y: timeline.top + span.track * timeline.row, rx: right - left > 6 ? 2 : 0,
      width: Math.max(0.5, right - left - (right - left > 3 ? 0.5 : 0)), height: timeline.row - 6, fill: colour(s.type),
    }, null, plot);
    withTip(box, () => describe(s) + `\nhere ${micros(span.duration)} at ${micros(span.start - everything[0])}, run ${span.run}`);
    box.addEventListener("click", () => choose(span.step));
    const from = Math.max(left, timeline.left), words = shorten(s.name || s.type, Math.min(right, width) - from - 10);
    if (words) element("text", { class: "on", x: from + 4, y: timeline.top + span.track * timeline.row + 14 }, words, plot);
  }
  attachZoom(svg, width);
}
function attachZoom(svg, width) {
  const scale = () => (view[1] - view[0]) / (width - timeline.left - 8);
  const show = (from, to) => {
    const length = Math.min(to - from, everything[1] - everything[0]);
    const start = Math.max(everything[0], Math.min(from, everything[1] - length));
    view = [start, start + Math.max(length, 1e-3)];
    drawTimeline();
  };
  svg.addEventListener("wheel", (event) => {
    event.preventDefault();
    const at = view[0] + (event.offsetX - timeline.left) * scale(), factor = Math.exp(event.deltaY * 0.0015);
    show(at - (at - view[0]) * factor, at + (view[1] - at) * factor);
  }, { passive: false });
  svg.addEventListener("dblclick", () => show(...everything));
  svg.addEventListener("pointerdown", (down) => {
    const from = [...view], pixel = scale();
    const move = (event) => { if (Math.abs(event.clientX - down.clientX) > 3) show(from[0] - (event.clientX - down.clientX) * pixel, from[1] - (event.clientX - down.clientX) * pixel); };
    const up = () => { removeEventListener("pointermove", move); removeEventListener("pointerup", up); };
    addEventListener("pointermove", move);
    addEventListener("pointerup", up);
  });
}
function drawLegend() {
  for (const t of sortedTypes.slice(0, 24)) {
    const item = element("li", {}, null, byId("legend"));
    element("span", { style: `background:${t.colour}` }, "", item);
    item.append(`${t.type} ${asShare(total > 0 ? t.time / total : 0)}`);
  }
}

// --- memory: each value a box from its first to its last step at its place in the arena ----------------------
function drawMemory() {
  const memory = data.memory, live = memory.live, n = live.length;
  byId("memory-hint").textContent = n
    ? `Largest: ${asBytes(Math.max(...live))} live at once` + (memory.plan ? `, in an arena of ${asBytes(memory.plan)}. ` : ". ")
      + (memory.boxes.length ? "Boxes lie at their place in the arena: values in the colour of the operator that makes them, "
        + "workspaces of kernels hatched grey. The line is the sum of what is live." : "")
    : "This profile does not say when values live.";
  const { svg, width, height } = canvas(byId("memory"), 260);
  if (!n) return;
  const largest = Math.max(memory.plan || 0, ...live, ...memory.boxes.map((b) => b.offset + b.bytes), 1);
  const left = 74, bottom = height - 24;
  const x = (i) => left + i / n * (width - left - 8), y = (b) => bottom - b / largest * (bottom - 10);
  const unit = 1024 ** Math.floor(Math.log(largest) / Math.log(1024));
  for (const b of niceTicks(0, largest / unit, 5).map((t) => t * unit)) {
    element("line", { x1: left, x2: width - 8, y1: y(b), y2: y(b), class: "grid" }, null, svg);
    element("text", { x: left - 8, y: y(b) + 4, "text-anchor": "end" }, round(asBytes(b)), svg);
  }
  for (const i of niceTicks(0, n - 1, Math.min(n, 12)).filter(Number.isInteger)) label(svg, (x(i) + x(i + 1)) / 2, height - 8, String(i), width);
  label(svg, 30, height - 8, "step", width);
  for (const box of memory.boxes) {
    const rect = element("rect", {
      class: "step", x: x(box.first), y: y(box.offset + box.bytes), width: Math.max(0.5, x(box.last + 1) - x(box.first) - 0.5),
      height: Math.max(0.5, y(box.offset) - y(box.offset + box.bytes) - 0.5),
      ...(box.workspace ? { class: "step workspace" } : { fill: box.step < 0 ? "#8a94a3" : colour(steps[box.step].type), "fill-opacity": 0.55 }),
    }, null, svg);
    withTip(rect, `${box.name}\n${asBytes(box.bytes)} at ${box.offset}\n` + (box.first === box.last ? `step ${box.first}` : `steps ${box.first} to ${box.last}`));
    if (box.step >= 0) rect.addEventListener("click", () => choose(box.step));
  }
  const path = live.map((b, i) => `${i ? "L" : "M"}${x(i)} ${y(b)}H${x(i + 1)}`).join("");
  element("path", { d: path, class: "total" }, null, svg);
  const stripes = element("pattern", { id: "stripes", width: 6, height: 6, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" }, null, svg);
  element("line", { x1: 0, x2: 0, y1: 0, y2: 6, class: "stripe" }, null, stripes);
}

// --- roofline --------------------------------------------------------------------------------------------
function drawRoofline() {
  const points = steps.filter((s) => s.rate > 0 && s.bytes > 0);
  const peak = data.peak;
  const above = points.filter((s) => s.of_roof > 1).length;
  byId("roofline-hint").textContent = peak
    ? `Measured peak: ${asCount(peak.operations_per_s, "FLOP/s")}, ${asBytes(peak.bytes_per_s)}/s${peak.busy ? " (on a busy machine; it may be higher)" : ""}. Area is time.`
      + (above ? ` ${above} of ${points.length} operators ${above === 1 ? "lies" : "lie"} above the roof: data that is still in the caches moves faster than memory, and some algorithms (Winograd's) need fewer operations than are counted.` : "")
    : "The peak of the machine was not measured; area is time.";
  const { svg, width, height } = canvas(byId("roofline"), 340);
  if (!points.length) return;
  const intensity = (s) => s.operations / s.bytes;
  const log = Math.log10, range = (values) => [Math.floor(log(Math.min(...values))), Math.ceil(log(Math.max(...values)) + 1e-9)];
  // One roof for each arithmetic that operators do.
  const tops = peak ? [...new Set([peak.operations_per_s, ...points.map((s) => s.most_operations_per_s)])] : [];
  const ridge = peak ? Math.max(...tops) / peak.bytes_per_s : 1;
  const [x0, x1] = range([...points.map(intensity), ridge / 4, ridge * 4]);
  const [y0, y1] = range([...points.map((s) => s.rate), ...tops]);
  const left = 92, bottom = height - 34;
  const x = (v) => left + (log(v) - x0) / (x1 - x0) * (width - left - 14), y = (v) => bottom - (log(v) - y0) / (y1 - y0) * (bottom - 12);
  for (let e = x0; e <= x1; e++) {
    element("line", { x1: x(10 ** e), x2: x(10 ** e), y1: 12, y2: bottom, class: "grid" }, null, svg);
    label(svg, x(10 ** e), bottom + 14, String(10 ** e >= 0.01 ? +(10 ** e).toPrecision(2) : `1e${e}`), width);
  }
  for (let e = y0; e <= y1; e++) {
    element("line", { x1: left, x2: width - 14, y1: y(10 ** e), y2: y(10 ** e), class: "grid" }, null, svg);
    element("text", { x: left - 8, y: y(10 ** e) + 4, "text-anchor": "end" }, round(asCount(10 ** e, "FLOP/s")), svg);
  }
  label(svg, (left + width) / 2, height - 6, "operations per byte", width);
  for (const top of tops) {
    const start = 10 ** x0;
    const lowest = Math.max(start, 10 ** y0 / peak.bytes_per_s);
    const bend = Math.max(lowest, top / peak.bytes_per_s);
    element("path", { class: "roof", d: `M${x(lowest)} ${y(Math.min(top, lowest * peak.bytes_per_s))}L${x(bend)} ${y(top)}H${x(10 ** x1)}` }, null, svg);
  }
  for (const s of [...points].sort((a, b) => b.time - a.time).slice(0, 3000)) {
    const dot = element("circle", { class: "step", cx: x(intensity(s)), cy: y(s.rate), r: 2.5 + 16 * Math.sqrt(s.share), fill: colour(s.type), "fill-opacity": 0.65 }, null, svg);
    withTip(dot, () => describe(s));
    dot.addEventListener("click", () => choose(s.index));
  }
}

// --- tables ----------------------------------------------------------------------------------------------
function table(holder, columns, rows, onRow) {
  let order = columns.findIndex((c) => c.first), descending = true;
  const head = element("tr", {}, null, element("thead", {}, null, holder)), body = element("tbody", {}, null, holder);
  let shown = rows;
  const fill = () => {
    const column = columns[order], sorted = [...shown].sort((a, b) => {
      const p = column.value(a), q = column.value(b);
      if (p === null || q === null) return (p === null) - (q === null);
      return (p < q ? -1 : p > q ? 1 : 0) * (descending ? -1 : 1);
    });
    // A browser takes a few thousand rows well; more can be found by searching.
    body.replaceChildren(...sorted.slice(0, 2000).map((row) => {
      const line = element("tr");
      for (const c of columns) {
        const cell = element("td", { class: (c.number ? "number " : "") + (c.long ? "long" : "") }, null, line);
        if (c.bar) element("span", { class: "bar", style: `width:${Math.max(0, 60 * c.value(row))}px` }, "", cell);
        cell.append(c.bar ? " " + c.text(row) : c.text(row));
        if (c.long) cell.title = c.text(row);
      }
      if (onRow) onRow(line, row);
      return line;
    }));
    [...head.children].forEach((th, i) => th.setAttribute("aria-sort", i !== order ? "none" : descending ? "descending" : "ascending"));
  };
  columns.forEach((c, i) => {
    const th = element("th", { class: c.number ? "number" : "", scope: "col" }, null, head);
    element("button", { type: "button" }, c.title, th).addEventListener("click", () => {
      descending = order === i ? !descending : c.number; order = i; fill();
    });
  });
  fill();
  return (filtered) => { shown = filtered; fill(); };
}
const plain = (title, get, extra = {}) => ({ title, value: get, text: (r) => String(get(r)), ...extra });
const amount = (title, get, format, extra = {}) => ({ title, value: get, text: (r) => format(get(r)), number: true, ...extra });
const rate = (t, n) => t > 0 && n > 0 ? n / t : null;

table(byId("types"), [
  plain("type", (t) => t.type),
  amount("count", (t) => t.count, String),
  amount("time", (t) => t.time, asTime, { first: true }),
  { title: "share", value: (t) => total > 0 ? t.time / total : 0, text: (t) => asShare(total > 0 ? t.time / total : 0), bar: true },
  amount("FLOP/s", (t) => rate(t.time, t.operations), (v) => asCount(v, "FLOP/s")),
  amount("bandwidth", (t) => rate(t.time, t.bytes), (v) => v === null ? none : asBytes(v) + "/s"),
], sortedTypes);

const lines = new Map();
// What is looked at first stands where no scrolling is needed; long words come last.
const stepColumns = [
  amount("#", (s) => s.index, String),
  plain("name", (s) => s.name, { long: true }),
  plain("type", (s) => s.type),
  amount("time", (s) => s.time, asTime, { first: true }),
  { title: "share", value: (s) => s.share, text: (s) => asShare(s.share), bar: true },
  amount("FLOP/s", (s) => s.rate, (v) => asCount(v, "FLOP/s")),
  amount("bandwidth", (s) => s.bandwidth, (v) => v === null ? none : asBytes(v) + "/s"),
  amount("of the roof", (s) => s.of_roof, asShare),
  plain("algorithm", (s) => s.algorithm, { long: true }),
  amount("work", (s) => s.operations, (v) => asCount(v, "FLOP")),
  amount("moved", (s) => s.bytes, asBytes),
  plain("layout", (s) => s.layout),
  plain("inputs", (s) => s.inputs, { long: true }),
  plain("outputs", (s) => s.outputs, { long: true }),
  plain("computes", (s) => s.sources.join(", "), { long: true }),
];
// A column in which nothing stands is left out.
const filled = stepColumns.filter((c) => steps.some((s) => c.value(s) !== null && c.value(s) !== ""));
const showSteps = table(byId("steps"), filled, steps, (line, s) => { lines.set(s.index, line); });

const haystack = steps.map((s) => [s.name, s.type, s.algorithm, s.layout, s.inputs, s.outputs, ...s.sources].join("\n").toLowerCase());
function search() {
  const words = byId("search").value.toLowerCase().split(/\s+/).filter(Boolean);
  const found = steps.filter((s, i) => words.every((w) => haystack[i].includes(w)));
  lines.clear();
  showSteps(found);
  byId("found").textContent = `${found.length} of ${steps.length}`;
}
function choose(index) {
  if (!lines.has(index)) { byId("search").value = ""; search(); }
  for (const line of lines.values()) line.classList.remove("chosen");
  const line = lines.get(index);
  if (!line) return;
  line.classList.add("chosen");
  line.scrollIntoView({ block: "center", behavior: "smooth" });
}

// --- the page --------------------------------------------------------------------------------------------
const file = (data.model || "Profile").split("/").pop() || data.model;
byId("title").textContent = file;
document.title = file + " – mge-profile";
byId("subtitle").textContent = data.subtitle;
if (data.model && data.model !== file) element("p", { class: "hint" }, data.model, byId("subtitle").parentElement).after(byId("summary"));
for (const [name, value] of [
  ["operators", String(steps.length)],
  ["time of a run", asTime(total)],
  ["work", asCount(steps.reduce((n, s) => n + (s.operations || 0), 0), "FLOP")],
  ["achieved", asCount(rate(total, steps.reduce((n, s) => n + (s.operations || 0), 0)), "FLOP/s")],
  ["moved", asBytes(steps.reduce((n, s) => n + (s.bytes || 0), 0))],
  ["runs", String(data.runs_total)],
  ...(data.memory.weights === null ? [] : [["weights", asBytes(data.memory.weights + data.memory.packed_weights)]]),
  ...(data.notes.map((note) => ["note", note])),
]) {
  const card = element("div", {}, null, byId("summary"));
  element("dt", {}, name, card);
  element("dd", {}, value, card);
}
byId("search").addEventListener("input", search);
function drawAll() { drawTimeline(); drawMemory(); drawRoofline(); }
drawLegend();
search();
drawAll();
let resizing = 0;
addEventListener("resize", () => { clearTimeout(resizing); resizing = setTimeout(drawAll, 100); });
document.documentElement.setAttribute("data-ready", "true");
