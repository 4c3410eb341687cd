// What differs between the answers of two sides.

import { count } from "./words.js";

// Show on each row where the same item or tool is on the other side, and return the difference in words.
export function showDifference(sides) {
  const answers = sides.map((side) => side.answer);
  for (const [index, side] of sides.entries()) {
    const other = answers.length > 1 ? answers[1 - index] : null;
    mark(side, "data-item", "BA"[index], other?.context.map((hit) => hit.item.id));
    mark(side, "data-tool", "BA"[index], other?.tools.map((hit) => hit.id));
  }
  return answers.length > 1 && answers.every(Boolean) ? describe(...answers) : "";
}

function mark(side, attribute, name, others) {
  for (const [rank, row] of [...side.root.querySelectorAll(`ol:not([id$=alone]) > [${attribute}]`)].entries()) {
    const elsewhere = others?.indexOf(row.getAttribute(attribute));
    const change = others == null || elsewhere === rank ? "" : elsewhere < 0 ? `not in ${name}` : `${elsewhere + 1} in ${name}`;
    row.querySelector(".change").textContent = side.answer ? change : "";
  }
}

function describe(a, b) {
  const call = ({ plans }) => JSON.stringify(plans.map((plan) => (plan.decision === "none" ? null : [plan.tool, values(plan)])));
  const tool = ({ plans }) => JSON.stringify(plans.map((plan) => (plan.decision === "none" ? null : plan.tool)));
  const calls = call(a) === call(b) ? "Same call" : tool(a) === tool(b) ? "Same tool, other values" : "Different calls";
  const first = (answer) => new Set(answer.context.slice(0, 3).map((hit) => hit.item.id));
  const shared = [...first(a)].filter((id) => first(b).has(id)).length;
  const decision = ({ plans }) => plans.map((plan) => plan.decision).join();
  const decided = decision(a) === decision(b) ? "" : ", decided differently";
  return `${calls}${decided}; ${shared || "none"} of the first ${count(Math.max(first(a).size, first(b).size), "item")} shared.`;
}

const values = (plan) => Object.fromEntries(Object.entries(plan.arguments).map(([name, { value }]) => [name, value]));
