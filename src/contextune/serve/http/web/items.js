// Items as rows: title, application, time, match and first reason; the rest folds out.

import { bar, el } from "./dom.js";
import { count, describeMatch, describeWeight, FAMILIES } from "./words.js";

export const SHOWN = 3;
const MIN_SHARE = 0.08; // families below this share of the strongest one are hidden

export function showItems(part, hits, marks) {
  const longest = Math.max(1e-9, ...hits.flatMap((hit) => Object.values(hit.signals).map(Math.abs)));
  const best = Math.max(0, ...hits.map((hit) => hit.score));
  const rows = hits.map((hit, rank) => row(part, hit, rank, best, longest, marks));
  part("items").replaceChildren(...rows.slice(0, SHOWN));
  if (!rows.length) part("items").append(el("li", { class: "quiet" }, "No items up to this time."));
  const more = part("more-items");
  more.open = false;
  more.hidden = rows.length <= SHOWN;
  more.querySelector("summary").textContent = `${count(rows.length - SHOWN, "more item")}`;
  more.querySelector("ol").replaceChildren(...rows.slice(SHOWN));
}

// Focus an item, and unfold the list that it is in.
export function focusItem(part, rank) {
  if (rank >= SHOWN) part("more-items").open = true;
  part(`item-${rank}`).querySelector("summary").focus();
}

function row(part, hit, rank, best, longest, marks) {
  const id = part("items").id.replace(/items$/, `item-${rank}`);
  return el(
    "li",
    { id, class: "row", "data-item": hit.item.id },
    el(
      "details",
      {},
      el(
        "summary",
        { "data-walk": "items" },
        el("span", { class: "rank" }, rank + 1),
        el("span", { class: "name" }, hit.title),
        el("span", { class: "change" }),
        el("span", { class: "meta" }, hit.item.app, hit.when ? el("time", { datetime: hit.when }, hit.when_text) : null),
        el("span", { class: "match" }, bar(hit.probability ?? (best > 0 ? hit.score / best : 0)), el("span", {}, describeMatch(hit.score, best, rank, hit.probability)), hit.reasons.length ? el("span", { class: "reason" }, hit.reasons[0]) : null),
      ),
      el(
        "div",
        { class: "fold" },
        hit.reasons.length ? el("ul", { class: "reasons" }, ...hit.reasons.map((reason) => el("li", {}, reason))) : null,
        signals(hit.signals, longest),
        fields(hit.item.fields),
      ),
    ),
    marks.forItem(hit.item.id, hit.title),
  );
}

// How much each family of features raised or lowered the score, relative to the mean of the results.
function signals(weights, longest) {
  const shown = Object.entries(weights)
    .filter(([, weight]) => Math.abs(weight) >= MIN_SHARE * longest)
    .sort((a, b) => b[1] - a[1]);
  if (!shown.length) return null;
  const line = ([family, weight]) => {
    const [label, about] = FAMILIES[family] ?? [family, ""];
    return [el("dt", { title: about }, label), el("dd", {}, bar(weight / longest, weight < 0 ? "minus" : ""), el("span", {}, describeWeight(weight, longest)))];
  };
  return el("dl", { class: "signals" }, ...shown.flatMap(line));
}

function fields(values) {
  const asText = (value) => (typeof value === "string" ? value : JSON.stringify(value));
  const shown = Object.entries(values).filter(([, value]) => value !== "" && value != null && value.length !== 0);
  return el("dl", { class: "fields" }, ...shown.flatMap(([name, value]) => [el("dt", {}, name), el("dd", {}, asText(value))]));
}
