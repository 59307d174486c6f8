// Draw: an image, pixel by pixel, and what the models make of it.
import { ask, complain, newest } from "/api.js";
import { all, at, make, percent } from "/dom.js";

const PAUSE = 450;
const INK = "#14181d", PAPER = "#ffffff", UNSEEN = "#a9b2bb", GRID = "#8d97a1";
const grey = (share) => `rgb(${[20, 24, 29].map((dark) => Math.round(255 + (dark - 255) * share)).join(" ")})`;

export const startDraw = (about) => {
  const { height, width } = about.image;
  const pad = at("pad"), size = 24;
  pad.width = width * size;
  pad.height = height * size;
  pad.style.aspectRatio = `${width} / ${height}`;
  const context = pad.getContext("2d");
  let pixels = Array(height * width).fill(null);
  let steps = []; // the image before each stroke
  let pen = 1, stroke = null, cursor = null, digit = null, replaying = false;

  const paint = () => {
    pixels.forEach((pixel, k) => {
      context.fillStyle = pixel === null ? UNSEEN : pixel ? INK : PAPER;
      context.fillRect((k % width) * size, Math.floor(k / width) * size, size, size);
    });
    context.strokeStyle = GRID;
    context.lineWidth = 0.5;
    for (let x = 1; x < width; x += 1) context.strokeRect(x * size, -1, 0, pad.height + 2);
    for (let y = 1; y < height; y += 1) context.strokeRect(-1, y * size, pad.width + 2, 0);
    if (cursor !== null && pad.matches(":focus-visible")) {
      context.strokeStyle = "#0b6fb8";
      context.lineWidth = 3;
      context.strokeRect((cursor % width) * size + 2, Math.floor(cursor / width) * size + 2, size - 4, size - 4);
    }
    at("undo").disabled = at("replay").disabled = replaying || !steps.length;
  };

  // ------------------------------------------------------------------- the models' minds
  const minds = about.models.map((model) => {
    const bars = model.classes.map((name) => {
      const column = make("span");
      const item = make("li", {}, column, name);
      return { item, column, name };
    });
    const image = (label) => make("canvas", { width, height, role: "img", "aria-label": label });
    const expected = image(`Expected image by ${model.name}`), likely = image(`Most probable image by ${model.name}`);
    const says = make("p", { role: "status", kind: "says" });
    at("minds").append(make("div", { kind: "mind" }, make("h3", { text: model.name }), says,
      make("ul", { kind: "digits", "aria-label": "Probability of each class" }, ...bars.map((one) => one.item)),
      make("div", { kind: "images" },
        make("figure", {}, expected, make("figcaption", { text: "expected" })),
        make("figure", {}, likely, make("figcaption", { text: "most probable" })))));
    return { bars, expected, likely, says };
  });
  const fill = (canvas, values) => {
    const picture = canvas.getContext("2d");
    values.forEach((value, k) => {
      picture.fillStyle = grey(value);
      picture.fillRect(k % width, Math.floor(k / width), 1, 1);
    });
  };
  const showMind = ({ bars, expected, likely, says }, one) => {
    bars.forEach(({ item, column, name }, k) => {
      column.style.height = `${Math.max(1, 78 * one.proba[k])}%`;
      item.className = k === one.best ? "best" : "";
      item.title = `${name}: ${percent(one.proba[k])}`;
    });
    says.textContent = pixels.every((pixel) => pixel === null)
      ? "Nothing is seen yet: the bars are the shares of the classes."
      : `${bars[one.best].name} (${percent(one.proba[one.best])})`;
    fill(expected, one.expected);
    fill(likely, one.likely);
  };
  const send = newest("draw", (found) => {
    found.forEach((one, m) => showMind(minds[m], one));
    at("minds").dataset.answers = String(Number(at("minds").dataset.answers ?? 0) + 1);
  });
  const changed = () => { paint(); send({ pixels }); };

  // ------------------------------------------------------------------------------ strokes
  const begin = () => { steps.push([...pixels]); };
  const end = (before) => {
    if (before.every((pixel, k) => pixel === pixels[k])) steps.pop();
    changed();
  };
  const broad = Math.min(width, height) >= 12 ? 2 : 1; // about as the strokes of such images
  const dot = (x, y) => {
    for (let down = y; down < Math.min(y + broad, height); down += 1) {
      for (let right = x; right < Math.min(x + broad, width); right += 1) pixels[down * width + right] = pen;
    }
  };
  const where = (event) => {
    const box = pad.getBoundingClientRect();
    const x = Math.floor(((event.clientX - box.left) / box.width) * width);
    const y = Math.floor(((event.clientY - box.top) / box.height) * height);
    return x >= 0 && x < width && y >= 0 && y < height ? [x, y] : null;
  };
  const along = (from, to) => { // a quick hand leaves no gaps
    const n = Math.max(Math.abs(to[0] - from[0]), Math.abs(to[1] - from[1]), 1);
    for (let i = 0; i <= n; i += 1) {
      const x = Math.round(from[0] + ((to[0] - from[0]) * i) / n);
      dot(x, Math.round(from[1] + ((to[1] - from[1]) * i) / n));
    }
  };
  pad.addEventListener("pointerdown", (event) => {
    const place = where(event);
    if (!place || replaying) return;
    pad.setPointerCapture(event.pointerId);
    begin();
    stroke = place;
    along(place, place);
    paint();
  });
  pad.addEventListener("pointermove", (event) => {
    const place = stroke && where(event);
    if (!place) return;
    along(stroke, place);
    stroke = place;
    paint();
  });
  const lift = () => {
    if (!stroke) return;
    stroke = null;
    end(steps[steps.length - 1]);
  };
  pad.addEventListener("pointerup", lift);
  pad.addEventListener("pointercancel", lift);
  pad.addEventListener("focus", () => { cursor ??= 0; paint(); });
  pad.addEventListener("blur", paint);
  pad.addEventListener("keydown", (event) => {
    const [dx, dy] = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1], " ": [0, 0] }[event.key] ?? [];
    if (dx === undefined || replaying) return;
    event.preventDefault();
    const x = Math.min(Math.max((cursor % width) + dx, 0), width - 1);
    const y = Math.min(Math.max(Math.floor(cursor / width) + dy, 0), height - 1);
    cursor = y * width + x;
    if (event.key === " ") {
      begin();
      dot(x, y);
      end(steps[steps.length - 1]);
    } else paint();
  });

  // -------------------------------------------------------------------------------- tools
  all("#pens button").forEach((button) => button.addEventListener("click", () => {
    pen = button.dataset.pen === "" ? null : Number(button.dataset.pen);
    all("#pens button").forEach((one) => one.setAttribute("aria-pressed", one === button));
  }));
  at("undo").addEventListener("click", () => { pixels = steps.pop(); changed(); });
  const replace = (next) => {
    if (replaying) return;
    begin();
    const before = pixels;
    pixels = next;
    end(before);
  };
  at("clear").addEventListener("click", () => replace(pixels.map(() => null)));
  at("rest").addEventListener("click", () => replace(pixels.map((pixel) => pixel ?? 0)));
  at("replay").addEventListener("click", async () => {
    const whole = [...steps, pixels];
    replaying = true;
    for (const step of whole) {
      pixels = [...step];
      changed();
      await new Promise((done) => { setTimeout(done, PAUSE); });
    }
    replaying = false;
    paint();
  });

  // --------------------------------------------------------------- an image, line by line
  const disclose = () => {
    const seen = Number(at("lines").value) * width;
    replace(digit.map((pixel, k) => (k < seen ? pixel : null)));
  };
  if (about.n_rows) {
    at("disclose").hidden = false;
    at("lines").max = String(height);
    at("lines").addEventListener("input", () => digit && disclose());
    at("take-digit").addEventListener("click", async () => {
      try {
        const found = await ask("image", { row: Math.floor(Math.random() * about.n_rows) });
        digit = found.pixels;
        at("digit-name").textContent = found.label ? `of class ${found.label}` : "";
        at("lines").disabled = false;
        at("lines").value = String(Math.round(height / 2));
        disclose();
      } catch (error) {
        complain(error.message);
      }
    });
  }
  changed();
};
