// SPDX-License-Identifier: Apache-2.0
// Draws the scene on the canvas: only what is in sight, and less detail where it would be too small to see.
const canvas = byId("canvas"), context = canvas.getContext("2d");
const smallestText = 5.5, smallestCurve = 0.25;  // pixels of a letter; zoom
const smallestBox = 1.5, smallestEdge = 3;  // pixels: below it, only the fold around is drawn

function resizeCanvas() {
  const ratio = devicePixelRatio || 1;
  canvas.width = Math.round(canvas.clientWidth * ratio);
  canvas.height = Math.round(canvas.clientHeight * ratio);
}

let asked = 0;
function draw() { if (!asked) asked = requestAnimationFrame(() => { asked = 0; drawNow(); }); }

function drawNow() {
  const scene = view.scene, ratio = devicePixelRatio || 1, { x: tx, y: ty, k } = view, t = theme();
  context.setTransform(1, 0, 0, 1, 0, 0);
  context.clearRect(0, 0, canvas.width, canvas.height);
  context.setTransform(ratio * k, 0, 0, ratio * k, ratio * tx, ratio * ty);
  const sight = { x0: -tx / k, y0: -ty / k, x1: (canvas.clientWidth - tx) / k, y1: (canvas.clientHeight - ty) / k };
  const isSeen = (b) => b.x < sight.x1 && b.x + b.w > sight.x0 && b.y < sight.y1 && b.y + b.h > sight.y0;
  for (const b of scene.open) if (b.h * k >= smallestBox && isSeen(b)) drawOpen(b, t, k, sight);
  drawEdges(scene, sight, t, k);
  for (const b of scene.closed) if (b.h * k >= smallestBox && isSeen(b)) drawBox(b, t, k);
  if (view.selected) drawSelection(scene, t, k);
}

function drawOpen(b, t, k, sight) {
  // Too small to see its boxes, it has their colour.
  context.fillStyle = 30 * k < smallestBox ? modes[view.mode].fold(folds[b.index], t) : t.open;
  context.strokeStyle = t.line;
  context.lineWidth = 1;
  context.fillRect(b.x, b.y, b.w, b.h);
  context.strokeRect(b.x, b.y, b.w, b.h);
  if (12 * k < smallestText) return;
  // The title stays in sight while a part of the fold is.
  const y = Math.max(b.y, Math.min(sight.y0, b.y + b.h - foldTitle));
  context.fillStyle = t.soft;
  context.font = "600 12px system-ui, sans-serif";
  context.textAlign = "left";
  const f = folds[b.index];
  context.fillText(f.name + (profile && profile.share_base.time > 0 ? `  ${asShare(f.time / profile.share_base.time)}` : ""), Math.max(b.x, Math.min(sight.x0, b.x + b.w - 120)) + 8, y + 16, b.w - 12);
}

function drawEdges(scene, sight, t, k) {
  context.strokeStyle = t.edge;
  context.lineWidth = Math.max(1, 0.6 / k);
  context.beginPath();
  for (const e of scene.edges) {
    if (e.x0 > sight.x1 || e.x1 < sight.x0 || e.y0 > sight.y1 || e.y1 < sight.y0) continue;
    if ((e.y1 - e.y0 + e.x1 - e.x0) * k >= smallestEdge) trace(e.curve, k);
  }
  context.stroke();
  if (view.selected) {
    context.strokeStyle = t.mark;
    context.lineWidth = Math.max(2, 1.5 / k);
    context.beginPath();
    for (const e of scene.edges) if (e.from === view.selected.id || e.to === view.selected.id) trace(e.curve, k);
    context.stroke();
  }
  if (k > 0.4) drawArrows(scene, sight, t);
}
function trace(c, k) {
  context.moveTo(c[0], c[1]);
  if (k < smallestCurve) { context.lineTo(c[c.length - 2], c[c.length - 1]); return; }
  for (let i = 2; i + 5 < c.length; i += 6) context.bezierCurveTo(c[i], c[i + 1], c[i + 2], c[i + 3], c[i + 4], c[i + 5]);
}
function drawArrows(scene, sight, t) {
  context.fillStyle = t.edge;
  context.beginPath();
  for (const { curve: c, x1, x0, y1, y0 } of scene.edges) {
    if (x0 > sight.x1 || x1 < sight.x0 || y0 > sight.y1 || y1 < sight.y0) continue;
    const n = c.length, x = c[n - 2], y = c[n - 1], a = Math.atan2(y - c[n - 3], x - c[n - 4]);
    context.moveTo(x, y);
    context.lineTo(x - 7 * Math.cos(a - 0.4), y - 7 * Math.sin(a - 0.4));
    context.lineTo(x - 7 * Math.cos(a + 0.4), y - 7 * Math.sin(a + 0.4));
  }
  context.fill();
}

function drawBox(b, t, k) {
  if (b.type === Port) return drawPort(b, t, k);
  const item = b.type === Operator ? nodes[b.index] : folds[b.index];
  context.fillStyle = b.type === Operator ? modes[view.mode].node(item, t) : modes[view.mode].fold(item, t);
  if (b.type === Folded && k > 0.15) {  // a second sheet below: there is more inside
    context.strokeStyle = t.line;
    context.lineWidth = 1;
    context.strokeRect(b.x + 3, b.y + 3, b.w, b.h);
  }
  context.fillRect(b.x, b.y, b.w, b.h);
  if (b.h * k > 4) {
    context.strokeStyle = t.line;
    context.lineWidth = 1;
    context.strokeRect(b.x, b.y, b.w, b.h);
  }
  const size = 12 * item.scale;
  if (profile && item.time > 0 && b.h * k > 4) {
    context.fillStyle = t.heat;
    context.fillRect(b.x, b.y + b.h - 4, b.w * Math.min(1, item.time / profile.share_base.time), 4);
  }
  if (size * k >= smallestText) drawLines(item.lines, b, size, t);
}
function drawLines(lines, b, size, t) {
  const step = 15 * size / 12, top = b.y + (b.h - step * lines.length) / 2 + size;
  context.textAlign = "center";
  lines.forEach((line, i) => {
    context.fillStyle = t.ink;
    context.font = `${i ? "" : "600 "}${(i ? 0.92 : 1) * size}px system-ui, sans-serif`;
    context.fillText(line, b.x + b.w / 2, top + i * step, b.w - 8);
  });
}
function drawPort(b, t, k) {
  context.fillStyle = t.port;
  context.beginPath();
  context.roundRect(b.x, b.y, b.w, b.h, b.h / 2);
  context.fill();
  if (11 * k < smallestText) return;
  context.fillStyle = t.ink;
  context.font = "11px system-ui, sans-serif";
  context.textAlign = "center";
  context.fillText(b.port.label, b.x + b.w / 2, b.y + 14, b.w - 8);
}
function drawSelection(scene, t, k) {
  const b = view.selected;
  context.strokeStyle = t.mark;
  context.lineWidth = Math.max(3, 3 / k);
  context.strokeRect(b.x - 2, b.y - 2, b.w + 4, b.h + 4);
}
