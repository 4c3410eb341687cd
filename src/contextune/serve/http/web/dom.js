// DOM helpers. Text is inserted as text nodes only; nothing on the page parses HTML from a string.

const SVG = "http://www.w3.org/2000/svg";

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

// A bar with an accessible label. The width is set by script, because the CSP forbids inline styles.
export function bar(share, label, kind = "") {
  const inner = el("span", { class: `fill ${kind}` });
  inner.style.width = `${Math.round(100 * Math.min(1, Math.abs(share)))}%`;
  return el("span", { class: `bar ${kind}`, role: "img", "aria-label": label, title: label }, inner);
}

export const percent = (share) => `${Math.round(100 * share)} %`;
