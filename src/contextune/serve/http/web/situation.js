// User, time and place of the request.

import { call } from "./api.js";
import { byId, el } from "./dom.js";
import { draw } from "./map.js";

const NOT_ON_MAP = [["", "unknown"], ["commute", "commuting"]];
let places = {};
let selected = "";

export const place = () => (selected === "" ? null : selected);
export const time = () => byId("time").value || null;

export function displayName(user, token) {
  const name = user?.profile?.name;
  return typeof name === "string" && name ? name : `token ${token.split("_")[1] ?? ""}`;
}

export async function show(user) {
  places = user?.places ?? {};
  const details = ["name", "profession", "city"].map((key) => user?.profile?.[key]).filter((value) => typeof value === "string");
  byId("who").textContent = details.join(", ") || (user ? "No profile." : "No data stored for this user.");
  if (user?.zone) byId("who").append(`, ${user.zone}`);
  byId("places").replaceChildren(
    ...[...NOT_ON_MAP, ...Object.keys(places).filter((name) => name !== "commute").map((name) => [name, name])].map(([value, label]) => radio(value, label)),
  );
  select("");
  if (!user) return;
  const { total } = await call("GET", "items?limit=1");
  byId("who").append(` · ${total} ${total === 1 ? "item" : "items"}`);
}

function radio(value, label) {
  const input = el("input", { type: "radio", name: "place", value, change: () => select(value) });
  return el("label", { class: "choice" }, input, el("span", {}, label));
}

// A place is a name, or [latitude, longitude] of a click on the map.
function select(value) {
  selected = value;
  const name = typeof value === "string" ? value : null;
  for (const input of byId("places").querySelectorAll("input")) input.checked = input.value === name;
  byId("map").replaceChildren(draw(places, selected, select));
}
