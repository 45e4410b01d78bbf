// SPDX-License-Identifier: Apache-2.0
const spans = data.spans;  // sorted by start; microseconds
const timeline = { left: 130, row: 26, top: 24, right: 8 };
const firstTime = spans.reduce((t, s) => Math.min(t, s.start), Infinity);
const lastTime = spans.reduce((t, s) => Math.max(t, s.start + s.duration), -Infinity);
const everything = spans.length ? [firstTime, Math.max(lastTime, firstTime + 1e-3)] : [0, 1];
let view = data.first_view ? [...data.first_view] : [...everything];
let chosen = -1;

// The runs that the timeline has, the median one first.
const shownRuns = [...new Set(spans.map((s) => s.run))];
const runPicker = byId("run");
for (const run of shownRuns) {
  const known = data.runs.find((r) => r.index === run);
  element("option", { value: run }, (run === data.median_run ? "median: " : "") + `run ${run}` + (known ? `, ${asTime(known.duration)}` : ""), runPicker);
}
if (data.median_run >= 0) runPicker.value = data.median_run;
runPicker.parentElement.hidden = shownRuns.length < 2;
const shownRun = () => shownRuns.includes(+runPicker.value) && runPicker.value !== "" ? +runPicker.value : shownRuns[0];
// The start of the shown run, from which times count.
const runStart = () => spans.length ? viewOfRun(shownRun())[0] : 0;
function viewOfRun(run) {
  if (!runViews.has(run)) {
    const own = spans.filter((s) => s.run === run);
    runViews.set(run, [own.reduce((t, s) => Math.min(t, s.start), Infinity), own.reduce((t, s) => Math.max(t, s.start + s.duration), -Infinity)]);
  }
  return runViews.get(run);
}
const runViews = new Map();
runPicker.addEventListener("change", () => { view = viewOfRun(+runPicker.value); drawTimeline(); drawMemory(); });
byId("whole").addEventListener("click", () => { if (spans.length) { view = viewOfRun(shownRun()); drawTimeline(); } });

let timelineAsked = 0;
function askTimeline() { if (!timelineAsked) timelineAsked = requestAnimationFrame(() => { timelineAsked = 0; drawTimeline(); }); }

function drawTimeline() {
  const height = timeline.top + timeline.row * Math.max(1, data.tracks.length) + 8, hadFocus = byId("timeline").contains(document.activeElement);
  if (byId("timeline").clientWidth < 700) timeline.left = 64;
  const { svg, width } = makeDrawing(byId("timeline"), height, { tabindex: 0, "aria-label": "Timeline of steps; arrows choose a step, plus and minus zoom" });
  const x = (t) => timeline.left + (t - view[0]) / (view[1] - view[0]) * (width - timeline.left - timeline.right);
  const origin = runStart();
  const ticks = niceTicks(view[0] - origin, view[1] - origin, Math.max(2, (width - timeline.left) / 130)), words = timeUnit(ticks);
  for (const t of ticks) {
    element("line", { x1: x(t + origin), x2: x(t + origin), y1: 18, y2: height, class: "grid" }, null, svg);
    label(svg, x(t + origin), 13, words(t), width);
  }
  data.tracks.forEach((name, i) =>
    element("text", { x: 8, y: timeline.top + i * timeline.row + 16 }, shorten(name, timeline.left - 12), svg));
  const clip = element("clipPath", { id: "plot" }, null, svg);
  element("rect", { x: timeline.left, y: 0, width: Math.max(1, width - timeline.left - timeline.right), height }, null, clip);
  const plot = element("g", { "clip-path": "url(#plot)" }, null, svg);
  // Narrow spans of one colour are one path; those that fall on a drawn pixel are left out.
  const drawnTo = new Array(data.tracks.length).fill(-Infinity), narrow = new Map();
  for (let index = firstSpan(view[0]); index < spans.length && spans[index].start <= view[1]; index++) {
    const span = spans[index];
    if (span.start + span.duration < view[0]) continue;
    const left = x(span.start), right = x(span.start + span.duration);
    if (right - drawnTo[span.track] < 1) continue;
    drawnTo[span.track] = Math.max(right, left + 1);
    const s = steps[span.step], y = timeline.top + span.track * timeline.row, fill = colourOf(s);
    if (right - left < 3 && span.step !== chosen) {
      narrow.set(fill, (narrow.get(fill) || "") + `M${left.toFixed(1)} ${y}h${Math.max(0.8, right - left - 0.2).toFixed(1)}v${timeline.row - 6}H${left.toFixed(1)}z`);
      continue;
    }
    element("rect", {
      class: span.step === chosen ? "step chosen" : "step", "data-span": index, x: left, y, rx: right - left > 6 ? 2 : 0,
      width: Math.max(0.5, right - left - (right - left > 3 ? 0.5 : 0)), height: timeline.row - 6, fill,
    }, null, plot);
    const from = Math.max(left, timeline.left), text = shorten(s.name || s.type, Math.min(right, width) - from - 10);
    if (text) element("text", { class: "on", x: from + 4, y: y + 14 }, text, plot);
  }
  for (const [fill, d] of narrow) element("path", { class: "narrow", d, fill }, null, plot);
  attachMoves(svg, width);
  if (hadFocus) svg.focus({ preventScroll: true });
}

// The first span that may reach the time: no span is longer than the longest.
const longestSpan = spans.reduce((t, s) => Math.max(t, s.duration), 0);
function firstSpan(time) {
  let low = 0, high = spans.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (spans[middle].start < time - longestSpan) low = middle + 1; else high = middle;
  }
  return low;
}

function showSpan(from, to) {
  const length = Math.min(to - from, everything[1] - everything[0]);
  const start = Math.max(everything[0], Math.min(from, everything[1] - length));
  view = [start, start + Math.max(length, 1e-3)];
  askTimeline();
}
function zoomTimeline(at, factor) { showSpan(at - (at - view[0]) * factor, at + (view[1] - at) * factor); }

function attachMoves(svg, width) {
  const scale = () => (view[1] - view[0]) / (width - timeline.left - timeline.right);
  const spanOf = (event) => {
    const i = event.target.getAttribute("data-span");
    if (i !== null) return spans[+i];
    if (!event.target.classList.contains("narrow")) return null;
    const time = view[0] + (event.offsetX - timeline.left) * scale(), track = Math.floor((event.offsetY - timeline.top) / timeline.row);
    for (let k = firstSpan(time); k < spans.length && spans[k].start <= time; k++)
      if (spans[k].track === track && spans[k].start + spans[k].duration >= time) return spans[k];
    return null;
  };
  svg.addEventListener("wheel", (event) => {
    if (!event.ctrlKey && !event.shiftKey && Math.abs(event.deltaX) <= Math.abs(event.deltaY)) return;  // the page scrolls
    event.preventDefault();
    if (event.ctrlKey) zoomTimeline(view[0] + (event.offsetX - timeline.left) * scale(), Math.exp(event.deltaY * 0.003));
    else { const move = (event.deltaX || event.deltaY) * scale(); showSpan(view[0] + move, view[1] + move); }
  }, { passive: false });
  svg.addEventListener("dblclick", (event) => zoomTimeline(view[0] + (event.offsetX - timeline.left) * scale(), event.shiftKey ? 2.5 : 0.4));
  svg.addEventListener("pointermove", (event) => {
    const span = spanOf(event);
    if (!span || event.buttons) return hideTip();
    showTip(event, describe(steps[span.step]) + `\nhere ${asTime(span.duration * 1e-6)} at ${asTime((span.start - runStart()) * 1e-6)}, run ${span.run}`);
  });
  svg.addEventListener("pointerleave", hideTip);
  svg.addEventListener("click", (event) => { const span = spanOf(event); if (span) choose(span.step, true); });
  svg.addEventListener("pointerdown", (down) => {
    const from = [...view], pixel = scale();
    const move = (event) => { if (Math.abs(event.clientX - down.clientX) > 3) showSpan(from[0] - (event.clientX - down.clientX) * pixel, from[1] - (event.clientX - down.clientX) * pixel); };
    const up = () => { removeEventListener("pointermove", move); removeEventListener("pointerup", up); };
    addEventListener("pointermove", move);
    addEventListener("pointerup", up);
  });
  svg.addEventListener("keydown", (event) => {
    const middle = (view[0] + view[1]) / 2;
    if (event.key === "ArrowRight" || event.key === "ArrowLeft") chooseNext(event.key === "ArrowRight" ? 1 : -1);
    else if (event.key === "+" || event.key === "=") zoomTimeline(middle, 0.7);
    else if (event.key === "-") zoomTimeline(middle, 1 / 0.7);
    else if (event.key === "0") byId("whole").click();
    else if (event.key === "Enter" && chosen >= 0) choose(chosen, true);
    else return;
    event.preventDefault();
  });
}
// The next span of the shown run, moved into sight.
function chooseNext(direction) {
  const run = shownRun(), own = spans.filter((s) => s.run === run);
  const at = own.findIndex((s) => s.step === chosen), next = own[at < 0 ? 0 : Math.max(0, Math.min(own.length - 1, at + direction))];
  if (!next) return;
  chosen = next.step;
  const length = view[1] - view[0];
  if (next.start < view[0] || next.start + next.duration > view[1]) showSpan(next.start - length / 3, next.start + 2 * length / 3);
  markChosen(false);
  byId("found").textContent = `${steps[chosen].name || steps[chosen].type}: ${asTime(steps[chosen].time)}`;
  askTimeline();
}
