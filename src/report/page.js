/* Sorting of tables, folding, and what is unfolded on paper. The page is whole without it. */
"use strict";
for (const table of document.querySelectorAll("table.sorts")) {
  const body = table.tBodies[0];
  [...table.tHead.rows[0].cells].forEach((head, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const down = head.getAttribute("aria-sort") !== "descending";
      for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      const value = (row) => {
        const text = row.cells[column].textContent;
        const number = parseFloat(text.replaceAll(",", ""));
        return head.classList.contains("n") ? (isNaN(number) ? -Infinity : number) : text;
      };
      const rows = [...body.rows].map((row) => [value(row), row]);
      rows.sort((x, y) => (x[0] < y[0] ? -1 : x[0] > y[0] ? 1 : 0) * (down ? -1 : 1));
      for (const [, row] of rows) body.append(row);
    });
  });
}
for (const tools of document.querySelectorAll(".tools")) {
  const pairs = tools.parentElement.querySelectorAll("details.pair");
  for (const [words, open] of [["Open all", true], ["Close all", false]]) {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = words;
    button.addEventListener("click", () => pairs.forEach((pair) => { pair.open = open; }));
    tools.append(button, " ");
  }
}
/* Paper cannot be unfolded: the settings of the run are printed. */
const settings = document.querySelector("#run details.more");
let printing = false;
addEventListener("beforeprint", () => { printing = settings !== null && !settings.open; if (printing) settings.open = true; });
addEventListener("afterprint", () => { if (printing) settings.open = false; });
