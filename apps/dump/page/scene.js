// SPDX-License-Identifier: Apache-2.0
// The boxes and lines that a fold shows at a level: its own layout, with the layouts of its open folds inside.
const Operator = 0, Folded = 1, Port = 2;
const foldTitle = 24, foldMargin = 8;

function makeScene(fold, level) {
  const scene = { fold, level, boxes: [], edges: [], width: 0, height: 0 };
  const add = (index, open, left, top) => {
    const layout = folds[index].layouts[Math.min(open, folds[index].height)], first = scene.boxes.length;
    for (const [type, at, x, y, w, h] of layout.boxes)
      scene.boxes.push({
        type, index: at, x: left + x - w / 2, y: top + y - h / 2, w, h, fold: index, id: scene.boxes.length,
        isOpen: type === Folded && open > 0, port: type === Port ? layout.ports[at] : null,
      });
    for (const [from, to, ...points] of layout.edges) {
      const curve = points.map((v, i) => v + (i % 2 ? top : left)), xs = curve.filter((_, i) => i % 2 === 0), ys = curve.filter((_, i) => i % 2);
      scene.edges.push({ from: first + from, to: first + to, curve,
        x0: Math.min(...xs), x1: Math.max(...xs), y0: Math.min(...ys), y1: Math.max(...ys) });
    }
    const end = scene.boxes.length;
    for (let i = first; i < end; i++) {
      const box = scene.boxes[i];
      if (box.isOpen) add(box.index, open - 1, box.x + foldMargin, box.y + foldTitle);
    }
    return layout;
  };
  const layout = add(fold, level, 0, 0);
  scene.width = layout.width;
  scene.height = layout.height;
  scene.open = scene.boxes.filter((b) => b.isOpen);
  scene.closed = scene.boxes.filter((b) => !b.isOpen);
  // By the middle of the box: the nearest one is checked, and its neighbours.
  scene.tree = d3.geom.quadtree().x((b) => b.x + b.w / 2).y((b) => b.y + b.h / 2)(scene.closed);
  scene.largest = scene.closed.reduce((m, b) => Math.max(m, b.w, b.h), 0);
  return scene;
}

function boxAt(scene, x, y) {
  const reach = scene.largest;
  let found = null;
  scene.tree.visit((cell, x0, y0, x1, y1) => {
    const b = cell.point;
    if (b && x >= b.x && x <= b.x + b.w && y >= b.y && y <= b.y + b.h) found = b;
    return found || x0 > x + reach || x1 < x - reach || y0 > y + reach || y1 < y - reach;
  });
  if (found) return found;
  // The innermost open fold, by its title.
  for (let i = scene.open.length - 1; i >= 0; i--) {
    const b = scene.open[i];
    if (x >= b.x && x <= b.x + b.w && y >= b.y && y <= b.y + foldTitle) return b;
  }
  return null;
}

// The box that shows an operator or a fold, or a closed fold around it.
function boxOf(scene, type, index) {
  const exact = scene.boxes.find((b) => b.type === type && b.index === index);
  if (exact) return exact;
  const around = pathOf(type === Operator ? nodes[index].fold : folds[index].parent);
  return scene.closed.find((b) => b.type === Folded && around.includes(b.index)) || null;
}
