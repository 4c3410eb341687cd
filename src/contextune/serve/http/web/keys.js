// Keyboard shortcuts: the dialog in index.html lists them.

import { byId } from "./dom.js";
import { openSettings } from "./settings.js";

const STORAGE_KEY = "contextune.keys";
const LISTS = ["call", "items", "tools", "alone"];

export function listen() {
  byId("keys-on").checked = sessionStorage.getItem(STORAGE_KEY) !== "off";
  byId("keys-on").addEventListener("change", (event) => sessionStorage.setItem(STORAGE_KEY, event.target.checked ? "on" : "off"));
  byId("show-keys").addEventListener("click", () => (byId("menu").hidePopover(), byId("keys").showModal()));
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open], [popover]:popover-open")) return;
    if (event.target.matches("input, select, textarea")) onField(event);
    else if (event.key.length > 1 || byId("keys-on").checked) onPage(event);
  });
}

function onField(event) {
  if (event.target.id.endsWith("-request") && event.key === "ArrowDown") focus(event, results(prefixOf(event.target))[0]?.[0]);
}

function onPage(event) {
  const prefix = prefixOf(event.target);
  const actions = {
    "/": () => focus(event, byId(`${prefix}-request`)),
    Escape: () => focus(event, byId(`${prefix}-request`)),
    ArrowDown: () => step(event, 1),
    ArrowUp: () => step(event, -1),
    ArrowRight: () => changeList(event, 1),
    ArrowLeft: () => changeList(event, -1),
    r: () => mark(event, "right"),
    w: () => mark(event, "wrong"),
    s: () => press(event, () => openSettings(prefix)),
    c: () => click(event, byId("compare")),
    l: () => click(event, byId("show-link")),
    "?": () => press(event, () => byId("keys").showModal()),
  };
  if (Object.hasOwn(actions, event.key) && (!byId("sides").hidden || event.key === "?")) actions[event.key]();
}

const prefixOf = (element) => element.closest(".side")?.id.slice(0, 1) ?? "a";

// The results that can be focused: a list of elements for the call, the items and the tools of each side.
function results(prefix) {
  const sides = prefix ? [byId(`${prefix}-side`)] : [...document.querySelectorAll(".side")];
  const visible = (side, list) => [...side.querySelectorAll(`[data-walk=${list}]`)].filter((element) => element.checkVisibility());
  return sides.flatMap((side) => LISTS.map((list) => visible(side, list))).filter((elements) => elements.length);
}

function position() {
  const focused = document.activeElement?.closest("[data-walk]") ?? document.activeElement?.closest(".row")?.querySelector("[data-walk]");
  const lists = results();
  const list = lists.findIndex((elements) => elements.includes(focused));
  return { lists, list, index: list < 0 ? -1 : lists[list].indexOf(focused) };
}

function step(event, by) {
  const { lists, list, index } = position();
  if (list < 0) return;
  const beyond = by < 0 ? lists[list - 1]?.at(-1) : lists[list + 1]?.[0];
  const here = lists[list][index];
  const sameSide = beyond?.closest(".side") === here.closest(".side") ? beyond : null;
  focus(event, lists[list][index + by] ?? sameSide ?? (by < 0 ? byId(`${prefixOf(here)}-request`) : here));
}

function changeList(event, by) {
  const { lists, list } = position();
  if (list >= 0) focus(event, lists[list + by]?.[0]);
}

function mark(event, kind) {
  const button = document.activeElement?.closest(".row")?.querySelector(`.marks .${kind}`);
  if (button) click(event, button);
}

function focus(event, element) {
  if (element) press(event, () => element.focus());
}

function click(event, button) {
  if (!button.hidden) press(event, () => button.click());
}

function press(event, action) {
  event.preventDefault();
  action();
}
