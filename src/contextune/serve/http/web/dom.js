// DOM helpers. Text is inserted as text nodes only; nothing on the page parses HTML from a string.

const SVG = "http://www.w3.org/2000/svg";
const ICONS = { right: "M3 8.5l3.2 3.2L13 5", wrong: "M4 4l8 8M12 4l-8 8" };

export const byId = (id) => document.getElementById(id);

export function el(tag, attributes = {}, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

export function svg(tag, attributes = {}, ...children) {
  return fill(document.createElementNS(SVG, tag), attributes, children);
}

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") element.addEventListener(name, value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value != null) element.setAttribute(name, String(value));
  }
  element.append(...children.filter((child) => child != null).map((child) => (child instanceof Node ? child : String(child))));
  return element;
}

// A bar beside the words that say the same, and so without a label. Scripts set the width: the CSP forbids inline styles.
export function bar(share, kind = "") {
  const inner = el("span", { class: `fill ${kind}` });
  inner.style.width = `${Math.round(100 * Math.min(1, Math.abs(share)))}%`;
  return el("span", { class: "bar", "aria-hidden": "true" }, inner);
}

export function icon(name) {
  return svg("svg", { viewBox: "0 0 16 16", class: "icon", "aria-hidden": "true" }, svg("path", { d: ICONS[name] }));
}

// A copy of a template, in which every id and every reference to one starts with the prefix.
export function copyTemplate(id, prefix) {
  const copy = byId(id).content.cloneNode(true);
  for (const name of ["id", "for", "aria-labelledby"]) {
    for (const element of copy.querySelectorAll(`[${name}]`)) element.setAttribute(name, `${prefix}-${element.getAttribute(name)}`);
  }
  return copy.firstElementChild;
}
