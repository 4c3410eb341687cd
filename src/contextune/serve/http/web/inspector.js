// Entry point: sign-in, requests, feedback and theme.

import * as api from "./api.js";
import { byId, el } from "./dom.js";
import * as keys from "./keys.js";
import * as plan from "./plan.js";
import * as results from "./results.js";
import * as situation from "./situation.js";

const FEEDBACK_HINT = "Mark items and a tool as right or wrong, then send. Later answers use your feedback.";

let shownRequest = null; // the request whose answer is on the page
let turn = 0; // an answer that arrives after a newer request is dropped

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

async function fetchUser(token) {
  try {
    return await api.call("GET", "me", undefined, token);
  } catch (error) {
    if (error.code === "unknown_user") return null; // a valid token of a user without data
    throw error;
  }
}

async function signIn(event) {
  event.preventDefault();
  await attempt(event.submitter, async () => {
    const token = byId("token").value.trim();
    const user = await fetchUser(token);
    byId("token").value = "";
    api.addUser(token, situation.displayName(user, token));
    await showUser(user);
  });
}

async function showUser(user) {
  turn += 1;
  shownRequest = null;
  byId("results").hidden = true;
  byId("status").textContent = "";
  const users = api.allUsers();
  byId("users").replaceChildren(...users.map(({ name }, index) => el("option", { value: index, selected: index === api.currentUser() }, name)));
  showSignIn(users.length === 0);
  if (users.length) {
    await situation.show(user);
    byId("request").focus();
  }
}

function showSignIn(on) {
  const signedIn = api.allUsers().length > 0;
  byId("sign-in").hidden = !on;
  byId("signed-in").hidden = on;
  byId("user-menu").hidden = !signedIn;
  byId("cancel-sign-in").hidden = !signedIn;
  if (on) byId("token").focus();
}

async function switchUser(index) {
  api.selectUser(index);
  await showUser(index < 0 ? null : await fetchUser());
}

// --- requests

async function ask(event) {
  event.preventDefault();
  const thisTurn = ++turn;
  const request = { text: byId("request").value, time: situation.time(), place: situation.place() };
  byId("status").textContent = "Searching …";
  await attempt(event.submitter, async () => {
    try {
      const answer = await api.call("POST", "inspect", request);
      if (thisTurn === turn) showAnswer(answer);
    } catch (error) {
      byId("status").textContent = "";
      throw error;
    }
  });
}

function showAnswer(answer) {
  // with the time that the service resolved: "now" is over when feedback is sent
  shownRequest = { text: answer.request.text, time: answer.request.time, place: answer.request.place };
  results.show(answer, updateFeedback);
  plan.show(answer.plans, answer.context);
  byId("saved").textContent = "";
  updateFeedback();
  byId("results").hidden = false;
  const ms = 1000 * Object.values(answer.seconds).reduce((sum, seconds) => sum + seconds, 0);
  byId("status").textContent = `${answer.context.length} items, ${answer.tools.length} tools, ${answer.plans.length || "no"} ${answer.plans.length > 1 ? "calls" : "call"}, in ${Math.round(ms)} ms.`;
}

// --- feedback

function updateFeedback() {
  results.refresh();
  const summary = results.summarize(results.feedback());
  byId("send").disabled = !summary;
  byId("marked").textContent = summary ? `Marked: ${summary}.` : FEEDBACK_HINT;
}

async function sendFeedback() {
  const feedback = results.feedback();
  await attempt(byId("send"), async () => {
    await api.call("POST", "feedback", { ...shownRequest, ...feedback });
    byId("saved").textContent = `Saved: ${results.summarize(feedback)}. Later answers use it.`;
  });
}

// --- theme

const THEMES = ["system", "light", "dark"];
const currentTheme = () => document.documentElement.dataset.theme ?? "system";

function setTheme(name) {
  if (name === "system") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = name;
  byId("theme").textContent = `Theme: ${name}`;
  sessionStorage.setItem("contextune.theme", name);
}

byId("sign-in").addEventListener("submit", signIn);
byId("cancel-sign-in").addEventListener("click", () => showSignIn(false));
byId("add-user").addEventListener("click", () => showSignIn(true));
byId("sign-out").addEventListener("click", (event) => attempt(event.target, () => (api.removeCurrentUser(), switchUser(api.currentUser()))));
byId("users").addEventListener("change", (event) => attempt(event.target, () => switchUser(Number(event.target.value))));
byId("ask").addEventListener("submit", ask);
byId("now").addEventListener("click", () => (byId("time").value = ""));
byId("send").addEventListener("click", sendFeedback);
byId("theme").addEventListener("click", () => setTheme(THEMES[(THEMES.indexOf(currentTheme()) + 1) % THEMES.length]));
keys.listen();
const storedTheme = sessionStorage.getItem("contextune.theme");
setTheme(THEMES.includes(storedTheme) ? storedTheme : "system");
attempt(null, () => switchUser(api.currentUser()));
