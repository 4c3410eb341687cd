// Right and wrong marks on items and tools of one side, and the feedback they make.

import { el, icon } from "./dom.js";
import { count } from "./words.js";

export class Marks {
  #items = new Map(); // id → right
  #tool = null; // at most one, with `id` and `ok`
  #root;
  #onChange;

  constructor(root, onChange) {
    this.#root = root;
    this.#onChange = onChange;
  }

  clear() {
    this.#items.clear();
    this.#tool = null;
    this.#refresh();
  }

  forItem(id, name) {
    return buttons(name, (right) => {
      if (this.#items.get(id) === right) this.#items.delete(id);
      else this.#items.set(id, right);
      this.#refresh();
    });
  }

  forTool(id, name) {
    return buttons(name, (right) => {
      const same = this.#tool?.id === id && this.#tool.ok === right;
      this.#tool = same ? null : { id, ok: right };
      this.#refresh();
    });
  }

  get feedback() {
    const ids = (right) => [...this.#items].filter(([, value]) => value === right).map(([id]) => id);
    const items = { used: ids(true), rejected: ids(false) };
    return this.#tool ? { ...items, tool: this.#tool.id, ok: this.#tool.ok } : items;
  }

  // Update the state of every button; a tool may be shown several times.
  #refresh() {
    const press = (hit, right) => {
      hit.querySelector(".marks .right").setAttribute("aria-pressed", String(right === true));
      hit.querySelector(".marks .wrong").setAttribute("aria-pressed", String(right === false));
    };
    for (const hit of this.#root.querySelectorAll("[data-item]")) press(hit, this.#items.get(hit.dataset.item));
    for (const hit of this.#root.querySelectorAll("[data-tool]")) press(hit, this.#tool?.id === hit.dataset.tool ? this.#tool.ok : undefined);
    this.#onChange();
  }
}

function buttons(name, press) {
  const button = (kind) =>
    el("button", { type: "button", class: kind, "aria-pressed": "false", "aria-label": `${name} is ${kind}`, title: `${kind} for this request`, click: () => press(kind === "right") }, icon(kind));
  return el("div", { class: "marks" }, button("right"), button("wrong"));
}

export function summarize({ used, rejected, tool, ok }) {
  const items = (ids, mark) => (ids.length ? [`${count(ids.length, "item")} ${mark}`] : []);
  return [...items(used, "right"), ...items(rejected, "wrong"), ...(tool ? [`${tool} ${ok ? "right" : "wrong"}`] : [])].join(", ");
}
