// Map of the user's places without map data: azimuthal projection with logarithmic distance, so that near and far
// places both fit. Everything on it can also be selected from the list.

import { svg } from "./dom.js";

const SIZE = 300;
const NEAR = 0.1; // kilometres below which distances are about linear
const KM = 111.2; // kilometres per degree of latitude
const RINGS = [1, 10, 100, 1000, 10000];

// Returns the elements to show: none without places. Places with an address only are not on the map.
export function draw(places, selected, select) {
  const points = Object.entries(places).filter(([, point]) => Array.isArray(point));
  if (!points.length) return [];
  const centre = medoid(points.map(([, point]) => point));
  const farthest = Math.max(5, ...points.map(([, point]) => Math.hypot(...offsetKm(point, centre))));
  const scale = (SIZE / 2 - 34) / Math.log1p(farthest / NEAR);
  const coordinates = Array.isArray(selected) ? selected : null;
  const map = svg("svg", { viewBox: `0 0 ${SIZE} ${SIZE}`, role: "img", "aria-label": `Map of ${points.length} places; choose from the list above, or click` });
  map.append(svg("rect", { width: SIZE, height: SIZE, class: "ground" }));
  for (const ring of RINGS.filter((km) => km <= farthest * 1.5)) {
    const radius = scale * Math.log1p(ring / NEAR);
    map.append(
      svg("circle", { cx: SIZE / 2, cy: SIZE / 2, r: radius, class: "ring" }),
      svg("text", { x: SIZE / 2, y: SIZE / 2 - radius - 2, class: "distance" }, `${ring.toLocaleString("en")} km`),
    );
  }
  map.addEventListener("click", (event) => {
    const box = map.getBoundingClientRect();
    const x = ((event.clientX - box.left) / box.width) * SIZE, y = ((event.clientY - box.top) / box.height) * SIZE;
    select(unproject(x, y, centre, scale));
  });
  const labels = [];
  for (const [name, point] of points) map.append(mark(name, project(point, centre, scale), name === selected, labels, () => select(name)));
  if (coordinates) map.append(mark(coordinates.join(", "), project(coordinates, centre, scale), true, labels, () => select("")));
  return [map];
}

function mark(name, [x, y], selected, labels, select) {
  let low = y + 4;
  while (labels.some(([px, py]) => Math.abs(px - x) < 70 && Math.abs(py - low) < 12)) low += 12; // avoid overlapping labels
  labels.push([x, low]);
  const left = x > SIZE * 0.62;
  const group = svg(
    "g",
    { class: selected ? "mark chosen" : "mark", "data-place": name, click: (event) => (event.stopPropagation(), select()) },
    svg("circle", { cx: x, cy: y, r: selected ? 7 : 5 }),
    svg("text", { x: left ? x - 10 : x + 10, y: low, "text-anchor": left ? "end" : "start" }, name.length > 22 ? `${name.slice(0, 21)}…` : name),
    svg("circle", { cx: x, cy: y, r: 12, class: "reach" }), // on top: a larger touch target
  );
  return group;
}

// the place with the smallest total distance to all others
function medoid(points) {
  const sum = (from) => points.reduce((total, to) => total + Math.hypot(...offsetKm(to, from)), 0);
  return points.reduce((best, point) => (sum(point) < sum(best) ? point : best));
}

function offsetKm([lat, lon], [lat0, lon0]) {
  const turn = ((lon - lon0 + 540) % 360) - 180;
  return [turn * KM * Math.cos((lat0 * Math.PI) / 180), (lat - lat0) * KM];
}

function project(point, centre, scale) {
  const [east, north] = offsetKm(point, centre);
  const km = Math.hypot(east, north);
  const by = km ? (scale * Math.log1p(km / NEAR)) / km : 0;
  return [SIZE / 2 + east * by, SIZE / 2 - north * by];
}

function unproject(x, y, [lat0, lon0], scale) {
  const [right, up] = [x - SIZE / 2, SIZE / 2 - y];
  const radius = Math.hypot(right, up);
  const by = radius ? (NEAR * Math.expm1(radius / scale)) / radius : 0;
  const lat = Math.max(-90, Math.min(90, lat0 + (up * by) / KM));
  const lon = lon0 + (right * by) / (KM * Math.max(0.01, Math.cos((lat0 * Math.PI) / 180)));
  return [round(lat), round(((((lon + 180) % 360) + 360) % 360) - 180)];
}

const round = (degrees) => Math.round(degrees * 1e4) / 1e4;
