"use strict";
// Tables sort by their headings (mouse, Enter or Space); folds open for print.
(() => {
  const said = document.getElementById("said");
  const key = (row, place) => {
    const cell = row.cells[place];
    const text = cell.dataset.sort;
    if (text === undefined) return cell.textContent.trim() || null;
    if (text === "") return null;
    const number = Number(text);
    return Number.isNaN(number) ? text : number;
  };
  const compare = (a, b) => (typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b), "en", { numeric: true }));
  const sort = (heading) => {
    const table = heading.closest("table");
    const place = heading.cellIndex;
    const down = heading.getAttribute("aria-sort") === "ascending";
    const rows = [...table.tBodies[0].rows].map((row, order) => ({ row, order, key: key(row, place) }));
    rows.sort((a, b) => {
      if (a.key === null || b.key === null) return (a.key === null) - (b.key === null) || a.order - b.order;
      return (down ? compare(b.key, a.key) : compare(a.key, b.key)) || a.order - b.order;
    });
    table.tBodies[0].append(...rows.map((entry) => entry.row));
    for (const other of table.tHead.rows[0].cells) {
      if (other.hasAttribute("aria-sort")) other.setAttribute("aria-sort", "none");
    }
    heading.setAttribute("aria-sort", down ? "descending" : "ascending");
    if (said) said.textContent = `Sorted by ${heading.textContent.trim()}, ${down ? "largest" : "smallest"} first.`;
  };
  for (const button of document.querySelectorAll("th > button")) {
    button.addEventListener("click", () => sort(button.parentElement));
  }
  const folded = new Set();
  addEventListener("beforeprint", () => {
    for (const fold of document.querySelectorAll("details:not([open])")) { folded.add(fold); fold.open = true; }
  });
  addEventListener("afterprint", () => { for (const fold of folded) fold.open = false; folded.clear(); });
  document.documentElement.dataset.geodp = "ready";
})();
