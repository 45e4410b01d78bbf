// SPDX-License-Identifier: Apache-2.0
// The keyboard: arrows follow the values from box to box.
const steps_of_zoom = 1.25;

function neighbour(key) {
  const scene = view.scene, b = view.selected;
  if (!b || !scene.boxes.includes(b)) return scene.closed.find((c) => c.type !== Port) || null;
  const middle = (c) => c.x + c.w / 2;
  if (key === "ArrowUp" || key === "ArrowDown") {
    const linked = scene.edges.filter((e) => (key === "ArrowDown" ? e.from : e.to) === b.id)
      .map((e) => scene.boxes[key === "ArrowDown" ? e.to : e.from]).filter((c) => !c.isOpen);
    if (linked.length) return linked.sort((p, q) => Math.abs(middle(p) - middle(b)) - Math.abs(middle(q) - middle(b)))[0];
  }
  // Otherwise the nearest box in that direction.
  const [dx, dy] = { ArrowUp: [0, -1], ArrowDown: [0, 1], ArrowLeft: [-1, 0], ArrowRight: [1, 0] }[key];
  let best = null, least = Infinity;
  for (const c of scene.closed) {
    const x = middle(c) - middle(b), y = c.y + c.h / 2 - b.y - b.h / 2, along = x * dx + y * dy, across = Math.abs(x * dy) + Math.abs(y * dx);
    if (c === b || along < 4) continue;
    const distance = along + 2 * across;
    if (distance < least) { least = distance; best = c; }
  }
  return best;
}
function zoomBy(factor) {
  const w = canvas.clientWidth / 2, h = canvas.clientHeight / 2, [low, high] = zoom.scaleExtent();
  const k = Math.max(low, Math.min(high, view.k * factor)), ratio = k / view.k;
  setView(w - (w - view.x) * ratio, h - (h - view.y) * ratio, k);
}

canvas.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const b = view.selected;
  if (event.key.startsWith("Arrow")) { const next = neighbour(event.key); if (next) select(next, true); }
  else if (event.key === "Enter" && b) { if (b.type === Folded) openFold(b.index); else if (b.type === Port) { if (b.port.node >= 0) reveal(Operator, b.port.node); } else panel.focus(); }
  else if (event.key === "Backspace") goUp();
  else if (event.key === "Escape") { if (b) select(null); else goUp(); }
  else if (event.key === "+" || event.key === "=") zoomBy(steps_of_zoom);
  else if (event.key === "-") zoomBy(1 / steps_of_zoom);
  else if (event.key === "0") fit(true);
  else if (event.key === "[") show(view.fold, view.level - 1);
  else if (event.key === "]") show(view.fold, view.level + 1);
  else return;
  event.preventDefault();
});
document.addEventListener("keydown", (event) => {
  if (event.key !== "/" || ["INPUT", "SELECT"].includes(document.activeElement.tagName)) return;
  searchBox.focus();
  event.preventDefault();
});
