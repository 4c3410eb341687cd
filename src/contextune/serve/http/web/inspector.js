// Entry point: signing in, the sides, and links.

import * as api from "./api.js";
import { showDifference } from "./compare.js";
import { byId, el } from "./dom.js";
import * as keys from "./keys.js";
import * as link from "./link.js";
import { Side } from "./side.js";
import * as theme from "./theme.js";

const sides = []; // one, or two while comparing
let linked = link.decode(location.hash); // states of the link that the page was opened with, until they are asked

function showError(error) {
  byId("error").textContent = error ? error.message : "";
  if (error && !(error instanceof api.ApiError)) throw error;
}

// Run an action with its button disabled, and show its error.
async function attempt(button, action) {
  showError(null);
  if (button) button.disabled = true;
  try {
    await action();
  } catch (error) {
    showError(error);
  } finally {
    if (button) button.disabled = false;
  }
}

// --- users

async function signIn(event) {
  event.preventDefault();
  await attempt(event.submitter, async () => {
    const user = await api.signIn(byId("token").value.trim());
    byId("token").value = "";
    await showUser(user);
  });
}

async function signOut(user) {
  byId("menu").hidePopover();
  api.signOut(user);
  if (sides[1]?.settings.user === user) removeSide();
  await showUser(sides[0].settings.user === user ? api.allUsers()[0] : sides[0].settings.user);
}

async function showUser(user) {
  showSignIn(!user);
  showMenu();
  if (!user) return sides.splice(0).forEach((side) => side.root.remove());
  if (!sides.length) addSide();
  await sides[0].show(user);
  sides.forEach((side) => side.settings.showUsers());
  sides[0].part("request").focus();
  if (linked.length) await askLinked();
}

function showSignIn(on) {
  const signedIn = api.allUsers().length > 0;
  byId("sign-in").hidden = !on;
  byId("sides").hidden = on;
  byId("difference").hidden = on;
  byId("cancel-sign-in").hidden = !signedIn;
  byId("link-waits").hidden = !linked.length;
  byId("compare").hidden = on;
  if (on) byId("token").focus();
}

function showMenu() {
  const users = api.allUsers();
  byId("add-user").hidden = !users.length;
  byId("users").replaceChildren(...users.map((user) => el("button", { class: "plain", click: (event) => attempt(event.target, () => signOut(user)) }, `Sign out ${user.name}`)));
}

// --- sides

function addSide() {
  const side = new Side("ab"[sides.length], attempt, update);
  sides.push(side);
  sides.forEach((other, index) => other.label(sides.length > 1 ? "AB"[index] : ""));
  update();
  return side;
}

function removeSide() {
  sides.pop().root.remove();
  sides[0].label("");
  update();
}

function update() {
  const comparing = sides.length > 1;
  byId("sides").classList.toggle("comparing", comparing);
  byId("compare").setAttribute("aria-pressed", String(comparing));
  byId("show-link").hidden = byId("sides").hidden || !sides.some((side) => side.answer);
  byId("difference").textContent = showDifference(sides);
  // a link that was opened says no longer what is shown
  if (location.hash && !linked.length && link.encode(states()) !== location.hash.slice(1)) history.replaceState(null, "", location.pathname);
}

// The second side starts as a copy of the first, to change one thing.
async function compare() {
  if (sides.length > 1) return removeSide();
  const [first] = sides;
  const side = addSide();
  await attempt(null, () => side.show(first.settings.user));
  side.state = first.state;
  side.part("settings").open = true;
  side.part("request").focus();
}

// --- links

const states = () => sides.filter((side) => side.answer).map((side) => ({ ...side.shownState, ...(api.allUsers().length > 1 ? {} : { user: null }) }));

async function askLinked() {
  const asked = linked;
  for (const [index, state] of asked.entries()) {
    const side = sides[index] ?? addSide();
    const user = api.allUsers().find(({ name }) => name === state.user) ?? sides[0].settings.user;
    if (side.settings.user !== user) await side.show(user);
    side.state = state;
  }
  byId("link-waits").hidden = true;
  await Promise.all(sides.map((side) => side.ask(null)));
  linked = [];
}

byId("sign-in").addEventListener("submit", signIn);
byId("cancel-sign-in").addEventListener("click", () => showSignIn(false));
byId("add-user").addEventListener("click", () => (byId("menu").hidePopover(), showSignIn(true)));
byId("compare").addEventListener("click", compare);
link.listen(states);
theme.listen();
keys.listen();
addEventListener("hashchange", () => {
  linked = link.decode(location.hash);
  if (linked.length && sides.length) attempt(null, askLinked);
});
attempt(null, () => showUser(api.allUsers()[0]));
