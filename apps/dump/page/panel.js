// SPDX-License-Identifier: Apache-2.0
// Details of the selection; without one, the model, what its profile shows, and the costliest operators.
const panel = byId("panel");

function showPanel() {
  panel.replaceChildren();
  const b = view.selected;
  if (!b || b.type === Port) showOverview();
  else if (b.type === Folded) showFold(folds[b.index]);
  else showOperator(nodes[b.index]);
  panel.scrollTop = 0;
}

function rows(holder, list) {
  const table = element("table", {}, null, holder);
  for (const [name, value] of list) {
    const line = element("tr", {}, null, table);
    element("th", { scope: "row" }, name, line);
    const cell = element("td", {}, null, line);
    if (value instanceof Node) cell.append(value); else cell.textContent = value;
  }
  return table;
}
const shapeText = (v) => v ? `${v.dtype} ${v.shape === null ? "(shape known in a run)" : v.shape}` : "absent";
function nodeButton(n, text = n.name) {
  const e = element("button", { type: "button", class: "plain" }, text);
  e.addEventListener("click", () => reveal(Operator, n.index));
  return e;
}

function showOverview() {
  const root = folds[view.fold];
  element("h2", {}, foldName(root), panel);
  const list = element("dl", { class: "cards" }, null, panel);
  cards(list, [
    ["operators", String(root.operators)], ["work", asCount(root.flops, "FLOP")], ["weights", asBytes(root.weights)],
    ...(profile ? [["time", asTime(root.time)], ["share", asShare(profile.share_base.time > 0 ? root.time / profile.share_base.time : 0)]] : []),
  ]);
  if (profile && root.parent < 0) showProfile();
  if (profile) showCostliest(root);
  if (root.parent < 0) {
    element("h3", {}, "Inputs and outputs", panel);
    rows(panel, [...data.inputs.map((v) => [`→ ${v.name}`, shapeText(v)]), ...data.outputs.map((v) => [`${v.name} →`, shapeText(v)])]);
  }
  element("h3", {}, "Operators by type", panel);
  element("p", {}, root.types.join(", "), panel);
  if (root.parent < 0) {
    element("h3", {}, "File", panel);
    rows(panel, Object.entries(data.facts).map(([name, fact]) => [name, fact.length > 400 ? fact.slice(0, 400) + "…" : fact]));
  }
  element("p", { class: "hint" }, "Click a box for its details, double-click a part to open it. Drag to move, turn the wheel to zoom. Keys: arrows, Enter, Backspace, + − 0, [ ] and /.", panel);
}
function showProfile() {
  element("p", { class: "hint" }, `${profile.file}: ${profile.origin}`, panel);
  if (profile.page) element("a", { href: profile.page }, "The page of the profile", element("p", {}, null, panel));
  element("h3", {}, "Where the time goes", panel);
  element("p", { class: "hint" }, baseText(profile.share_base), panel);
  showFindings(element("ol", { class: "findings" }, null, panel), profile.findings, (index) => {
    const s = steps.find((step) => step.index === index);
    if (s && s.nodes.length) reveal(Operator, s.nodes[0]);
  });
}
function showCostliest(fold) {
  const own = new Set();
  for (const n of fold.nodes) for (const s of n.steps || []) if (s.nodes[0] === n.index) own.add(s);
  const top = [...own].sort((a, b) => b.time - a.time).slice(0, 10);
  if (!top.length) return;
  element("h3", {}, "Costliest operators", panel);
  const table = element("table", {}, null, panel), most = top[0].time;
  for (const s of top) {
    const line = element("tr", {}, null, table), cell = element("td", {}, null, line);
    cell.append(nodeButton(nodes[s.nodes[0]], s.name || s.type));
    element("span", { class: "bar", style: `width:${100 * s.time / most}%` }, "", cell);
    element("td", { class: "number" }, `${asTime(s.time)}`, line);
    element("td", { class: "number" }, asShare(s.share), line);
  }
  const added = steps.filter((s) => !s.nodes.length);
  if (added.length && fold.parent < 0)
    element("p", { class: "hint" }, `${added.length} steps that the compiler added, such as changes of layout, take ${asShare(added.reduce((sum, s) => sum + s.share, 0))}.`, panel);
}

function showFold(f) {
  element("h2", {}, f.name, panel);
  button("Open this part (Enter)", panel, () => openFold(f.index));
  cards(element("dl", { class: "cards" }, null, panel), [
    ["operators", String(f.operators)], ["work", asCount(f.flops, "FLOP")], ["weights", asBytes(f.weights)],
    ...(profile ? [["time", asTime(f.time)], ["share", asShare(profile.share_base.time > 0 ? f.time / profile.share_base.time : 0)]] : []),
  ]);
  if (profile) showCostliest(f);
  element("h3", {}, "Operators by type", panel);
  element("p", {}, f.types.join(", "), panel);
}

function showOperator(n) {
  element("h2", {}, n.name, panel);
  element("p", { class: "hint" }, `${n.op}, in ${pathOf(n.fold).map((f) => foldName(folds[f])).join(" › ")}`, panel);
  element("p", {}, data.docs[n.op], panel);
  const s = stepOf(n);
  if (s) showTime(n, s);
  const facts = [];
  if (n.flops !== null) facts.push(["work", asCount(n.flops, "FLOP")]);
  for (const part of n.params.split(/, (?=\w+=)/)) if (part) facts.push(part.split(/=(.*)/s).slice(0, 2));
  if (facts.length) { element("h3", {}, "Parameters", panel); rows(panel, facts); }
  showInputs(n);
  element("h3", {}, "Results", panel);
  rows(panel, n.outputs.map((v) => [v.name, shapeText(v)]));
  if (n.readers.length) {
    const p = element("p", {}, "read by ", panel);
    n.readers.slice(0, 20).forEach((r, i) => { if (i) p.append(", "); p.append(nodeButton(r)); });
  }
}
function showTime(n, s) {
  element("h3", {}, "Time", panel);
  rows(panel, [["time", `${asTime(s.time)}, ${asShare(s.share)}`], ["algorithm", s.algorithm || none],
    ["bound by", s.bound], ...(s.of_roof === null ? [] : [["of the roof", asShare(s.of_roof)]])]);
  if (s.reason) element("p", {}, s.reason[0].toUpperCase() + s.reason.slice(1) + ".", panel);
  if (s.advice) element("p", {}, `Try: ${s.advice}.`, panel);
  const others = s.nodes.filter((i) => i !== n.index);
  if (others.length) {
    const p = element("p", {}, "One kernel computes it with ", panel);
    others.forEach((i, k) => { if (k) p.append(", "); p.append(nodeButton(nodes[i])); });
  }
  if (profile.page) element("a", { href: `${profile.page}#step=${encodeURIComponent(s.name)}` }, "Show it in the profile", element("p", {}, null, panel));
}
function showInputs(n) {
  const values = n.inputs.filter((v) => v && !v.weight);
  if (values.length) {
    element("h3", {}, "Inputs", panel);
    rows(panel, values.map((v) => [v.node === undefined ? v.name : nodeButton(nodes[v.node], v.name), shapeText(v)]).map(([name, shape]) => [name instanceof Node ? "from" : name, name instanceof Node ? joinNodes(name, ` ${shape}`) : shape]));
  }
  const weights = n.inputs.filter((v) => v && v.weight);
  if (!weights.length) return;
  element("h3", {}, "Weights", panel);
  for (const v of weights) {
    const w = v.weight, number = (x) => x === null ? none : Number(x.toPrecision(4)).toString();
    rows(panel, [["name", v.name], ["shape", shapeText(v)], ["size", asBytes(w.bytes)], ["mean ± std", `${number(w.mean)} ± ${number(w.std)}`],
      ["range", `${number(w.min)} to ${number(w.max)}`], ["zeros", asShare(w.zeros)]]);
    element("p", {}, "", panel);
  }
}
function joinNodes(...parts) {
  const span = element("span");
  span.append(...parts);
  return span;
}
