// SPDX-License-Identifier: Apache-2.0
byId("findings-hint").textContent = baseText(data.share_base) + " Click a name to find the step in the timeline and the table.";
showFindings(byId("findings"), data.findings, (step) => choose(step, true));
byId("findings").parentElement.hidden = !data.findings.length;
byId("search").addEventListener("input", search);
byId("group").addEventListener("change", fillOperators);
function drawAll() { drawRuns(); drawTimeline(); drawMemory(); drawRoofline(); }
byId("colour").addEventListener("change", () => { chooseColours(byId("colour").value); drawLegend(); drawAll(); });
drawLegend();
search();
drawAll();
let resizing = 0;
addEventListener("resize", () => { clearTimeout(resizing); resizing = setTimeout(drawAll, 100); });
// "#step=NAME": links of the graph's page.
function followHash() {
  const [key, value] = location.hash.slice(1).split("=");
  const found = key === "step" && value !== undefined && steps.find((s) => s.name === decodeURIComponent(value));
  if (found) choose(found.index, true);
}
followHash();
addEventListener("hashchange", followHash);
document.documentElement.setAttribute("data-ready", "true");
