// SPDX-License-Identifier: Apache-2.0
const percent = (share) => (100 * share).toFixed(2);
byId("title").textContent = `${data.images} ${data.images === 1 ? "image" : "images"}`;
byId("folder").textContent = data.folder;
document.title = `${data.models[0].path.split("/").pop()} – mge-dump evaluate`;

makeTable(byId("models"), [
  plain("model", (m) => m.path, { sticky: true }),
  amount("top-1 %", (m) => m.top1, percent),
  amount("top-5 %", (m) => m.top5, percent),
  ...(data.models.length === 1 ? [] : [
    amount("same as first %", (m) => m.same / data.images, percent),
    amount("gained", (m) => m.gained, String),
    amount("lost", (m) => m.lost, String),
  ]),
], data.models);

const classes = makeTable(byId("classes"), [
  plain("class", (c) => c.name, { sticky: true }),
  amount("images", (c) => c.images, String),
  amount("top-1 %", (c) => c.top1 / c.images, percent, { first: "ascending" }),
  amount("top-5 %", (c) => c.top5 / c.images, percent),
  plain("most often taken for", (c) => c.taken_for === null ? "" : `${c.taken_for} (${c.taken})`),
], data.classes);
tableButtons(byId("copies"), () => classes, "classes.csv");

for (const model of data.worst) {
  const section = element("section", {}, null, byId("worst"));
  element("h2", {}, `Worst images of ${model.path}`, section);
  const images = element("div", { class: "images" }, null, section);
  for (const image of model.images) {
    const figure = element("figure", {}, null, images);
    element("img", { alt: image.label, src: `data:image/png;base64,${image.png}` }, null, figure);
    const caption = element("figcaption", {}, `${image.label} ${percent(image.of_label)} %`, figure);
    element("div", image.is_wrong ? { class: "wrong" } : {}, `predicted: ${image.predicted} ${percent(image.of_predicted)} %`, caption);
    element("div", { class: "name" }, image.name, caption);
  }
}
document.documentElement.setAttribute("data-ready", "true");
