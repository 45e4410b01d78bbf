// SPDX-License-Identifier: Apache-2.0
const tip = byId("tip");
function showTip(event, text) {
  tip.textContent = text;
  tip.hidden = false;
  const w = tip.offsetWidth, h = tip.offsetHeight;
  tip.style.left = Math.max(4, Math.min(event.clientX + 14, innerWidth - w - 4)) + "px";
  tip.style.top = Math.max(4, Math.min(event.clientY + 14, innerHeight - h - 4)) + "px";
}
const hideTip = () => { tip.hidden = true; };
function withTip(e, text) {
  e.addEventListener("pointermove", (event) => showTip(event, typeof text === "function" ? text() : text));
  e.addEventListener("pointerleave", hideTip);
}
