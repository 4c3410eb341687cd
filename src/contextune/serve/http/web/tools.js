// Tools as rows, with and without the user's items.

import { el } from "./dom.js";
import { count, percent } from "./words.js";

const SHOWN = 3;

export function showTools(part, { tools, fits, alone }, marks) {
  const before = new Map(alone.tools.map((hit, rank) => [hit.id, rank]));
  const rows = tools.map((hit, rank) => row(hit, rank, "tools", rankChange(before, hit.id, rank), marks));
  part("tools").replaceChildren(...rows.slice(0, SHOWN));
  const more = part("more-tools");
  more.open = false;
  more.querySelector("summary").textContent = rows.length > SHOWN ? `${count(rows.length - SHOWN, "more tool")}, and without your items` : "Without your items";
  more.querySelector("ol").replaceChildren(...rows.slice(SHOWN));
  part("alone").replaceChildren(...alone.tools.map((hit, rank) => row(hit, rank, "alone", "", marks)));
  part("fits").textContent = describeFit(fits, alone.fits);
}

function describeFit(withItems, withoutItems) {
  if (withItems == null) return "";
  const compared = withoutItems == null ? "" : `, ${percent(withoutItems)} without your items`;
  return `Probability that any tool fits: ${percent(withItems)}${compared}.`;
}

function rankChange(before, id, rank) {
  if (!before.has(id)) return "new with your items";
  const by = before.get(id) - rank;
  return by > 0 ? `up ${by} by your items` : by < 0 ? `down ${-by} by your items` : "";
}

function row(hit, rank, list, change, marks) {
  const name = hit.tool.name ?? hit.id;
  const about = hit.tool.description ?? "";
  return el(
    "li",
    { class: "row", "data-tool": hit.id },
    el(
      "details",
      {},
      el(
        "summary",
        { "data-walk": list },
        el("span", { class: "rank" }, rank + 1),
        el("code", { class: "name" }, name),
        el("span", { class: "change" }),
        el("span", { class: "meta" }, change || null),
      ),
      el(
        "div",
        { class: "fold" },
        about ? el("p", {}, about) : null,
        hit.reasons.length ? el("ul", { class: "reasons" }, ...hit.reasons.map((reason) => el("li", {}, reason))) : null,
        el("p", { class: "quiet" }, hit.id),
      ),
    ),
    marks.forTool(hit.id, name),
  );
}
