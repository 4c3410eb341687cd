// The page put together: signing in, asking, telling what was right, tabs and theme.

import * as api from "./api.js";
import * as benchmarks from "./benchmarks.js";
import { byId, el } from "./dom.js";
import * as keys from "./keys.js";
import * as plan from "./plan.js";
import * as results from "./results.js";
import * as situation from "./situation.js";

let asked = null; // what the answer on the page was asked with
let turn = 0; // answers that come after another question are thrown away

function fault(error) {
  byId("fault").textContent = error ? error.message : "";
  if (error && !(error instanceof api.Refused)) throw error;
}

async function trying(button, work) {
  fault(null);
  if (button) button.disabled = true;
  try {
    await work();
  } catch (error) {
    fault(error);
  } finally {
    if (button) button.disabled = false;
  }
}

// --- who

async function profile(token) {
  try {
    return await api.call("GET", "me", undefined, token);
  } catch (error) {
    if (error.code === "unknown_user") return null; // a token that is good, of somebody who has put nothing yet
    throw error;
  }
}

async function signIn(event) {
  event.preventDefault();
  await trying(event.submitter, async () => {
    const token = byId("token").value.trim();
    const me = await profile(token);
    byId("token").value = "";
    api.add(token, situation.nameOf(me, token));
    await enter(me);
  });
}

async function enter(me) {
  turn += 1;
  asked = null;
  byId("results").hidden = true;
  byId("status").textContent = "";
  const people = api.everybody();
  byId("people").replaceChildren(...people.map((one, number) => el("option", { value: number, selected: number === api.whoNow() }, one.name)));
  signingIn(people.length === 0);
  if (people.length) {
    await situation.show(me);
    byId("request").focus();
  }
}

function signingIn(on) {
  const anybody = api.everybody().length > 0;
  byId("sign-in").hidden = !on;
  byId("signed-in").hidden = on;
  byId("people-part").hidden = !anybody;
  byId("stay").hidden = !anybody;
  if (on) byId("token").focus();
}

async function change(number) {
  api.become(number);
  await enter(number < 0 ? null : await profile());
}

// --- asking

async function ask(event) {
  event.preventDefault();
  const mine = ++turn;
  const said = { text: byId("request").value, time: situation.time(), place: situation.place() };
  byId("status").textContent = "Looking …";
  await trying(event.submitter, async () => {
    try {
      const answer = await api.call("POST", "inspect", said);
      if (mine === turn) show(answer);
    } catch (error) {
      byId("status").textContent = "";
      throw error;
    }
  });
}

function show(answer) {
  // the moment as the service took it: "now" is over when feedback is sent
  asked = { text: answer.request.text, time: answer.request.time, place: answer.request.place };
  results.show(answer, marked);
  plan.show(answer.plans, answer.context);
  byId("kept").textContent = "";
  marked();
  byId("results").hidden = false;
  const ms = 1000 * Object.values(answer.seconds).reduce((sum, seconds) => sum + seconds, 0);
  byId("status").textContent = `${answer.context.length} items, ${answer.tools.length} tools, ${answer.plans.length || "no"} ${answer.plans.length > 1 ? "calls" : "call"}, in ${Math.round(ms)} ms.`;
}

// --- telling what was right

function marked() {
  results.refresh();
  const words = results.inWords(results.feedback());
  byId("send").disabled = !words;
  byId("marked").textContent = words ? `Marked: ${words}.` : "Mark items and a tool as right or wrong, then send it: the next answers know.";
}

async function send() {
  const told = results.feedback();
  await trying(byId("send"), async () => {
    await api.call("POST", "feedback", { ...asked, ...told });
    byId("kept").textContent = `Kept: ${results.inWords(told)}. The next answers know.`;
  });
}

// --- tabs and theme

const TABS = ["ask", "benchmarks"];

function open(name) {
  for (const tab of TABS) {
    const on = tab === name;
    byId(`tab-${tab}`).setAttribute("aria-selected", String(on));
    byId(`tab-${tab}`).tabIndex = on ? 0 : -1;
    byId(`panel-${tab}`).hidden = !on;
  }
  if (name === "benchmarks") benchmarks.show();
}

function theme(name) {
  if (name === "automatic") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = name;
  byId("theme").textContent = `Theme: ${name}`;
  sessionStorage.setItem("contextune.theme", name);
}

const THEMES = ["automatic", "light", "dark"];
const themeNow = () => document.documentElement.dataset.theme ?? "automatic";

byId("sign-in").addEventListener("submit", signIn);
byId("stay").addEventListener("click", () => signingIn(false));
byId("add-person").addEventListener("click", () => signingIn(true));
byId("sign-out").addEventListener("click", (event) => trying(event.target, () => (api.leave(), change(api.whoNow()))));
byId("people").addEventListener("change", (event) => trying(event.target, () => change(Number(event.target.value))));
byId("ask").addEventListener("submit", ask);
byId("now").addEventListener("click", () => (byId("time").value = ""));
byId("send").addEventListener("click", send);
byId("theme").addEventListener("click", () => theme(THEMES[(THEMES.indexOf(themeNow()) + 1) % THEMES.length]));
for (const tab of TABS) byId(`tab-${tab}`).addEventListener("click", () => open(tab));
byId("tab-ask").parentElement.addEventListener("keydown", (event) => {
  if (event.key !== "ArrowRight" && event.key !== "ArrowLeft") return;
  const other = TABS[1 - TABS.indexOf(event.target.id.replace("tab-", ""))];
  open(other);
  byId(`tab-${other}`).focus();
});
keys.listen();
const kept = sessionStorage.getItem("contextune.theme");
theme(THEMES.includes(kept) ? kept : "automatic");
trying(null, () => change(api.whoNow()));
