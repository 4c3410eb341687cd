// The planned calls with the decision on each. Arguments link to their source item and highlight it on hover and focus.

import { byId, el, percent } from "./dom.js";

const DECISIONS = { act: "act: ready to call", confirm: "confirm first", ask: "ask the user", none: "no tool serves this" };

export function show(plans, context) {
  const positions = new Map(context.map((hit, position) => [hit.item.id, [position, hit.title || hit.item.id]]));
  byId("plans").replaceChildren(
    ...plans.map((plan, step) => planCard(plan, plans.length > 1 ? step + 1 : 0, positions)),
  );
  if (!plans.length) byId("plans").append(el("p", {}, "No call: no tool fits, or too little is known."));
}

function planCard(plan, step, positions) {
  const rows = Object.entries(plan.arguments).map(([name, argument]) => argumentRow(name, argument, plan.why[name] ?? "", positions));
  const state = DECISIONS[plan.decision] ?? "undecided";
  return el(
    "article",
    { class: "plan" },
    el("div", { class: "head" }, step ? el("span", {}, `${step}.`) : null, el("code", {}, plan.name), el("span", { class: `badge ${plan.decision}` }, state), el("span", { class: "quiet" }, `${percent(plan.confidence)} sure`)),
    plan.question ? questionBlock(plan.question) : null,
    rows.length ? el("ul", { class: "arguments" }, ...rows) : el("p", { class: "quiet" }, "No arguments."),
    ...plan.missing.map((missing) => el("p", { class: "missing" }, el("code", {}, missing.argument), " is missing")),
  );
}

// One option only repeats the call; several are the readings that the user chooses from.
function questionBlock(question) {
  const options = question.options.length > 1 ? question.options : [];
  return el(
    "div",
    { class: "question" },
    el("p", {}, question.text),
    options.length ? el("ol", {}, ...options.map((option) => el("li", {}, option.label, el("span", { class: "quiet" }, ` ${percent(option.confidence)}`)))) : null,
  );
}

function argumentRow(name, argument, why, positions) {
  const itemIds = [...new Set(argument.sources.map((source) => source.item))].filter((id) => positions.has(id));
  const value = typeof argument.value === "string" ? argument.value : JSON.stringify(argument.value);
  const highlight = (on) => () => itemIds.forEach((id) => byId(`item-${positions.get(id)[0]}`)?.classList.toggle("linked", on));
  return el(
    "li",
    { tabindex: -1, "data-walk": "plans", mouseenter: highlight(true), mouseleave: highlight(false), focusin: highlight(true), focusout: highlight(false) },
    el("div", {}, el("code", {}, name), " = ", el("strong", {}, value)),
    el("div", { class: "quiet" }, `${why} · ${percent(argument.confidence)}`),
    ...itemIds.map((id) => sourceLink(...positions.get(id))),
  );
}

function sourceLink(position, title) {
  const focusItem = (event) => {
    event.preventDefault(); // focusing scrolls to it, and the arrow keys continue from there
    byId(`item-${position}`).focus();
  };
  return el("a", { href: `#item-${position}`, class: "source", click: focusItem }, `item ${position + 1}: ${title}`);
}
