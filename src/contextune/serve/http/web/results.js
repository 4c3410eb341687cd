// What was found: items with what weighed, tools with and without context, and marks of what was right.

import { bar, byId, el, percent } from "./dom.js";

const FAMILIES = {
  text: ["words", "what words and meaning have in common"],
  store: ["application", "which application the request speaks of"],
  times: ["time", "where it lies from now"],
  place: ["place", "where you are, and where it belongs"],
  usage: ["habit", "when and where you turned to it before"],
  people: ["people", "whom the request speaks of"],
  state: ["state", "missed or answered, open or done"],
  utterance: ["request", "what kind of thing the request says"],
  links: ["links", "what ties it to other strong items"],
};
const SHOWN = 0.08; // bars below this share of the longest are left out

// What the user has marked: items by id, at most one tool.
export const marks = { items: new Map(), tool: null };

export function show(answer, marked) {
  marks.items.clear();
  marks.tool = null;
  const longest = Math.max(1e-9, ...answer.context.flatMap((hit) => Object.values(hit.signals).map(Math.abs)));
  const best = Math.max(1e-9, ...answer.context.map((hit) => hit.score));
  byId("items").replaceChildren(...answer.context.map((hit, place) => item(hit, place, hit.score / best, longest, marked)));
  if (!answer.context.length) byId("items").append(el("li", { class: "quiet" }, "Nothing of this user's goes back to before this moment."));
  const before = new Map(answer.alone.tools.map((hit, place) => [hit.id, place]));
  byId("tools").replaceChildren(...answer.tools.map((hit, place) => tool(hit, "tools", moved(before, hit.id, place), marked)));
  byId("alone").replaceChildren(...answer.alone.tools.map((hit) => tool(hit, "alone", "", marked)));
  byId("fits").textContent = fits(answer);
}

function fits({ fits: around, alone }) {
  if (around == null) return "";
  const bare = alone.fits == null ? "" : `, ${percent(alone.fits)} by the words alone`;
  return `That any tool serves this is ${percent(around)} probable${bare}.`;
}

function item(hit, place, share, longest, marked) {
  const name = hit.title || hit.item.id;
  const heavy = Object.entries(hit.signals)
    .filter(([, weight]) => Math.abs(weight) >= SHOWN * longest)
    .sort((a, b) => b[1] - a[1]);
  return el(
    "li",
    { id: `item-${place}`, class: "hit", tabindex: place ? -1 : 0, "data-walk": "items", "data-item": hit.item.id, "aria-label": `${place + 1}: ${name}` },
    el(
      "div",
      { class: "head" },
      el("strong", {}, name),
      el("span", { class: "badge" }, hit.item.app),
      hit.when ? el("time", { datetime: hit.when }, hit.when.slice(0, 16).replace("T", " ")) : null,
    ),
    el("div", { class: "score" }, bar(share, `score ${hit.score.toFixed(3)}`, "score"), el("span", { class: "quiet" }, hit.score.toFixed(3))),
    el("ul", { class: "reasons" }, ...hit.reasons.map((reason) => el("li", {}, reason))),
    el("dl", { class: "signals" }, ...heavy.flatMap(([family, weight]) => signal(family, weight, longest))),
    el("details", {}, el("summary", {}, "All of it"), fields(hit.item.fields)),
    buttons(marks.items, hit.item.id, name, marked),
  );
}

function signal(family, weight, longest) {
  const [word, about] = FAMILIES[family] ?? [family, ""];
  const said = `${word}: ${weight < 0 ? "lowered" : "raised"} it by ${Math.abs(weight).toFixed(2)}`;
  return [el("dt", { title: about }, word), el("dd", {}, bar(weight / longest, said, weight < 0 ? "minus" : "plus"))];
}

function fields(given) {
  const said = (value) => (typeof value === "string" ? value : JSON.stringify(value));
  return el("dl", { class: "fields" }, ...Object.entries(given).flatMap(([name, value]) => [el("dt", {}, name), el("dd", {}, said(value))]));
}

function moved(before, id, place) {
  if (!before.has(id)) return "new";
  const by = before.get(id) - place;
  return by > 0 ? `↑ ${by}` : by < 0 ? `↓ ${-by}` : "";
}

function tool(hit, list, change, marked) {
  const about = hit.tool.description ?? "";
  return el(
    "li",
    { class: "hit", tabindex: -1, "data-walk": list, "data-tool": hit.id },
    el("div", { class: "head" }, el("code", {}, hit.tool.name ?? hit.id), change ? el("span", { class: "badge", title: "against the words alone" }, change) : null),
    el("p", { class: "quiet" }, about),
    hit.reasons.length ? el("ul", { class: "reasons" }, ...hit.reasons.map((reason) => el("li", {}, reason))) : null,
    toolButtons(hit.id, marked),
  );
}

function buttons(chosen, id, name, marked) {
  return pair(name, (right) => {
    if (chosen.get(id) === right) chosen.delete(id);
    else chosen.set(id, right);
    marked();
  });
}

function toolButtons(id, marked) {
  return pair(id, (right) => {
    const same = marks.tool?.id === id && marks.tool.ok === right;
    marks.tool = same ? null : { id, ok: right };
    marked();
  });
}

function pair(name, press) {
  const one = (right) =>
    el("button", { type: "button", class: right ? "right" : "wrong", "aria-pressed": "false", "aria-label": `${name} is ${right ? "right" : "wrong"}`, click: () => press(right) }, right ? "Right" : "Wrong");
  return el("div", { class: "marks" }, one(true), one(false));
}

// Show in every button what is marked: a tool may stand in both lists.
export function refresh() {
  const press = (hit, right) => {
    hit.querySelector("button.right").setAttribute("aria-pressed", String(right === true));
    hit.querySelector("button.wrong").setAttribute("aria-pressed", String(right === false));
  };
  for (const hit of document.querySelectorAll("[data-item]")) press(hit, marks.items.get(hit.dataset.item));
  for (const hit of document.querySelectorAll("[data-tool]")) press(hit, marks.tool?.id === hit.dataset.tool ? marks.tool.ok : undefined);
}

export function feedback() {
  const ids = (right) => [...marks.items].filter(([, value]) => value === right).map(([id]) => id);
  const about = { used: ids(true), rejected: ids(false) };
  return marks.tool ? { ...about, tool: marks.tool.id, ok: marks.tool.ok } : about;
}

export function inWords({ used, rejected, tool, ok }) {
  const items = (count, said) => (count ? [`${count} ${count === 1 ? "item" : "items"} ${said}`] : []);
  return [...items(used.length, "right"), ...items(rejected.length, "wrong"), ...(tool ? [`${tool} ${ok ? "right" : "wrong"}`] : [])].join(", ");
}
