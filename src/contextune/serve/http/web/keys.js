// The keyboard: "/" to write, arrows to walk, r and w to mark, "?" to be told.

import { byId } from "./dom.js";

const LISTS = ["items", "plans", "tools", "alone"];

export function listen() {
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || byId("keys").open) return;
    const writing = event.target.matches("input, select, textarea");
    const key = event.key;
    if (writing) {
      if (event.target.id === "request" && key === "ArrowDown") go(event, first(LISTS));
    } else if (key === "/") go(event, byId("request"));
    else if (key === "?") open(event);
    else if (key === "Escape") go(event, byId("request"));
    else if (key === "ArrowDown") step(event, 1);
    else if (key === "ArrowUp") step(event, -1);
    else if (key === "ArrowRight") across(event, 1);
    else if (key === "ArrowLeft") across(event, -1);
    else if (key === "r" || key === "w") mark(event, key === "r" ? "right" : "wrong");
  });
  byId("show-keys").addEventListener("click", () => byId("keys").showModal());
}

const all = (list) => [...document.querySelectorAll(`[data-walk="${list}"]`)];
const first = (lists) => lists.map((list) => all(list)[0]).find(Boolean);
const here = () => document.activeElement?.closest("[data-walk]");

function go(event, element) {
  if (!element || element.closest("[hidden]")) return;
  event.preventDefault();
  element.focus();
}

function step(event, by) {
  const now = here();
  if (!now) return;
  const list = all(now.dataset.walk);
  const next = list[list.indexOf(now) + by];
  go(event, next ?? (by < 0 ? byId("request") : now));
}

function across(event, by) {
  const now = here();
  if (!now) return;
  const place = LISTS.indexOf(now.dataset.walk);
  go(event, first(by > 0 ? LISTS.slice(place + 1) : LISTS.slice(0, place).reverse()));
}

function mark(event, kind) {
  const button = here()?.querySelector(`button.${kind}`);
  if (!button) return;
  event.preventDefault();
  button.click();
}

function open(event) {
  event.preventDefault();
  byId("keys").showModal();
}
