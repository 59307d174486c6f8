import { ask, complain } from "/api.js";
import { all, at, make } from "/dom.js";
import { startAsk } from "/ask.js";
import { startDraw } from "/draw.js";
import { startRows } from "/rows.js";
import { startStructure } from "/structure.js";

const NAMES = { ask: "What if", draw: "Draw", structure: "Structure", rows: "Rows" };

const open = (name) => {
  all("#tabs button").forEach((button) => {
    const mine = button.dataset.part === name;
    button.setAttribute("aria-selected", mine);
    button.tabIndex = mine ? 0 : -1;
    at(button.dataset.part).hidden = !mine;
  });
  at(name).dispatchEvent(new Event("open"));
};

const turn = (event) => {
  const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
  if (!step) return;
  const buttons = all("#tabs button");
  const next = buttons[(buttons.indexOf(event.target) + step + buttons.length) % buttons.length];
  next.focus();
  open(next.dataset.part);
};

const start = async () => {
  let about;
  try {
    about = await ask("about");
  } catch (error) {
    complain(error.message);
    return;
  }
  const names = about.models.map((one) => one.name).join(" and ");
  const title = about.target ? `${names}: ${about.target}` : names;
  document.title = title;
  at("title").textContent = title;
  at("about").textContent = [...new Set(about.models.map((one) => one.about))].join(" ");
  const parts = [about.image && "draw", "ask", "structure", about.n_rows && "rows"].filter(Boolean);
  parts.forEach((part) => at("tabs").append(make("button", {
    type: "button", role: "tab", id: `tab-${part}`, text: NAMES[part], "data-part": part,
    "aria-controls": part, "aria-selected": "false", on: { click: () => open(part), keydown: turn },
  })));
  const row = startAsk(about);
  const load = (place) => { row.load(place); open("ask"); };
  if (about.image) startDraw(about);
  startStructure(about, { load, cells: row.cells });
  if (about.n_rows) startRows(about, load);
  open(parts[0]);
};

start();
