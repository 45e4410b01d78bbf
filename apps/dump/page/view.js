// SPDX-License-Identifier: Apache-2.0
// What is on the canvas: the opened fold, its level, zoom, selection and colours.
const view = { fold: 0, level: 0, x: 0, y: 0, k: 1, scene: null, selected: null, mode: "type", hottestFold: 0 };
const comfortable = { least: 8, most: 120 };  // number of boxes that a first view should have

const zoom = d3.behavior.zoom().scaleExtent([0.002, 6]).on("zoom", () => {
  [view.x, view.y] = zoom.translate();
  view.k = zoom.scale();
  draw();
});
d3.select(canvas).call(zoom).on("dblclick.zoom", null);

function setView(x, y, k) {
  zoom.translate([x, y]).scale(k);
  Object.assign(view, { x, y, k });
  draw();
}

// The lowest level with enough boxes to see something.
function firstLevel(fold) {
  const f = folds[fold];
  let level = 0;
  while (level < f.height) {
    const now = boxCount(fold, level), next = boxCount(fold, level + 1);
    if (now >= comfortable.least || next > comfortable.most) break;
    level++;
  }
  return level;
}
function boxCount(fold, level) {
  const f = folds[fold], layout = f.layouts[Math.min(level, f.height)];
  return layout.boxes.reduce((sum, [type, index]) => sum + (type === Port ? 0 : type === Folded && level > 0 ? boxCount(index, level - 1) : 1), 0);
}

function show(fold, level = firstLevel(fold), select = null) {
  view.fold = fold;
  view.level = Math.max(0, Math.min(level, folds[fold].height));
  view.scene = makeScene(fold, view.level);
  view.hottestFold = view.scene.closed.reduce((m, b) => b.type === Folded ? Math.max(m, folds[b.index].time || 0) : m, 0);
  view.selected = select;
  byId("folding").hidden = folds[fold].height === 0;
  byId("level").textContent = `level ${view.level} of ${folds[fold].height}`;
  byId("less").disabled = view.level === 0;
  byId("more").disabled = view.level >= folds[fold].height;
  drawPath();
  fit();
  showPanel();
}
function drawPath() {
  byId("path").replaceChildren(...pathOf(view.fold).map((f, i, all) => {
    const b = element("button", { type: "button" }, (i ? "› " : "") + foldName(folds[f]));
    if (i === all.length - 1) b.setAttribute("aria-current", "true");
    b.addEventListener("click", () => { const from = view.fold; show(f); if (from !== f) reveal(Folded, all[i + 1]); });
    return b;
  }));
}

// Everything in sight; a graph that is too long for readable letters begins at its top.
function fit(all = false) {
  const w = canvas.clientWidth, s = view.scene, readable = 0.62;
  const top = byId("path").offsetHeight + 16, free = canvas.clientHeight - top - byId("legend").offsetHeight - 16;
  const whole = Math.min((w - 24) / s.width, free / s.height, 1.25);
  const k = all || whole >= readable ? whole : Math.min(Math.max(whole, readable), Math.max(whole, (w - 24) / s.width), 1.25);
  setView((w - s.width * k) / 2, top + Math.max(0, (free - s.height * k) / 2), k);
}

function centre(b) {
  const k = Math.max(view.k, 0.75), w = canvas.clientWidth, h = canvas.clientHeight;
  setView(w / 2 - (b.x + b.w / 2) * k, h / 2 - (b.y + b.h / 2) * k, k);
}
function select(b, move = false) {
  view.selected = b;
  if (move && b) centre(b);
  else draw();
  showPanel();
  if (b) byId("say").textContent = sayBox(b);
}
function sayBox(b) {
  if (b.type === Port) return `${b.port.label}, outside of this part`;
  return (b.type === Folded ? folds[b.index] : nodes[b.index]).lines.join(", ");
}
// Selects an operator or a fold, and opens its fold where it is not in the scene.
function reveal(type, index) {
  let b = view.scene.boxes.find((box) => box.type === type && box.index === index);
  if (!b) {
    const home = type === Operator ? nodes[index].fold : folds[index].parent;
    show(home, 0);
    b = view.scene.boxes.find((box) => box.type === type && box.index === index);
  }
  select(b, true);
}
function openFold(index) {
  show(index);
  canvas.focus({ preventScroll: true });
}
function goUp() {
  const parent = folds[view.fold].parent, from = view.fold;
  if (parent < 0) return;
  show(parent);
  const b = boxOf(view.scene, Folded, from);
  if (b) select(b, true);
}

// --- pointer ---------------------------------------------------------------------------------------------
function worldOf(event) {
  const box = canvas.getBoundingClientRect();
  return [(event.clientX - box.left - view.x) / view.k, (event.clientY - box.top - view.y) / view.k];
}
canvas.addEventListener("click", (event) => {
  if (event.defaultPrevented) return;  // the end of a drag
  hideTip();
  const b = boxAt(view.scene, ...worldOf(event));
  if (b && b.type === Port) { if (b.port.node >= 0) reveal(Operator, b.port.node); return; }
  select(b);
});
canvas.addEventListener("dblclick", (event) => {
  const b = boxAt(view.scene, ...worldOf(event));
  if (b && b.type === Folded) openFold(b.index);
});
canvas.addEventListener("pointermove", (event) => {
  if (event.buttons) return hideTip();
  const b = boxAt(view.scene, ...worldOf(event));
  canvas.style.cursor = b ? "pointer" : "grab";
  if (b) showTip(event, describeBox(b)); else hideTip();
});
canvas.addEventListener("pointerleave", hideTip);
function describeBox(b) {
  if (b.type === Port) return b.port.node >= 0 ? `${b.port.label}\noutside of this part: click to go there` : b.port.label;
  if (b.type === Folded) return `${folds[b.index].name}\n${folds[b.index].types.join(", ")}\ndouble-click to open`;
  const n = nodes[b.index], s = stepOf(n), lines = [n.name];
  if (n.params) lines.push(n.params);
  if (s) lines.push(`${asTime(s.time)}, ${asShare(s.share)}` + (s.nodes.length > 1 ? ` for ${s.nodes.length} fused operators` : ""), `bound by ${s.bound}`);
  return lines.join("\n");
}
