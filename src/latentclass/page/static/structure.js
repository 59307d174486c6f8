// Structure: the pictures of the report, with latent variables and points that can be picked.
import { ask, complain } from "/api.js";
import { all, at, bar, head, make, percent } from "/dom.js";

export const startStructure = (about, row) => {
  let loaded = false, zoom = 1;
  const findings = at("findings");

  const resize = () => all("figure > svg", findings).forEach((picture) => {
    const [, , width, height] = picture.getAttribute("viewBox").split(" ").map(Number);
    picture.setAttribute("width", width * zoom);
    picture.setAttribute("height", height * zoom);
  });

  const show = async () => {
    try {
      const found = await ask("structure");
      at("found").textContent = [found.sentence, found.note].filter(Boolean).join(" ");
      // the only HTML that is put in: made on the server by the report's template, which escapes
      findings.innerHTML = found.html;
      resize();
      loaded = true;
      complain("");
    } catch (error) {
      complain(error.message);
    }
  };

  const table = (heads, lines) => {
    const made = make("table");
    head(made.createTHead().insertRow(), heads);
    const body = made.createTBody();
    lines.forEach((line) => {
      const cells = body.insertRow();
      line.forEach((value, place) => {
        if (typeof value === "number") {
          cells.append(make("td", { kind: "num" }, `${percent(value)} `, bar(value, 1)));
        } else {
          cells.append(make(place ? "td" : "th", { text: value ?? "–", kind: value?.length > 40 ? "rule" : "", ...(place ? {} : { scope: "row" }) }));
        }
      });
    });
    return make("div", { kind: "scroll", tabindex: "0", role: "group", "aria-label": "Groups" }, made);
  };

  const renameForm = (name) => {
    const input = make("input", { id: "new-name", value: name, maxlength: "60", autocomplete: "off" });
    const send = async () => {
      try {
        const found = await ask("rename", { name, new: input.value });
        await show();
        await pick(found.name);
        at("saved").textContent = about.can_save ? "The new name is not yet saved."
          : "The model has the new name. Save it in Python to keep it.";
      } catch (error) {
        complain(error.message);
      }
    };
    input.addEventListener("keydown", (event) => { if (event.key === "Enter") send(); });
    return make("div", { kind: "tools" }, make("label", { for: "new-name", text: "Name" }), input,
      make("button", { type: "button", id: "rename", text: "Rename", on: { click: send } }));
  };

  const pick = async (name) => {
    try {
      const found = await ask("latent", { name });
      const cuts = Object.entries(found.cuts).map(([column, values]) =>
        `${column}: ${values.map((one) => Number(one.toPrecision(4))).join(", ")}`);
      at("latent").replaceChildren(
        make("h3", { text: found.of ? `${found.name}, in class ${found.of}` : found.name }),
        ...(about.can_rename ? [renameForm(found.name)] : []),
        table(found.heads, found.lines),
        ...(cuts.length ? [make("p", { kind: "note", text: `Numbers are cut into bins at ${cuts.join("; ")}.` })] : []),
        make("div", { kind: "tools" }, make("button", { type: "button", text: "Close", on: { click: () => { at("latent").hidden = true; } } })));
      at("latent").hidden = false;
      at("latent").scrollIntoView({ block: "nearest" });
      complain("");
    } catch (error) {
      complain(error.message);
    }
  };

  const act = (target) => {
    if (target.dataset?.latent) pick(target.dataset.latent);
    else if (target.dataset?.row && about.n_rows) row.load(Number(target.dataset.row));
  };
  findings.addEventListener("click", (event) => act(event.target));
  findings.addEventListener("keydown", (event) => {
    if (event.key === "Enter" || event.key === " ") {
      if (event.target.dataset?.latent) event.preventDefault();
      act(event.target);
    }
  });
  at("zoom-in").addEventListener("click", () => { zoom = Math.min(zoom * 1.25, 5); resize(); });
  at("zoom-out").addEventListener("click", () => { zoom = Math.max(zoom / 1.25, 0.5); resize(); });
  at("which-rules").hidden = !about.has_rules;
  at("which-rules").addEventListener("click", async () => {
    try {
      const found = await ask("fires", { cells: row.cells() });
      at("fired").replaceChildren(
        make("p", { text: `${found.lines.length} of ${found.n_rules} rules hold in the row.` }),
        table(["latent variable", "when", "holds with"], found.lines));
      complain("");
    } catch (error) {
      complain(error.message);
    }
  });
  at("save").hidden = !(about.can_rename && about.can_save);
  at("save").addEventListener("click", async () => {
    try {
      at("saved").textContent = `Saved in ${(await ask("save")).saved}.`;
      complain("");
    } catch (error) {
      complain(error.message);
    }
  });
  at("structure").addEventListener("open", () => { if (!loaded) show(); });
};
