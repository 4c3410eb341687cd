// Figures of a table as bars, or as lines over the columns; drawn here, so that they follow the theme.

import { svg } from "./dom.js";

const WIDE = 640;

const figure = (cell) => Number.parseFloat(cell);
const spread = (cell) => Number.parseFloat(/±([\d.]+)/.exec(cell)?.[1] ?? "0");

export function bars(title, rows, column, most) {
  const drawn = rows.filter(({ cells }) => Number.isFinite(figure(cells[column])));
  const plot = svg("svg", { viewBox: `0 0 ${WIDE} ${drawn.length * 24 + 6}`, role: "img", "aria-label": `${title}, as bars; the table has the figures`, class: "plot" });
  const x = (value) => 250 + (value / most) * (WIDE - 310);
  drawn.forEach(({ cells, kind }, place) => {
    const y = place * 24 + 6;
    const value = figure(cells[column]);
    const by = spread(cells[column]);
    plot.append(
      svg("text", { x: 242, y: y + 13, "text-anchor": "end" }, cells[0]),
      svg("rect", { x: x(0), y, width: Math.max(1, x(value) - x(0)), height: 16, class: `column ${kind}` }),
      svg("text", { x: x(value + by) + 6, y: y + 13 }, value),
    );
    if (by) plot.append(svg("path", { d: `M${x(value - by)} ${y + 8}H${x(Math.min(most, value + by))}`, class: "whisker" }));
  });
  return plot;
}

export function lines(title, head, rows, columns) {
  const high = 300;
  const plot = svg("svg", { viewBox: `0 0 ${WIDE} ${high}`, role: "img", "aria-label": `${title}, as lines; the table has the figures`, class: "plot" });
  const x = (place) => 40 + (place / (columns.length - 1)) * 260;
  const y = (value) => high - 30 - (value / 100) * (high - 50);
  for (const value of [0, 25, 50, 75, 100]) {
    plot.append(svg("path", { d: `M40 ${y(value)}H300`, class: "grid" }), svg("text", { x: 34, y: y(value) + 4, "text-anchor": "end" }, value));
  }
  columns.forEach((column, place) => plot.append(svg("text", { x: x(place), y: high - 8, "text-anchor": "middle" }, head[column])));
  const ends = [];
  rows.forEach(({ cells }, number) => {
    const points = columns.map((column, place) => `${x(place)},${y(figure(cells[column]))}`);
    plot.append(svg("polyline", { points: points.join(" "), class: `line line-${number % 8}` }));
    ends.push([y(figure(cells[columns.at(-1)])), cells[0], number]);
  });
  // names beside the ends of their lines, moved apart where those are close
  let low = -Infinity;
  for (const [end, name, number] of ends.sort((a, b) => a[0] - b[0])) {
    low = Math.max(low + 17, end);
    plot.append(svg("path", { d: `M302 ${end}L318 ${low}`, class: "grid" }), svg("rect", { x: 320, y: low - 4, width: 12, height: 8, class: `swatch line-${number % 8}` }), svg("text", { x: 338, y: low + 4 }, name));
  }
  return plot;
}
