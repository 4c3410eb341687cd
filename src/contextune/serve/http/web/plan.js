// The call to make. Each argument leads to the item it came from, and lights it up while it is looked at.

import { byId, el, percent } from "./dom.js";

export function show(plans, context) {
  const places = new Map(context.map((hit, place) => [hit.item.id, [place, hit.title || hit.item.id]]));
  byId("plans").replaceChildren(
    ...plans.map((plan, step) => one(plan, plans.length > 1 ? step + 1 : 0, places)),
  );
  if (!plans.length) byId("plans").append(el("p", {}, "No call: no tool serves this, or too little is known."));
}

function one(plan, step, places) {
  const parts = Object.entries(plan.arguments).map(([name, argument]) => part(name, argument, plan.why[name] ?? "", places));
  const state = plan.ready ? "ready" : "asks first";
  return el(
    "article",
    { class: "plan" },
    el("div", { class: "head" }, step ? el("span", {}, `${step}.`) : null, el("code", {}, plan.name), el("span", { class: "badge" }, state), el("span", { class: "quiet" }, `${percent(plan.confidence)} sure`)),
    parts.length ? el("ul", { class: "arguments" }, ...parts) : el("p", { class: "quiet" }, "It takes nothing."),
    ...plan.missing.map((missing) => el("p", { class: "missing" }, el("code", {}, missing.argument), ` ${missing.question}`)),
  );
}

function part(name, argument, why, places) {
  const from = [...new Set(argument.sources.map((source) => source.item))].filter((id) => places.has(id));
  const value = typeof argument.value === "string" ? argument.value : JSON.stringify(argument.value);
  const light = (on) => () => from.forEach((id) => byId(`item-${places.get(id)[0]}`)?.classList.toggle("linked", on));
  return el(
    "li",
    { tabindex: -1, "data-walk": "plans", mouseenter: light(true), mouseleave: light(false), focusin: light(true), focusout: light(false) },
    el("div", {}, el("code", {}, name), " = ", el("strong", {}, value)),
    el("div", { class: "quiet" }, `${why} · ${percent(argument.confidence)}`),
    ...from.map((id) => source(...places.get(id))),
  );
}

function source(place, title) {
  const go = (event) => {
    event.preventDefault(); // focus scrolls there, and keys walk on from it
    byId(`item-${place}`).focus();
  };
  return el("a", { href: `#item-${place}`, class: "source", click: go }, `item ${place + 1}: ${title}`);
}
