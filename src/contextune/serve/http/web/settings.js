// The settings of one side: user, time, method and place.

import * as api from "./api.js";
import { byId, el } from "./dom.js";
import { draw } from "./map.js";
import { count, describeTime } from "./words.js";

export const METHODS = ["reading", "learned", "situated", "hybrid", "semantic", "bm25"];
const NOT_ON_MAP = [["", "unknown"], ["commute", "commuting"]];

export class Settings {
  #part;
  #onUser;
  #places = {};
  #place = "";
  user = null;

  // `part` finds an element of the side; `onUser` is called after another user was chosen.
  constructor(part, onUser) {
    this.#part = part;
    this.#onUser = onUser;
    part("method").append(...METHODS.map((method) => el("option", {}, method)));
    part("user").addEventListener("change", (event) => onUser(api.allUsers()[Number(event.target.value)]));
    part("now").addEventListener("click", () => ((part("time").value = ""), this.#summarize()));
    for (const name of ["time", "method"]) part(name).addEventListener("input", () => this.#summarize());
  }

  get values() {
    return { time: this.#part("time").value || null, place: this.#place === "" ? null : this.#place, method: this.#part("method").value };
  }

  set values({ time, place, method }) {
    this.#part("time").value = time ?? "";
    this.#part("method").value = METHODS.includes(method) ? method : METHODS[0];
    this.#select(place ?? "");
  }

  // Show the list of users again, after one was added or removed.
  showUsers() {
    const users = api.allUsers();
    this.#part("user-choice").hidden = users.length < 2;
    this.#part("user").replaceChildren(...users.map((user, index) => el("option", { value: index, selected: user === this.user }, user.name)));
    this.#summarize();
  }

  // Whether anything is stored for the user.
  async show(user) {
    const profile = await api.fetchProfile(user);
    this.user = user;
    this.showUsers();
    this.#places = profile?.places ?? {};
    const names = Object.keys(this.#places).filter((name) => name !== "commute");
    this.#part("places").replaceChildren(...[...NOT_ON_MAP, ...names.map((name) => [name, name])].map(([value, label]) => this.#radio(value, label)));
    this.#select("");
    const details = ["name", "profession", "city"].map((key) => profile?.profile?.[key]).filter((value) => typeof value === "string");
    const about = [...details, profile?.zone].filter(Boolean).join(", ");
    const items = profile ? count((await api.call(user, "GET", "items?limit=1")).total, "item") : "No data stored for this user.";
    this.#part("profile").textContent = [about, items].filter(Boolean).join(" · ");
    return profile !== null;
  }

  #radio(value, label) {
    const input = el("input", { type: "radio", name: this.#part("places").id, value, change: () => this.#select(value) });
    return el("label", { class: "choice" }, input, el("span", {}, label));
  }

  // A place is a name, or [latitude, longitude] of a click on the map.
  #select(value) {
    this.#place = value;
    const name = typeof value === "string" ? value : null;
    for (const input of this.#part("places").querySelectorAll("input")) input.checked = input.value === name;
    this.#part("map").replaceChildren(...draw(this.#places, value, (place) => this.#select(place)));
    this.#summarize();
  }

  #summarize() {
    const { time, place, method } = this.values;
    const where = Array.isArray(place) ? place.join(", ") : place === "commute" ? "commuting" : place ?? "no place";
    const parts = [this.user?.name, time ? describeTime(time) : "now", where, ...(method === METHODS[0] ? [] : [method])];
    this.#part("settings-summary").replaceChildren(...parts.filter(Boolean).map((part) => el("span", {}, part)));
  }
}

export const openSettings = (prefix) => {
  const settings = byId(`${prefix}-settings`);
  settings.open = !settings.open;
  (settings.open ? settings.querySelector("select:not([hidden] *), input") : settings.querySelector("summary")).focus();
};
