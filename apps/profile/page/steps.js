// SPDX-License-Identifier: Apache-2.0
// The steps with what is derived from them.
const steps = data.steps;
const total = data.share_base.time;
const rate = (t, n) => t > 0 && n > 0 ? n / t : null;

// The scope of the step's first operator, else the size of its images.
function stageOf(s) {
  const name = (s.sources[0] || s.name).split("+")[0], parts = /[([{ ]/.test(name) ? [] : name.split(/[./]/).filter(Boolean).slice(0, -1);
  if (parts.length) return parts.slice(0, 2).join(".");
  const image = /\{\d+,\d+,(\d+),(\d+)\}/.exec(s.outputs);
  return image ? `images of ${image[1]}×${image[2]}` : s.sources.length || s.name ? "no images" : "added by the compiler";
}
for (const s of steps) {
  s.share = total > 0 ? s.time / total : 0;
  // The work that the algorithm does: Winograd's multiplies less than is counted.
  s.rate = s.operations !== null && s.time > 0 ? s.operations / s.time : null;
  s.real_rate = s.real_operations !== null && s.time > 0 ? s.real_operations / s.time : null;
  s.bandwidth = s.bytes !== null && s.time > 0 ? s.bytes / s.time : null;
  s.stage = stageOf(s);
  s.link = data.graph_page ? `${data.graph_page}#node=${encodeURIComponent(s.sources[0] || s.name)}` : null;
}

function describe(s) {
  const lines = [s.name || s.type, `${s.type} · ${s.algorithm || "no algorithm named"}`, `${asTime(s.time)}, ${asShare(s.share)}; ${asTime(s.least)} to ${asTime(s.most)} in ${data.runs.length || 1} runs`];
  if (s.operations !== null) lines.push(asCount(s.operations, "FLOP") + ", " + asCount(s.rate, "FLOP/s"));
  if (s.real_operations !== null && s.real_operations < s.operations) lines.push(`the algorithm needs ${asCount(s.real_operations, "FLOP")} of them`);
  if (s.bytes !== null) lines.push(asBytes(s.bytes) + ", " + asBytes(s.bandwidth) + "/s");
  if (s.of_roof !== null) lines.push(`${asShare(s.of_roof)} of what the machine allows${s.data_from && s.data_from !== "memory" ? `, by the ${s.data_from} cache` : ""}`);
  if (s.bound !== "unknown") lines.push(`bound by ${s.bound}`);
  if (s.inputs || s.outputs) lines.push(`${s.inputs} → ${s.outputs}`);
  if (s.sources.length > 1) lines.push("computes " + s.sources.join(", "));
  return lines.join("\n");
}
