// The answer: the call, the question before it, or that no tool fits; how sure it is, and where its values come from.

import { bar, el } from "./dom.js";
import { focusItem } from "./items.js";
import { DECISIONS, describeValue, percent } from "./words.js";

const SURE = 0.9; // values above it need no remark
const NO_TOOL = "No tool here can do that";
const NOT_SURE = "No call here is sure enough";
const LIKELY = 0.5; // less is not said as a fact

export function showAnswer(part, { answer, plans, fits, context }, marks) {
  const ranks = new Map(context.map((hit, rank) => [hit.item.id, rank]));
  const titles = context.map((hit) => hit.title);
  const argument = (name, value, why) => argumentRow(part, name, value, why, ranks, titles);
  const cards = planned(answer, plans).map((plan, index) => card(plan, plans.length > 1 ? index + 1 : 0, fits, argument, marks));
  const said = answer ? [quote(part, answer, ranks)] : [];
  part("answer").replaceChildren(...said, ...(cards.length || answer ? cards : [noCall(fits)]));
}

// What the items say: their sentence, or a line for each entry of a list, and the item that it is from.
function quote(part, { text, covers, source, correction }, ranks) {
  const from = ({ item, kind, title, when_text }) => {
    const name = `the ${kind} “${title}”`;
    const rank = ranks.get(item);
    const link = rank == null ? name : el("a", { href: `#${part("items").id}`, click: (event) => (event.preventDefault(), focusItem(part, rank)) }, name);
    return el("p", { class: "quiet from" }, "from ", link, when_text ? `, ${when_text}` : "");
  };
  return el(
    "div",
    { class: "said" },
    ...text.split("\n").map((line) => el("p", { class: "sentence" }, line)),
    covers ? el("p", { class: "quiet from" }, covers) : from(source),
    correction ? el("p", { class: "later" }, "But later: ", el("strong", {}, correction.text)) : null,
    correction ? from(correction.source) : null,
  );
}

// What the items say is not followed by the remark that nothing can be done.
const planned = (answer, plans) => (answer ? plans.filter((plan) => plan.decision !== "none") : plans);

// One line for screen readers and for the comparison.
export function describeAnswer({ answer, plans, fits }) {
  const said = answer ? `${answer.text.replaceAll("\n", "; ")}. ` : "";
  const calls = planned(answer, plans);
  if (!calls.length) return said || `${NO_TOOL}.`;
  return said + calls.map((plan) => `${headline(plan, fits)} ${DECISIONS[plan.decision] ?? "Undecided"}${sureness(plan, fits)}.`).join(" ");
}

function headline(plan, fits) {
  if (plan.decision === "none") return `${refusal(fits)}.`;
  return plan.question?.text ?? `${plan.sentence}.`;
}

const refusal = (fits) => (fits != null && 1 - fits < LIKELY ? NOT_SURE : NO_TOOL);

// How sure the decision is; of a refusal only if it is likely that no tool serves.
function certainty(plan, fits) {
  if (plan.decision !== "none") return plan.confidence;
  return fits != null && 1 - fits >= LIKELY ? 1 - fits : null;
}

function sureness(plan, fits) {
  const sure = certainty(plan, fits);
  return sure == null ? "" : `, ${percent(sure)} sure`;
}

function verdict(decision, sure) {
  return el(
    "p",
    { class: "verdict" },
    el("span", { class: `decision ${decision}` }, DECISIONS[decision] ?? "Undecided"),
    sure == null ? null : el("span", { class: "sure" }, bar(sure), `${percent(sure)} sure`),
  );
}

function noCall(fits) {
  const plan = { decision: "none" };
  return el("article", {}, verdict("none", certainty(plan, fits)), el("h2", {}, refusal(fits)));
}

function card(plan, step, fits, argument, marks) {
  const none = plan.decision === "none";
  const title = none ? (plan.question?.text ?? refusal(fits)) : headline(plan, fits).replace(/\.$/, "");
  const call = callBlock(plan, argument, marks);
  return el(
    "article",
    {},
    verdict(plan.decision, certainty(plan, fits)),
    el("h2", {}, step ? `${step}. ${title}` : title),
    options(plan.question),
    none ? el("details", { class: "more" }, el("summary", {}, `Nearest: ${plan.name}, ${percent(plan.confidence)} sure`), call) : call,
  );
}

// A single option only repeats the call; several are the readings that the user chooses from.
function options(question) {
  if (!question || question.options.length < 2) return null;
  const option = ({ label, confidence }) => el("li", {}, el("span", {}, label), el("span", { class: "sure" }, bar(confidence), percent(confidence)));
  return el("ol", { class: "options" }, ...question.options.map(option));
}

function callBlock(plan, argument, marks) {
  const rows = Object.entries(plan.arguments).map(([name, value]) => argument(name, value, plan.why[name] ?? ""));
  return el(
    "div",
    { class: "call row", "data-tool": plan.tool },
    el("div", {}, el("code", { class: "name", tabindex: -1, "data-walk": "call" }, plan.name), rows.length ? null : el("span", { class: "quiet" }, " without arguments")),
    marks.forTool(plan.tool, plan.name),
    rows.length ? el("ul", { class: "arguments" }, ...rows) : null,
    ...plan.missing.map((missing) => el("p", { class: "missing" }, el("code", {}, missing.argument), " is missing")),
  );
}

function argumentRow(part, name, { value, sources, confidence }, why, ranks, titles) {
  const sourceRanks = [...new Set(sources.map((source) => ranks.get(source.item)))].filter((rank) => rank != null);
  const highlight = (on) => () => sourceRanks.forEach((rank) => part(`item-${rank}`)?.classList.toggle("linked", on));
  const link = (rank) =>
    el("a", { href: `#${part("items").id}`, class: "source", "aria-label": `item ${rank + 1}: ${titles[rank]}`, click: (event) => (event.preventDefault(), focusItem(part, rank)) }, rank + 1);
  return el(
    "li",
    { mouseenter: highlight(true), mouseleave: highlight(false), focusin: highlight(true), focusout: highlight(false) },
    el("code", {}, name),
    el("span", { class: "value" }, describeValue(value)),
    el("span", { class: "why" }, ...sourceRanks.map(link), el("span", {}, why), confidence < SURE ? el("span", { class: "likely" }, `${percent(confidence)} sure`) : null),
  );
}
