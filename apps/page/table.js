// SPDX-License-Identifier: Apache-2.0
// Sortable tables. A column: { title, value(row), text(row), number, long, bar, sticky, first, link(row) }.
// The parent of a table scrolls. Of a long table only the rows in sight are elements.
const mostRows = 200, rowsBeyond = 12;

function makeTable(holder, columns, rows, onRow) {
  holder.replaceChildren();
  let order = columns.findIndex((c) => c.first), descending = order < 0 || columns[order].first !== "ascending", shown = rows, all = [], rowHeight = 0, drawn = "", kept = new Map();
  const head = element("tr", {}, null, element("thead", {}, null, holder)), body = element("tbody", {}, null, holder);
  const sorted = () => {
    if (order < 0) return [...shown];
    const column = columns[order], keys = new Map(shown.map((row) => [row, column.value(row)]));
    return [...shown].sort((a, b) => {
      const p = keys.get(a), q = keys.get(b);
      if (p === null || q === null) return (p === null) - (q === null);
      return (p < q ? -1 : p > q ? 1 : 0) * (descending ? -1 : 1);
    });
  };
  const lineOf = (row) => {
    const line = element("tr");
    for (const c of columns) {
      const cell = element(c.sticky ? "th" : "td", { class: (c.number ? "number " : "") + (c.long ? "long " : "") + (c.sticky ? "sticky" : "") }, null, line);
      if (c.sticky) cell.setAttribute("scope", "row");
      if (c.bar) element("span", { class: "bar", style: `width:${Math.max(0, 60 * c.value(row))}px` }, "", cell);
      const text = c.text(row);
      if (c.link && c.link(row)) element("a", { href: c.link(row) }, text, cell);
      else cell.append(c.bar ? " " + text : text);
      if (c.long) cell.title = text;
    }
    return line;
  };
  // A row of the longest of some texts.
  const widest = () => {
    const every = Math.ceil(all.length / 400), sample = all.filter((row, i) => i % every === 0);
    const line = element("tr", { class: "widest", "aria-hidden": "true" });
    for (const c of columns) {
      const text = sample.reduce((longest, row) => { const t = c.text(row); return t.length > longest.length ? t : longest; }, "");
      element("td", { class: (c.number ? "number " : "") + (c.long ? "long" : "") }, null, line).append(text);
      if (c.bar) element("span", { class: "bar", style: "width:60px" }, "", line.lastChild);
    }
    return line;
  };
  const gap = (count) => element("tr", { class: "gap", style: `height:${count * rowHeight}px`, "aria-hidden": "true" });
  // The rows of a long table come and go: its columns have the widths that some of its rows need.
  const fixWidths = (isLong, lines) => {
    holder.style.tableLayout = "";
    for (const th of head.children) th.style.width = "";
    if (!isLong) return;
    body.replaceChildren(widest(), ...lines);
    rowHeight = lines[0].offsetHeight;
    const widths = [...head.children].map((th) => th.getBoundingClientRect().width);
    [...head.children].forEach((th, i) => { th.style.width = `${widths[i]}px`; });
    if (rowHeight) holder.style.tableLayout = "fixed";
  };
  const draw = (again) => {
    const view = holder.parentElement, isLong = all.length > mostRows;
    const from = isLong && rowHeight ? Math.max(0, Math.min(all.length - 1, Math.floor(view.scrollTop / rowHeight) - rowsBeyond)) : 0;
    const to = isLong ? Math.min(all.length, from + Math.ceil((view.clientHeight || 720) / (rowHeight || 24)) + 2 * rowsBeyond) : all.length;
    if (!again && drawn === `${from} ${to}`) return;
    drawn = `${from} ${to}`;
    const before = again ? new Map() : kept;
    kept = new Map();
    const lines = all.slice(from, to).map((row, i) => {
      const line = before.get(row) || lineOf(row);
      kept.set(row, line);
      if (isLong) line.setAttribute("aria-rowindex", from + i + 2);
      if (onRow && !before.has(row)) onRow(line, row);
      return line;
    });
    if (again) fixWidths(isLong, lines);
    body.replaceChildren(...(from ? [gap(from)] : []), ...lines, ...(to < all.length ? [gap(all.length - to)] : []));
    if (isLong) holder.setAttribute("aria-rowcount", all.length + 1); else holder.removeAttribute("aria-rowcount");
  };
  const fill = () => {
    all = sorted();
    holder.parentElement.scrollTop = 0;
    draw(true);
    [...head.children].forEach((th, i) => th.setAttribute("aria-sort", i !== order ? "none" : descending ? "descending" : "ascending"));
  };
  columns.forEach((c, i) => {
    const th = element("th", { class: (c.number ? "number " : "") + (c.sticky ? "sticky" : ""), scope: "col" }, null, head);
    button(c.title, th, () => { descending = order === i ? !descending : Boolean(c.number); order = i; fill(); });
  });
  holder.parentElement.onscroll = () => draw(false);
  fill();
  return {
    show(filtered) { shown = filtered; fill(); },
    // Brings a row into sight; false if it is not shown.
    reveal(row) {
      const at = all.indexOf(row), view = holder.parentElement;
      if (at < 0) return false;
      const height = rowHeight || (body.lastElementChild ? body.lastElementChild.offsetHeight : 0);
      view.scrollTop = at * height - view.clientHeight / 2;
      draw(false);
      return true;
    },
    // Lines of cells, the heading first, as they are shown or as plain values.
    cells: (plain) => [columns.map((c) => c.title), ...sorted().map((row) => columns.map((c) => plain ? c.value(row) ?? "" : c.text(row)))],
  };
}
const plain = (title, get, extra = {}) => ({ title, value: get, text: (r) => String(get(r)), ...extra });
const amount = (title, get, format, extra = {}) => ({ title, value: get, text: (r) => format(get(r)), number: true, ...extra });

// Buttons that copy the table, and save it as CSV. get() returns the table.
function tableButtons(holder, get, file) {
  const quoted = (cell) => /[",\n]/.test(String(cell)) ? `"${String(cell).replaceAll('"', '""')}"` : String(cell);
  const copy = button("Copy", holder, async () => {
    const text = get().cells(false).map((line) => line.join("\t")).join("\n");
    try {
      await navigator.clipboard.writeText(text);
    } catch {  // pages from files may have no clipboard
      const area = element("textarea", {}, null, document.body);
      area.value = text;
      area.select();
      document.execCommand("copy");
      area.remove();
    }
    copy.textContent = "Copied";
    setTimeout(() => { copy.textContent = "Copy"; }, 1500);
  }, { title: "Copy the table for a spreadsheet" });
  button("CSV", holder, () => {
    const blob = new Blob([get().cells(true).map((line) => line.map(quoted).join(",")).join("\n") + "\n"], { type: "text/csv" });
    const link = element("a", { href: URL.createObjectURL(blob), download: file });
    link.click();
    URL.revokeObjectURL(link.href);
  }, { title: "Save the table as a CSV file" });
}
