// Who is asking, when and where: what is known of the user, and the moment the request is said in.

import { call } from "./api.js";
import { byId, el } from "./dom.js";
import { draw } from "./map.js";

const ANYWHERE = [["", "not said"], ["commute", "on the way"]];
let places = {};
let chosen = "";

export const place = () => (chosen === "" ? null : chosen);
export const time = () => byId("time").value || null;

export function nameOf(me, token) {
  const name = me?.profile?.name;
  return typeof name === "string" && name ? name : `token ${token.split("_")[1] ?? ""}`;
}

export async function show(me) {
  places = me?.places ?? {};
  const about = ["name", "profession", "city"].map((key) => me?.profile?.[key]).filter((part) => typeof part === "string");
  byId("who").textContent = about.join(", ") || (me ? "No profile." : "Nothing is kept for this user yet.");
  if (me?.zone) byId("who").append(`, ${me.zone}`);
  byId("places").replaceChildren(
    ...[...ANYWHERE, ...Object.keys(places).filter((name) => name !== "commute").map((name) => [name, name])].map(([value, said]) => radio(value, said)),
  );
  choose("");
  if (!me) return;
  const { total } = await call("GET", "items?limit=1");
  byId("who").append(` · ${total} ${total === 1 ? "item" : "items"}`);
}

function radio(value, said) {
  const input = el("input", { type: "radio", name: "place", value, change: () => choose(value) });
  return el("label", { class: "choice" }, input, el("span", {}, said));
}

// A place is a name, or latitude and longitude where the map was clicked beside all of them.
function choose(value) {
  chosen = value;
  const named = typeof value === "string" ? value : null;
  for (const input of byId("places").querySelectorAll("input")) input.checked = input.value === named;
  byId("map").replaceChildren(draw(places, chosen, choose));
}
