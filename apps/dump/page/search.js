// SPDX-License-Identifier: Apache-2.0
// Finds operators and folds by words in their names, types, parameters and shapes.
const most = 60;
const searchBox = byId("search"), results = byId("results");
const entries = [
  ...folds.slice(1).map((f) => ({ type: Folded, index: f.index, name: f.name, what: `${f.operators} operators` })),
  ...nodes.map((n) => ({ type: Operator, index: n.index, name: n.name, what: n.lines.slice(0, 3).join(", ") })),
];
const texts = entries.map((e) => e.type === Folded ? `${e.name} ${e.what}`.toLowerCase()
  : [e.name, e.what, nodes[e.index].op, nodes[e.index].params, ...nodes[e.index].outputs.map((v) => v.name)].join(" ").toLowerCase());

function search() {
  const words = searchBox.value.toLowerCase().split(/\s+/).filter(Boolean);
  results.hidden = !words.length;
  if (!words.length) return;
  const found = entries.filter((_, i) => words.every((w) => texts[i].includes(w)));
  results.replaceChildren(...found.slice(0, most).map((entry) => {
    const item = element("li"), b = button("", item, () => { reveal(entry.type, entry.index); results.hidden = true; });
    element("div", {}, entry.name, b);
    element("div", { class: "what" }, entry.what, b);
    return item;
  }));
  if (found.length !== Math.min(found.length, most)) element("li", { class: "what" }, `${found.length - most} more: type more of the name`, results);
  if (!found.length) element("li", { class: "what" }, "Nothing has these words.", results);
  byId("say").textContent = `${found.length} found`;
}
searchBox.addEventListener("input", search);
searchBox.addEventListener("keydown", (event) => {
  const first = results.querySelector("button");
  if (event.key === "Enter" && first) first.click();
  else if (event.key === "ArrowDown" && first) { first.focus(); event.preventDefault(); }
  else if (event.key === "Escape") { results.hidden = true; canvas.focus(); }
});
results.addEventListener("keydown", (event) => {
  const all = [...results.querySelectorAll("button")], at = all.indexOf(document.activeElement);
  if (event.key === "ArrowDown") (all[at + 1] || all[0]).focus();
  else if (event.key === "ArrowUp") (all[at - 1] || searchBox).focus();
  else if (event.key === "Escape") { results.hidden = true; searchBox.focus(); }
  else return;
  event.preventDefault();
});
document.addEventListener("click", (event) => { if (!byId("finder").contains(event.target)) results.hidden = true; });
