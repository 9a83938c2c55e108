// Adds sorting, filtering and one cell's page at a time to a document that is complete without them.
"use strict";
document.documentElement.classList.add("js");

document.addEventListener("DOMContentLoaded", () => {
  const root = document.documentElement;
  const all = (selector, within = document) => [...within.querySelectorAll(selector)];

  // Pages of cells: the address after # is the route.
  const title = document.title;
  let left = { hash: null, y: 0 };
  let hash = location.hash;

  function route() {
    const before = hash;
    hash = location.hash;
    let target = null;
    try {
      target = document.getElementById(decodeURIComponent(hash.slice(1)));
    } catch {
      // No text that was encoded: no place of this document.
    }
    const page = target && target.closest("article.cell");
    const shown = document.querySelector("article.shown");
    if (page) {
      if (!shown) left = { hash: before, y: scrollY };
      if (shown) shown.classList.remove("shown");
      page.classList.add("shown");
      root.classList.add("one");
      document.title = `${page.querySelector("h3").textContent} · ${title}`;
      scrollTo(0, 0);
      page.querySelector("h3").focus({ preventScroll: true });
    } else if (shown) {
      shown.classList.remove("shown");
      root.classList.remove("one");
      document.title = title;
      if (left.hash === hash) scrollTo(0, left.y);
      else if (target) target.scrollIntoView();
      // Where the reader came from, so that the keyboard goes on from there.
      const link = document.querySelector(`main > section:not(#cells) a[href="#${shown.id}"]`);
      if (link) link.focus({ preventScroll: true });
    }
  }

  addEventListener("hashchange", route);
  route();

  // Sorting: within each body of a table; a third click brings the order of the paper back.
  function value(row, place, kind) {
    const cell = row.cells[place];
    if (kind === "text") return cell ? cell.textContent : "";
    const found = cell ? parseFloat(cell.dataset.value ?? cell.textContent) : NaN;
    return Number.isNaN(found) ? null : found;
  }

  function sort(table, heading, order) {
    const place = heading.cellIndex;
    const kind = heading.dataset.sort;
    const sign = order === "descending" ? -1 : 1;
    for (const body of table.tBodies) {
      const rows = [...body.rows].filter((row) => !row.classList.contains("group"));
      for (const [number, row] of rows.entries()) row.dataset.order ??= number;
      rows.sort((one, other) => {
        const places = Number(one.dataset.order) - Number(other.dataset.order);
        if (order === "none") return places;
        const [a, b] = [value(one, place, kind), value(other, place, kind)];
        // Rows without a number come last in either direction.
        if (a === null || b === null) return (a === null) - (b === null) || places;
        return sign * (kind === "text" ? a.localeCompare(b, "en", { numeric: true }) : a - b) || places;
      });
      body.append(...rows);
    }
    for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
    if (order !== "none") heading.setAttribute("aria-sort", order);
  }

  for (const table of all("table.sortable")) {
    for (const heading of all("th[data-sort]", table.tHead)) {
      const button = document.createElement("button");
      button.type = "button";
      button.append(...heading.childNodes);
      heading.append(button);
      // The best first: of a paper's numbers the highest, unless lower is better.
      const falling = table.classList.contains("paper") && heading.dataset.sort === "number" && !("lower" in heading.dataset);
      const orders = falling ? ["descending", "ascending"] : ["ascending", "descending"];
      button.addEventListener("click", () => {
        const now = orders.indexOf(heading.getAttribute("aria-sort"));
        sort(table, heading, orders[now + 1] ?? "none");
      });
    }
  }

  // Filtering: over all tables at once.
  const sections = all("section.table");
  const kinds = ["dataset", "metric", "method"];
  const known = (kind) => [...new Set(all(`section.table [data-${kind}]`).map((item) => item.dataset[kind]))].sort();
  const place = document.getElementById("tables-filter");
  if (!place) return;
  const form = document.createElement("form");
  form.className = "filter";
  form.setAttribute("role", "search");
  form.setAttribute("aria-label", "filter of the tables");
  const selects = {};
  for (const kind of kinds) {
    const label = document.createElement("label");
    const select = document.createElement("select");
    select.name = kind;
    select.append(new Option("all", ""), ...known(kind).map((name) => new Option(name, name)));
    label.append(kind, select);
    form.append(label);
    selects[kind] = select;
  }
  const check = document.createElement("label");
  const ran = document.createElement("input");
  ran.type = "checkbox";
  ran.name = "ran";
  check.className = "check";
  check.append(ran, "with runs only");
  const reset = document.createElement("button");
  reset.type = "reset";
  reset.textContent = "show all";
  const said = document.createElement("output");
  form.append(check, reset, said);
  place.replaceWith(form);

  const fits = (kind, item) => !selects[kind].value || !(kind in item.dataset) || item.dataset[kind] === selects[kind].value;

  function filter() {
    let shown = 0;
    let count = 0;
    for (const section of sections) {
      const table = section.querySelector("table");
      const headings = [...table.tHead.rows[0].cells];
      const visible = headings.map((heading) => fits("dataset", heading) && fits("metric", heading));
      const columns = visible.filter(Boolean).length - 1;
      headings.forEach((heading, number) => { heading.hidden = !visible[number]; });
      let here = 0;
      for (const body of table.tBodies) {
        let rows = 0;
        for (const row of body.rows) {
          if (row.classList.contains("group")) continue;
          row.hidden = !fits("method", row) || (ran.checked && "unrun" in row.dataset);
          rows += !row.hidden;
          count += row.cells.length - 1;
          for (const [number, cell] of [...row.cells].entries()) cell.hidden = !visible[number];
        }
        body.hidden = !rows || !fits("dataset", body);
        if (!body.hidden) here += rows * columns;
      }
      section.hidden = !here;
      for (const link of all(`.contents a[href="#${section.id}"]`)) link.parentElement.hidden = !here;
      shown += here;
    }
    said.textContent = shown ? `${shown.toLocaleString("en")} of ${count.toLocaleString("en")} cells` : "no table has such a cell";
  }

  form.addEventListener("change", filter);
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("reset", () => setTimeout(filter));
  filter();
});
