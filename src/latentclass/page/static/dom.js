// Small helpers. Text goes into the page as text, never as HTML.
export const at = (id) => document.getElementById(id);
export const all = (selector, within = document) => [...within.querySelectorAll(selector)];

export const make = (tag, options = {}, ...children) => {
  const { text, kind, on, ...attributes } = options;
  const element = document.createElement(tag);
  if (text !== undefined) element.textContent = text;
  if (kind) element.className = kind;
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== false && value !== null) element.setAttribute(name, value === true ? "" : value);
  }
  for (const [event, act] of Object.entries(on ?? {})) element.addEventListener(event, act);
  element.append(...children);
  return element;
};

export const percent = (share) => {
  if (share === null || share === undefined) return "–";
  const value = 100 * share;
  if (value > 0 && value < 0.05) return "< 0.1 %";
  if (value >= 99.95 && value < 100) return "> 99.9 %";
  return `${value.toFixed(1)} %`;
};

export const signed = (value) => {
  if (Math.abs(value) >= 1e6) return value > 0 ? "+∞" : "−∞";
  return (value < 0 ? "−" : "+") + Math.abs(value).toFixed(2);
};

const svg = (tag, attributes) => {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  return element;
};

// A bar as the report has it. `before` is drawn as an outline.
export const bar = (value, most, { bothWays = false, before = null } = {}) => {
  const long = (one) => (most > 0 ? Math.min(Math.abs(one) / most, 1) * 100 : 0);
  const left = (one) => (one < 0 ? -long(one) : 0);
  const picture = svg("svg", {
    class: "bar", viewBox: bothWays ? "-100 0 200 10" : "0 0 100 10",
    preserveAspectRatio: "none", "aria-hidden": "true",
  });
  picture.append(svg("rect", {
    class: value < 0 ? "neg" : "pos", x: left(value), y: 1, width: long(value), height: 8,
  }));
  if (bothWays) picture.append(svg("rect", { class: "zero", x: -0.6, y: 0, width: 1.2, height: 10 }));
  if (before !== null) {
    picture.append(svg("rect", { class: "ghost", x: left(before), y: 1, width: long(before), height: 8 }));
  }
  return picture;
};

export const head = (row, names, numbers = []) => row.append(...names.map((name, place) =>
  make("th", { text: name, scope: "col", kind: numbers.includes(place) ? "num" : "" })));
