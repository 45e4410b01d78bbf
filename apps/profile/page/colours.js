// SPDX-License-Identifier: Apache-2.0
// Steps by colour: the costliest value of the chosen property first.
const properties = {
  type: { title: "type", of: (s) => s.type },
  bound: { title: "what bounds it", of: (s) => s.bound },
  algorithm: { title: "algorithm", of: (s) => s.algorithm || "none named" },
  stage: { title: "stage of the network", of: (s) => s.stage },
};
let property = "type", colours = new Map();

function timesBy(of) {
  const times = new Map();
  for (const s of steps) times.set(of(s), (times.get(of(s)) || 0) + s.time);
  return [...times].sort((a, b) => b[1] - a[1]);
}
function chooseColours(name) {
  property = name;
  colours = new Map(timesBy(properties[name].of).map(([value], i) => [value, name === "bound" ? boundColours[value] : palette[i % palette.length]]));
}
const colourOf = (s) => colours.get(properties[property].of(s));
function drawLegend() {
  byId("legend").replaceChildren(...timesBy(properties[property].of).slice(0, 24).map(([value, time]) => {
    const item = element("li");
    element("span", { style: `background:${colours.get(value)}` }, "", item);
    item.append(`${value} ${asShare(total > 0 ? time / total : 0)}`);
    return item;
  }));
}
for (const [key, p] of Object.entries(properties)) element("option", { value: key }, p.title, byId("colour"));
// The limits of the steps say most, if the peak of the machine is known.
byId("colour").value = data.peak ? "bound" : "type";
chooseColours(byId("colour").value);
