// Rows: the data with predictions, a page at a time, sorted and searched by the server.
import { newest } from "/api.js";
import { at, make, percent } from "/dom.js";

const COUNT = 50, PAUSE = 700;

export const startRows = (about, load) => {
  let start = 0, sort = "row", down = false, total = 0, timer = null;
  const table = at("row-table");
  const heads = [
    ["row", "row", false], about.labelled && ["class", "class", false], ["predicted", "predicted", false],
    ["probability", "probability", true], ["unusual", "as unusual", true],
    ...about.columns.map((name, j) => [j, name, !about.fields[j]?.values.length]),
  ].filter(Boolean);

  const send = newest("page", (found) => {
    total = found.total;
    const body = make("tbody");
    found.rows.forEach(([place, name, label, predicted, probability, unusual, ...cells]) => {
      const line = make("tr", { on: { click: () => load(place) } });
      line.append(make("th", { scope: "row" }, make("button", { type: "button", kind: "open", text: name })));
      if (about.labelled) line.append(make("td", { text: label || "–" }));
      line.append(
        make("td", { text: predicted, kind: label && label !== predicted ? "wrong" : "" }),
        make("td", { text: percent(probability), kind: "num" }),
        make("td", { text: percent(unusual), kind: "num" }),
        ...cells.map((cell, j) => make("td", { text: cell || "–", title: cell, kind: about.fields[j]?.values.length ? "" : "num" })));
      body.append(line);
    });
    table.tBodies[0]?.remove();
    table.append(body);
    const last = Math.min(found.start + COUNT, total);
    at("page-place").textContent = total ? `${found.start + 1} to ${last} of ${total}` : "none";
    const rated = found.rated < found.n_rows
      ? ` ${Math.floor((100 * found.rated) / found.n_rows)} % of all rows are rated so far; the others are sorted last.` : "";
    at("rows-found").textContent = `${total} of ${found.n_rows} rows.${rated}`;
    at("page-first").disabled = at("page-back").disabled = found.start === 0;
    at("page-on").disabled = at("page-last").disabled = last >= total;
    clearTimeout(timer);
    if (rated && !at("rows").hidden) timer = setTimeout(show, PAUSE);
  });
  const show = () => send({ start, count: COUNT, sort, down, search: at("search").value });

  const top = table.createTHead().insertRow();
  heads.forEach(([key, name, numeric]) => {
    const cell = make("th", { scope: "col", kind: numeric ? "num" : "" });
    cell.append(make("button", { type: "button", text: name, title: name, on: { click: () => {
      const first = key === "unusual" ? false : numeric; // the most unusual rows are wanted first
      down = sort === key ? !down : first;
      sort = key;
      start = 0;
      [...top.cells].forEach((one) => one.removeAttribute("aria-sort"));
      cell.setAttribute("aria-sort", down ? "descending" : "ascending");
      show();
    } } }));
    top.append(cell);
  });
  const go = (place) => { start = Math.max(0, place); show(); };
  at("page-first").addEventListener("click", () => go(0));
  at("page-back").addEventListener("click", () => go(start - COUNT));
  at("page-on").addEventListener("click", () => go(start + COUNT));
  at("page-last").addEventListener("click", () => go(Math.floor((total - 1) / COUNT) * COUNT));
  at("search").addEventListener("input", () => go(0));
  at("rows").addEventListener("open", show);
  const more = about.n_columns - about.columns.length;
  at("rows-note").textContent = "Click a row to ask about it. “As unusual” is the share of rows drawn from the model " +
    "that are at least as unusual. The search finds a part of a text, or a number." +
    (more > 0 ? ` The first ${about.columns.length} of ${about.n_columns} columns are shown.` : "");
};
