// The tables of the benchmarks and a plot of each; nobody's data, so it needs no token.

import { byId, el } from "./dom.js";
import { bars, lines } from "./plot.js";

let shown = false;

export async function show() {
  if (shown) return;
  shown = true;
  try {
    const answer = await fetch("benchmarks.json");
    const { tables } = await answer.json();
    byId("benchmarks").replaceChildren(el("p", {}, "Measured on the bundled personas and on public test sets, with models that have not seen them; docs/benchmarks.md says how."), ...tables.map(one));
  } catch {
    shown = false;
    byId("benchmarks").replaceChildren(el("p", {}, "The tables cannot be read: is the service running?"));
  }
}

function one({ title, head, rows, plot }) {
  return el(
    "section",
    { class: "card" },
    el("h2", {}, title),
    drawn(title, head, rows, plot),
    el(
      "div",
      { class: "wide", tabindex: 0, role: "region", "aria-label": `Table: ${title}` },
      el(
        "table",
        {},
        el("caption", { class: "unseen" }, title),
        el("thead", {}, el("tr", {}, ...head.map((cell) => el("th", { scope: "col" }, cell)))),
        el("tbody", {}, ...rows.map(row)),
      ),
    ),
  );
}

function drawn(title, head, rows, { kind, columns, most }) {
  if (kind === "none") return null;
  const [picture, said] = kind === "lines" ? [lines(title, head, rows, columns), "Percent"] : [bars(title, rows, columns[0], most), head[columns[0]]];
  return el("figure", {}, el("figcaption", { class: "quiet" }, said), picture);
}

function row({ cells, kind }) {
  return el("tr", { class: kind }, el("th", { scope: "row" }, cells[0]), ...cells.slice(1).map((cell) => el("td", {}, cell)));
}
