// The theme: that of the system, light or dark.

import { byId } from "./dom.js";

const STORAGE_KEY = "contextune.theme";
const THEMES = ["system", "light", "dark"];

export function listen() {
  const stored = sessionStorage.getItem(STORAGE_KEY);
  set(THEMES.includes(stored) ? stored : "system");
  byId("theme").addEventListener("click", () => set(THEMES[(THEMES.indexOf(current()) + 1) % THEMES.length]));
}

const current = () => document.documentElement.dataset.theme ?? "system";

function set(name) {
  if (name === "system") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = name;
  byId("theme").textContent = `Theme: ${name}`;
  sessionStorage.setItem(STORAGE_KEY, name);
}
