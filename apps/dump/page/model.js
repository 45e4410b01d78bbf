// SPDX-License-Identifier: Apache-2.0
// The model as the page uses it: operators with their readers, folds with their operators, and times.
const { nodes, folds, profile } = data;
const steps = profile ? profile.steps : [];

nodes.forEach((n, i) => { n.index = i; n.readers = []; });
for (const n of nodes)
  for (const input of n.inputs)
    if (input && input.node !== undefined && !nodes[input.node].readers.includes(n)) nodes[input.node].readers.push(n);
folds.forEach((f, i) => { f.index = i; f.nodes = []; });
for (const n of nodes) for (let at = n.fold; at >= 0; at = folds[at].parent) folds[at].nodes.push(n);
for (const f of folds) {
  f.height = f.layouts.length - 1;
  f.weights = f.nodes.reduce((sum, n) => sum + weightBytes(n), 0);
}
steps.forEach((s) => { for (const i of s.nodes) (nodes[i].steps = nodes[i].steps || []).push(s); });

function weightBytes(node) { return node.inputs.reduce((sum, v) => sum + (v && v.weight ? v.weight.bytes : 0), 0); }
const stepOf = (node) => profile && node.step >= 0 ? steps[node.step] : null;
const foldName = (f) => f.parent < 0 ? data.title : f.name;
// From the whole graph to the fold.
function pathOf(fold) {
  const path = [];
  for (let at = fold; at >= 0; at = folds[at].parent) path.unshift(at);
  return path;
}
const isInside = (fold, outer) => pathOf(fold).includes(outer);
// The step that takes most of the time of a fold.
function costliest(fold) {
  let best = null;
  for (const n of fold.nodes) for (const s of n.steps || []) if (!best || s.time > best.time) best = s;
  return best;
}
