// Elements made from parts. Text is always text: nothing here, or anywhere in the page, takes markup from a string.

const SVG = "http://www.w3.org/2000/svg";

export const byId = (id) => document.getElementById(id);

export function el(tag, attributes = {}, ...children) {
  return filled(document.createElement(tag), attributes, children);
}

export function svg(tag, attributes = {}, ...children) {
  return filled(document.createElementNS(SVG, tag), attributes, children);
}

function filled(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") element.addEventListener(name, value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value != null) element.setAttribute(name, String(value));
  }
  element.append(...children.filter((child) => child != null).map((child) => (child instanceof Node ? child : String(child))));
  return element;
}

// A bar that says its figure to those who do not see it. Widths are set on the element: the page has no inline styles.
export function bar(share, said, kind = "") {
  const fill = el("span", { class: `fill ${kind}` });
  fill.style.width = `${Math.round(100 * Math.min(1, Math.abs(share)))}%`;
  return el("span", { class: `bar ${kind}`, role: "img", "aria-label": said, title: said }, fill);
}

export const percent = (share) => `${Math.round(100 * share)} %`;
