
"use strict";
(() => {
  const all = (selector, within = document) => [...within.querySelectorAll(selector)];

  // ------------------------------------------------------------ tables that sort
  const valueOf = (row, place) => {
    const cell = row.cells[place];
    if (cell.dataset.v !== undefined) {
      const number = Number.parseFloat(cell.dataset.v);
      return Number.isNaN(number) ? null : number;
    }
    const text = cell.textContent.trim();
    const number = Number(text.replaceAll(",", ""));
    return text !== "" && !Number.isNaN(number) ? number : text;
  };
  const compare = (a, b) => {
    if (a === null || b === null) return a === b ? 0 : a === null ? 1 : -1; // unknown comes last
    if (typeof a === "number" && typeof b === "number") return a - b;
    return String(a).localeCompare(String(b));
  };
  const sortBy = (table, head, place) => {
    const down = head.getAttribute("aria-sort") === "ascending" ||
      (!head.hasAttribute("aria-sort") && head.classList.contains("num"));
    all("th[aria-sort]", table).forEach((one) => one.removeAttribute("aria-sort"));
    head.setAttribute("aria-sort", down ? "descending" : "ascending");
    const body = table.tBodies[0];
    const keyed = [...body.rows].map((row) => [valueOf(row, place), row]);
    keyed.sort(([a], [b]) => (down && a !== null && b !== null ? compare(b, a) : compare(a, b)));
    body.append(...keyed.map(([, row]) => row));
  };
  all("table.sortable").forEach((table) => {
    if (!table.tHead || table.tBodies[0].rows.length < 2) return;
    [...table.tHead.rows[0].cells].forEach((head, place) => {
      if (head.querySelector(".unseen")) return;
      const button = document.createElement("button");
      button.type = "button";
      button.append(...head.childNodes);
      head.append(button);
      button.addEventListener("click", () => sortBy(table, head, place));
    });
  });

  // --------------------------------------------------------------- pick a column
  all(".control").forEach((one) => { one.hidden = false; });
  const columns = document.getElementById("columns");
  const pick = document.getElementById("pick");
  if (columns && pick) {
    columns.classList.add("picking");
    pick.addEventListener("change", () => {
      all(".column", columns).forEach((one, place) =>
        one.classList.toggle("picked", place === Number(pick.value)));
    });
  }

  // ------------------------------------------------------------------ find a row
  const data = JSON.parse(document.getElementById("row-data").textContent);
  // by identifier or by name, and a name comes first
  const places = new Map([7, 0].flatMap((at) => data.rows.map((row, place) => [row[at], place])));
  const found = document.getElementById("found-row");
  const input = document.getElementById("find");
  const make = (tag, text, kind) => {
    const element = document.createElement(tag);
    if (text !== undefined) element.textContent = text;
    if (kind) element.className = kind;
    return element;
  };
  const percent = (share) => (share === null ? "–" : `${(100 * share).toFixed(1)} %`);
  const signed = (value) => (value < 0 ? "−" : "+") + Math.abs(value).toFixed(2);
  const bar = (value, most) => {
    const space = "http://www.w3.org/2000/svg";
    const svg = document.createElementNS(space, "svg");
    svg.setAttribute("class", "bar");
    svg.setAttribute("viewBox", "-100 0 200 10");
    svg.setAttribute("preserveAspectRatio", "none");
    svg.setAttribute("aria-hidden", "true");
    const rect = document.createElementNS(space, "rect");
    const long = most > 0 ? Math.min(Math.abs(value) / most, 1) * 100 : 0;
    rect.setAttribute("class", value < 0 ? "neg" : "pos");
    rect.setAttribute("x", value < 0 ? -long : 0);
    rect.setAttribute("y", 1);
    rect.setAttribute("width", long);
    rect.setAttribute("height", 8);
    svg.append(rect);
    if (most > 0 && Math.abs(value) > 1.0001 * most) { // a gap marks a bar that is too long
      const gap = document.createElementNS(space, "rect");
      gap.setAttribute("class", "gap");
      gap.setAttribute("x", value < 0 ? -93 : 90);
      gap.setAttribute("width", 3);
      gap.setAttribute("height", 10);
      svg.append(gap);
    }
    return svg;
  };
  const showRow = () => {
    const name = input.value.trim();
    const place = places.get(name);
    found.replaceChildren();
    if (name === "") return;
    if (place === undefined) {
      const some = data.rows.length < data.n_rows
        ? ` Only ${data.rows.length} of ${data.n_rows} rows are on this page.` : "";
      found.append(make("p", `There is no row “${name.slice(0, 80)}” here.${some}`));
      return;
    }
    const [ownName, label, predicted, probability, unseen, unusual, cells, id] = data.rows[place];
    const word = data.unusual.find(([bound]) => unusual < bound)[1];
    const odd = unusual === null ? "" : `${word}: ${percent(unusual)} ${data.made_up}`;
    const beside = id === undefined ? "" : ` (${data.id_name} ${id})`;
    found.append(make("h4", `Row ${ownName}${beside}`));
    const judged = (said) => (label < 0 ? "." : said === label ? ": right." : ": wrong.");
    const own = `${data.classes[predicted]} (${percent(probability)})`;
    const known = label >= 0 ? `Class ${data.classes[label]}. ` : "";
    const answer = unseen === null || !data.refitted
      ? `The model says ${own}${judged(predicted)} `
      : `Held out, the model said ${data.classes[unseen[0]]} (${percent(unseen[1])})${judged(unseen[0])} ` +
        `Fitted to all rows, it says ${own}. `;
    found.append(make("p", known + answer + odd));
    const table = make("table", undefined, "evidence");
    const top = table.createTHead().insertRow();
    [["column", ""], ["cell", ""], ["weight", "num"], ["", ""]].forEach(([text, kind]) =>
      top.append(make(text ? "th" : "td", text, kind)));
    const body = table.createTBody();
    cells.forEach(([column, cell, weight]) => {
      const line = body.insertRow();
      const head = make("th");
      data.columns[column].split("_").forEach((part, k) => // a line may break after an underscore
        head.append(...(k ? ["_", make("wbr"), part] : [part])));
      head.scope = "row";
      const end = make("td", undefined, "barcell");
      end.append(bar(weight, data.most));
      line.append(head, make("td", cell), make("td", signed(weight), "num"), end);
    });
    found.append(table);
  };
  document.getElementById("show-row").addEventListener("click", showRow);
  input.addEventListener("keydown", (event) => { if (event.key === "Enter") showRow(); });
})();
