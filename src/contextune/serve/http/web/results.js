// Results: items with feature contributions, tools with and without context, and right/wrong marks.

import { bar, byId, el, percent } from "./dom.js";

const FAMILIES = {
  text: ["words", "lexical and semantic similarity"],
  store: ["application", "the application the request is about"],
  times: ["time", "distance in time"],
  place: ["place", "your place and the place of the item"],
  usage: ["habit", "when and where you used it before"],
  people: ["people", "people the request names or implies"],
  state: ["state", "missed or answered, open or done"],
  utterance: ["request", "kind of request"],
  links: ["links", "links to other strong candidates"],
};
const MIN_SHARE = 0.08; // bars shorter than this share of the longest are hidden

// The user's marks: items by id, and at most one tool.
export const marks = { items: new Map(), tool: null };

export function show(answer, onMark) {
  marks.items.clear();
  marks.tool = null;
  const longest = Math.max(1e-9, ...answer.context.flatMap((hit) => Object.values(hit.signals).map(Math.abs)));
  const best = Math.max(1e-9, ...answer.context.map((hit) => hit.score));
  byId("items").replaceChildren(...answer.context.map((hit, position) => item(hit, position, hit.score / best, longest, onMark)));
  if (!answer.context.length) byId("items").append(el("li", { class: "quiet" }, "This user has no items up to this time."));
  const before = new Map(answer.alone.tools.map((hit, position) => [hit.id, position]));
  byId("tools").replaceChildren(...answer.tools.map((hit, position) => tool(hit, "tools", rankChange(before, hit.id, position), onMark)));
  byId("alone").replaceChildren(...answer.alone.tools.map((hit) => tool(hit, "alone", "", onMark)));
  byId("fits").textContent = fits(answer);
}

function fits({ fits: withItems, alone }) {
  if (withItems == null) return "";
  const withoutItems = alone.fits == null ? "" : `, ${percent(alone.fits)} without your items`;
  return `Probability that any tool fits: ${percent(withItems)}${withoutItems}.`;
}

function item(hit, position, share, longest, onMark) {
  const name = hit.title || hit.item.id;
  const shown = Object.entries(hit.signals)
    .filter(([, weight]) => Math.abs(weight) >= MIN_SHARE * longest)
    .sort((a, b) => b[1] - a[1]);
  return el(
    "li",
    { id: `item-${position}`, class: "hit", tabindex: position ? -1 : 0, "data-walk": "items", "data-item": hit.item.id, "aria-label": `${position + 1}: ${name}` },
    el(
      "div",
      { class: "head" },
      el("strong", {}, name),
      el("span", { class: "badge" }, hit.item.app),
      hit.when ? el("time", { datetime: hit.when }, hit.when_text) : null,
    ),
    el("div", { class: "score" }, bar(share, `score ${hit.score.toFixed(3)}`, "score"), el("span", { class: "quiet" }, hit.score.toFixed(3))),
    el("ul", { class: "reasons" }, ...hit.reasons.map((reason) => el("li", {}, reason))),
    el("dl", { class: "signals" }, ...shown.flatMap(([family, weight]) => signal(family, weight, longest))),
    el("details", {}, el("summary", {}, "All fields"), fields(hit.item.fields)),
    itemButtons(hit.item.id, name, onMark),
  );
}

function signal(family, weight, longest) {
  const [label, description] = FAMILIES[family] ?? [family, ""];
  const text = `${label}: ${weight < 0 ? "lowered" : "raised"} it by ${Math.abs(weight).toFixed(2)}`;
  return [el("dt", { title: description }, label), el("dd", {}, bar(weight / longest, text, weight < 0 ? "minus" : "plus"))];
}

function fields(values) {
  const asText = (value) => (typeof value === "string" ? value : JSON.stringify(value));
  return el("dl", { class: "fields" }, ...Object.entries(values).flatMap(([name, value]) => [el("dt", {}, name), el("dd", {}, asText(value))]));
}

function rankChange(before, id, position) {
  if (!before.has(id)) return "new";
  const by = before.get(id) - position;
  return by > 0 ? `↑ ${by}` : by < 0 ? `↓ ${-by}` : "";
}

function tool(hit, list, change, onMark) {
  const about = hit.tool.description ?? "";
  return el(
    "li",
    { class: "hit", tabindex: -1, "data-walk": list, "data-tool": hit.id },
    el("div", { class: "head" }, el("code", {}, hit.tool.name ?? hit.id), change ? el("span", { class: "badge", title: "rank compared with the list without your items" }, change) : null),
    el("p", { class: "quiet" }, about),
    hit.reasons.length ? el("ul", { class: "reasons" }, ...hit.reasons.map((reason) => el("li", {}, reason))) : null,
    toolButtons(hit.id, onMark),
  );
}

function itemButtons(id, name, onMark) {
  return rightWrongButtons(name, (right) => {
    if (marks.items.get(id) === right) marks.items.delete(id);
    else marks.items.set(id, right);
    onMark();
  });
}

function toolButtons(id, onMark) {
  return rightWrongButtons(id, (right) => {
    const same = marks.tool?.id === id && marks.tool.ok === right;
    marks.tool = same ? null : { id, ok: right };
    onMark();
  });
}

function rightWrongButtons(name, press) {
  const button = (right) =>
    el("button", { type: "button", class: right ? "right" : "wrong", "aria-pressed": "false", "aria-label": `${name} is ${right ? "right" : "wrong"}`, click: () => press(right) }, right ? "Right" : "Wrong");
  return el("div", { class: "marks" }, button(true), button(false));
}

// Update the state of every button; a tool may be in both lists.
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
  const itemMarks = { used: ids(true), rejected: ids(false) };
  return marks.tool ? { ...itemMarks, tool: marks.tool.id, ok: marks.tool.ok } : itemMarks;
}

export function summarize({ used, rejected, tool, ok }) {
  const items = (count, mark) => (count ? [`${count} ${count === 1 ? "item" : "items"} ${mark}`] : []);
  return [...items(used.length, "right"), ...items(rejected.length, "wrong"), ...(tool ? [`${tool} ${ok ? "right" : "wrong"}`] : [])].join(", ");
}
