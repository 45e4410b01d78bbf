// SPDX-License-Identifier: Apache-2.0
function scaled(value, base, units) {
  let unit = 0;
  while (value >= base && unit + 1 < units.length) { value /= base; unit++; }
  return (value >= 100 || (unit === 0 && Number.isInteger(value)) ? value.toFixed(0) : value.toPrecision(3)) + " " + units[unit];
}
const none = "–";
const asTime = (s) => s === null ? none : s < 1e-3 ? (s * 1e6).toFixed(2) + " µs" : s < 1 ? (s * 1e3).toFixed(3) + " ms" : s.toFixed(3) + " s";
// On an axis: no more digits than the number has.
const round = (text) => text.replace(/(\.\d*?)0+(?= )/, "$1").replace(/\.(?= )/, "");
const asBytes = (b) => b === null ? none : scaled(b, 1024, ["B", "KiB", "MiB", "GiB", "TiB"]);
const asCount = (n, unit) => n === null ? none : scaled(n, 1000, ["", "k", "M", "G", "T", "P"].map((p) => p + unit));
const asShare = (x) => x === null ? none : (100 * x).toFixed(1) + " %";
