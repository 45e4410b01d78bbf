// SPDX-License-Identifier: Apache-2.0
byId("title").textContent = data.title;
document.title = `${data.title} – mge-dump graph`;
for (const [key, mode] of Object.entries(modes)) element("option", { value: key }, mode.title, byId("colour"));
view.mode = profile ? "time" : "type";
byId("colour").value = view.mode;
byId("colour").addEventListener("change", () => { view.mode = byId("colour").value; drawLegend(); draw(); });
byId("less").addEventListener("click", () => show(view.fold, view.level - 1));
byId("more").addEventListener("click", () => show(view.fold, view.level + 1));
byId("fit").addEventListener("click", () => fit(true));
dark.addEventListener("change", () => { drawLegend(); draw(); });

resizeCanvas();
drawLegend();
show(0);
new ResizeObserver(() => { resizeCanvas(); drawNow(); }).observe(canvas);

// "#node=NAME" selects an operator: links of the profile's page.
function followHash() {
  const [key, value] = location.hash.slice(1).split("=");
  if (key !== "node" || value === undefined) return;
  const name = decodeURIComponent(value);
  const found = nodes.find((n) => n.name === name) || (steps.map((s) => s.name === name && nodes[s.nodes[0]]).find(Boolean));
  if (found) reveal(Operator, found.index);
}
followHash();
addEventListener("hashchange", followHash);
document.documentElement.setAttribute("data-ready", "true");
