// Keyboard shortcuts: "/" focuses the request, arrows move between results, r and w mark, "?" shows help.

import { byId } from "./dom.js";

const LISTS = ["items", "plans", "tools", "alone"];

export function listen() {
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || byId("keys").open) return;
    const typing = event.target.matches("input, select, textarea");
    const key = event.key;
    if (typing) {
      if (event.target.id === "request" && key === "ArrowDown") focus(event, first(LISTS));
    } else if (key === "/") focus(event, byId("request"));
    else if (key === "?") showHelp(event);
    else if (key === "Escape") focus(event, byId("request"));
    else if (key === "ArrowDown") step(event, 1);
    else if (key === "ArrowUp") step(event, -1);
    else if (key === "ArrowRight") changeList(event, 1);
    else if (key === "ArrowLeft") changeList(event, -1);
    else if (key === "r" || key === "w") mark(event, key === "r" ? "right" : "wrong");
  });
  byId("show-keys").addEventListener("click", () => byId("keys").showModal());
}

const all = (list) => [...document.querySelectorAll(`[data-walk="${list}"]`)];
const first = (lists) => lists.map((list) => all(list)[0]).find(Boolean);
const focusedResult = () => document.activeElement?.closest("[data-walk]");

function focus(event, element) {
  if (!element || element.closest("[hidden]")) return;
  event.preventDefault();
  element.focus();
}

function step(event, by) {
  const result = focusedResult();
  if (!result) return;
  const list = all(result.dataset.walk);
  const next = list[list.indexOf(result) + by];
  focus(event, next ?? (by < 0 ? byId("request") : result));
}

function changeList(event, by) {
  const result = focusedResult();
  if (!result) return;
  const list = LISTS.indexOf(result.dataset.walk);
  focus(event, first(by > 0 ? LISTS.slice(list + 1) : LISTS.slice(0, list).reverse()));
}

function mark(event, kind) {
  const button = focusedResult()?.querySelector(`button.${kind}`);
  if (!button) return;
  event.preventDefault();
  button.click();
}

function showHelp(event) {
  event.preventDefault();
  byId("keys").showModal();
}
