// SPDX-License-Identifier: Apache-2.0
// Everything on the pages is made with textContent and attributes: names come from models of strangers.
window.addEventListener("error", (e) => document.documentElement.setAttribute("data-error", String(e.message)));

const data = JSON.parse(document.getElementById("data").textContent);
const byId = (id) => document.getElementById(id);

const svgTags = ["svg", "g", "rect", "line", "path", "text", "circle", "clipPath", "pattern", "title"];
function element(tag, attributes = {}, text = null, parent = null) {
  const e = svgTags.includes(tag) ? document.createElementNS("http://www.w3.org/2000/svg", tag) : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) e.setAttribute(name, value);
  if (text !== null) e.textContent = text;
  if (parent) parent.appendChild(e);
  return e;
}
function button(text, parent, onClick, attributes = {}) {
  const e = element("button", { type: "button", ...attributes }, text, parent);
  e.addEventListener("click", onClick);
  return e;
}

// Cards with figures: [[name, value], …] into a <dl>.
function cards(holder, figures) {
  for (const [name, value] of figures) {
    const card = element("div", {}, null, holder);
    element("dt", {}, name, card);
    element("dd", {}, value, card);
  }
}

// Says in words which time the shares of findings and tables are of.
const baseText = (base) => `Shares are of ${asTime(base.time)}, ${base.what}.` + (base.remark ? ` ${base.remark[0].toUpperCase()}${base.remark.slice(1)}.` : "");

// Shows the findings of a profile in words. go(step) is called for a finding about a step.
function showFindings(holder, findings, go) {
  for (const f of findings) {
    const item = element("li", {}, null, holder), head = element("div", {}, null, item);
    if (f.step < 0) element("strong", {}, f.title, head);
    else button(f.title, head, () => go(f.step), { class: "plain" });
    element("div", { class: "share" }, `${asTime(f.time)}, ${asShare(f.share)}`, item);
    if (f.shapes) element("div", { class: "shapes" }, f.shapes, item);
    if (f.reason) element("p", {}, f.bound === "unknown" ? `${f.reason[0].toUpperCase()}${f.reason.slice(1)}.` : `Bound by ${f.bound}: ${f.reason}.`, item);
    if (f.advice) element("p", { class: "what" }, `Try: ${f.advice}.`, item);
  }
}
