// Links that reproduce a request. Everything is in the fragment of the address, which browsers do not send to servers.

import { byId } from "./dom.js";

const KEYS = { text: "q", time: "time", method: "method", user: "user" };

// States of one or two sides; the keys of the second end in 2.
export function encode(states) {
  const fragment = new URLSearchParams();
  states.forEach((state, index) => {
    const set = (key, value) => value != null && fragment.set(index ? `${key}2` : key, value);
    for (const [name, key] of Object.entries(KEYS)) set(key, state[name]);
    if (Array.isArray(state.place)) set("at", state.place.join());
    else set("place", state.place);
  });
  return fragment.toString();
}

export function decode(text) {
  const fragment = new URLSearchParams(text.replace(/^#/, ""));
  return ["", "2"].filter((end) => fragment.get(`q${end}`)?.trim()).map((end) => {
    const state = Object.fromEntries(Object.entries(KEYS).map(([name, key]) => [name, fragment.get(key + end)]));
    const at = fragment.get(`at${end}`)?.split(",").map(Number) ?? [];
    const place = at.length === 2 && at.every(Number.isFinite) ? at : fragment.get(`place${end}`);
    return { ...state, text: state.text.slice(0, 2000), place };
  });
}

// `states` is called when the dialog opens. Requests are never put into the address bar, nor so into the browser's history.
export function listen(states) {
  byId("show-link").addEventListener("click", () => show(states()));
  byId("copy-link").addEventListener("click", copy);
}

function show(states) {
  if (!states.length) return;
  byId("link-address").value = `${location.origin}${location.pathname}#${encode(states)}`;
  byId("copied").textContent = "";
  byId("link").showModal();
  byId("link-address").select();
}

async function copy() {
  byId("link-address").select();
  try {
    await navigator.clipboard.writeText(byId("link-address").value);
    byId("copied").textContent = "Copied.";
  } catch {
    byId("copied").textContent = "This browser does not allow it: copy the selected address by hand."; // no HTTPS
  }
}
