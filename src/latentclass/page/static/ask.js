// What if: a row as a form, and what the models say of it while it is changed.
import { ask, complain, newest } from "/api.js";
import { at, bar, head, make, percent, signed } from "/dom.js";

const MANY = 20; // columns from which they can be looked for

const readNumber = (text) => {
  const plain = text.trim().replace("−", "-").replace(/^(-?\d+),(\d+)$/, "$1.$2");
  return plain === "" ? null : Number(plain);
};

export const startAsk = (about) => {
  const { fields, models } = about;
  const cells = fields.map(() => null);
  const inputs = [], lines = [];
  let answers = null, before = null, changed = null, story = null;

  // ------------------------------------------------------------------------ answers
  const drawAnswers = () => {
    at("answers").replaceChildren(...models.map((model, m) => {
      const now = answers[m], was = before?.[m];
      const table = make("table", { kind: "classes" });
      const body = table.createTBody();
      const order = model.classes.map((_, k) => k);
      if (order.length > 12) order.sort((a, b) => now.proba[b] - now.proba[a]).splice(12);
      order.forEach((k) => {
        const line = body.insertRow();
        line.className = k === now.best ? "best" : "";
        line.append(
          make("th", { text: model.classes[k], scope: "row" }),
          make("td", {}, bar(now.proba[k], 1, { before: was ? was.proba[k] : null })),
          make("td", { text: percent(now.proba[k]), kind: "num" }));
        if (was) line.append(make("td", { text: `was ${percent(was.proba[k])}`, kind: "num was" }));
      });
      const more = model.classes.length - order.length;
      const odd = `As unusual or more: ${percent(now.unusual)} of rows drawn from the model` +
        (was ? ` (was ${percent(was.unusual)}).` : ".");
      return make("div", { kind: "answer" },
        make("h3", { text: model.name }), table,
        make("p", { kind: "note", text: more > 0 ? `${odd} ${more} less probable classes are not shown.` : odd }));
    }));
    lines.forEach((line, j) => {
      const guesses = answers.map((one) => one.filled[j]).filter((one) => one !== null);
      line.expected.textContent = cells[j] === null && guesses.length
        ? `expected: ${[...new Set(guesses)].join(" or ")}` : "";
    });
    tell();
  };

  const shown = (j, cell) => (cell === null ? "nothing"
    : fields[j].values.length ? fields[j].values[cell] : String(cell));

  const tell = () => {
    at("change").hidden = !story || !before;
    at("cell-back").disabled = !story;
    if (!story || !before) return;
    const texts = models.map((model, m) => {
      const k = answers[m].best, old = before[m].best;
      const turned = k === old ? "" : `, replacing ${model.classes[old]}`;
      return `${models.length > 1 ? `${model.name}, class` : "Class"} ${model.classes[k]}: ` +
        `${percent(before[m].proba[k])} → ${percent(answers[m].proba[k])}${turned}`;
    });
    at("change").textContent = `${fields[story.place].name}: ${shown(story.place, story.old)} → ` +
      `${shown(story.place, story.value)}. ${texts.join(". ")}.`;
  };

  const sendAsk = newest("ask", (found) => {
    answers = found;
    at("answers").classList.remove("waiting");
    drawAnswers();
  });

  // ----------------------------------------------------------------------- evidence
  const sendWhy = newest("why", (found) => {
    const sizes = found.flatMap((one) => one.weights).filter((w) => w !== null && Math.abs(w) < 1e5);
    const most = Math.max(...sizes.map(Math.abs), 0.5);
    at("cells").tHead.rows[0].querySelectorAll(".target").forEach((cell, m) => {
      cell.textContent = `${models.length > 1 ? `${models[m].name}: ` : ""}weight for ${models[m].classes[found[m].target]}`;
    });
    lines.forEach((line, j) => line.weights.forEach((cell, m) => {
      const weight = found[m].weights[j];
      cell.replaceChildren();
      if (weight !== null) {
        cell.append(make("span", { kind: "num", text: signed(weight) }), bar(weight, most, { bothWays: true }));
      }
    }));
  });

  const send = () => {
    at("answers").classList.add("waiting");
    sendAsk({ cells: [...cells] });
    sendWhy({ cells: [...cells] });
  };

  // --------------------------------------------------------------------------- form
  const put = (j, cell) => {
    cells[j] = cell;
    inputs[j].value = cell === null ? "" : String(cell);
    inputs[j].removeAttribute("aria-invalid");
  };
  const change = (j, value) => {
    if (value === cells[j]) return;
    if (changed !== j || !story) { // one cell after the other: typing on in a cell is one change
      before = answers;
      story = { place: j, old: cells[j] };
    }
    changed = j;
    story.value = value;
    cells[j] = value;
    send();
  };
  const fresh = (name) => {
    before = story = changed = null;
    at("row-name").textContent = name;
    send();
  };

  const makeInput = (field, j) => {
    const label = { "aria-label": field.name, id: `cell-${j}` };
    if (field.values.length) {
      return make("select", { ...label, on: { change: (event) => {
        change(j, event.target.value === "" ? null : Number(event.target.value));
      } } }, make("option", { text: "", value: "", "aria-label": "unknown" }),
      ...field.values.map((text, k) => make("option", { text, value: k })));
    }
    return make("input", { ...label, type: "text", inputmode: "decimal", autocomplete: "off", on: { input: (event) => {
      const value = readNumber(event.target.value);
      const wrong = Number.isNaN(value) || !Number.isFinite(value ?? 0);
      if (wrong) {
        event.target.setAttribute("aria-invalid", "true");
        return;
      }
      event.target.removeAttribute("aria-invalid");
      change(j, value);
    } } });
  };

  const table = at("cells");
  const top = table.createTHead().insertRow();
  head(top, ["column", "cell", ""]);
  models.forEach(() => top.append(make("th", { scope: "col", kind: "target", text: "weight" })));
  top.cells[2].replaceWith(make("td"));
  const body = table.createTBody();
  fields.forEach((field, j) => {
    const input = makeInput(field, j);
    const expected = make("span", { kind: "expected" });
    const weights = models.map(() => make("td", { kind: "weight" }));
    const row = body.insertRow();
    row.append(
      make("th", { scope: "row", text: field.name }),
      make("td", {}, input, make("div", {}, expected)),
      make("td", {}, make("button", { type: "button", text: "×", title: "Empty this cell",
        "aria-label": `Empty ${field.name}`, on: { click: () => { change(j, null); put(j, null); } } })),
      ...weights);
    inputs.push(input);
    lines.push({ row, expected, weights });
  });
  if (fields.length > MANY) {
    at("filter-line").hidden = false;
    at("filter").addEventListener("input", (event) => {
      const text = event.target.value.trim().toLowerCase();
      lines.forEach((line, j) => { line.row.hidden = !fields[j].name.toLowerCase().includes(text); });
    });
  }
  at("row-empty").addEventListener("click", () => {
    fields.forEach((_, j) => put(j, null));
    fresh("An empty row: this is what the model says before it sees any cell.");
  });
  at("cell-back").addEventListener("click", () => {
    const { place, old } = story;
    put(place, old);
    fresh(at("row-name").textContent);
  });

  const show = async (which) => {
    try {
      const found = await ask("row", which);
      found.cells.forEach((cell, j) => put(j, cell));
      at("row-number").value = found.name;
      fresh(`Row ${found.name}${found.label ? `, of class ${found.label}` : ""}.`);
    } catch (error) {
      complain(error.message);
    }
  };
  const load = (place) => show({ row: place });
  if (about.n_rows) {
    at("from-data").hidden = false;
    const go = () => show({ name: at("row-number").value });
    at("row-load").addEventListener("click", go);
    at("row-number").addEventListener("keydown", (event) => { if (event.key === "Enter") go(); });
    load(0);
  } else {
    fresh("An empty row: this is what the model says before it sees any cell.");
  }
  return { load, cells: () => [...cells] };
};
