// SPDX-License-Identifier: Apache-2.0
// Sortable tables. A column: { title, value(row), text(row), number, long, bar, sticky, first, link(row) }.
const mostRows = 400;  // at first; a button shows as many again

function makeTable(holder, columns, rows, onRow) {
  holder.replaceChildren();
  let order = columns.findIndex((c) => c.first), descending = true, shown = rows, most = mostRows;
  const head = element("tr", {}, null, element("thead", {}, null, holder)), body = element("tbody", {}, null, holder);
  const sorted = () => {
    const column = columns[Math.max(0, order)];
    return [...shown].sort((a, b) => {
      const p = column.value(a), q = column.value(b);
      if (p === null || q === null) return (p === null) - (q === null);
      return (p < q ? -1 : p > q ? 1 : 0) * (descending ? -1 : 1);
    });
  };
  const fill = () => {
    const all = sorted();
    body.replaceChildren(...all.slice(0, most).map((row) => {
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
      if (onRow) onRow(line, row);
      return line;
    }));
    if (all.length > most) {
      const cell = element("td", { colspan: columns.length }, null, element("tr", {}, null, body));
      button(`Show more of ${all.length} rows`, cell, () => { most *= 4; fill(); });
    }
    [...head.children].forEach((th, i) => th.setAttribute("aria-sort", i !== order ? "none" : descending ? "descending" : "ascending"));
  };
  columns.forEach((c, i) => {
    const th = element("th", { class: (c.number ? "number " : "") + (c.sticky ? "sticky" : ""), scope: "col" }, null, head);
    button(c.title, th, () => { descending = order === i ? !descending : Boolean(c.number); order = i; fill(); });
  });
  fill();
  return {
    show(filtered) { shown = filtered; fill(); },
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
