// One side of the page: a request with its settings, the answer, and the feedback on it.

import { showAnswer, describeAnswer } from "./answer.js";
import * as api from "./api.js";
import { byId, copyTemplate, el } from "./dom.js";
import { showItems } from "./items.js";
import { Marks, summarize } from "./marks.js";
import { describeWordsOnly, Preparation } from "./preparation.js";
import { Settings } from "./settings.js";
import { showTools } from "./tools.js";
import { describeSeconds } from "./words.js";

const EXAMPLES = ["What's on tomorrow?", "Read me the newest mail.", "When did I last call someone?"];
const MAX_TURNS = 12; // the service looks at fewer

export class Side {
  #turns = []; // of the conversation that the next request continues
  #turn = 0; // an answer that arrives after a newer request is dropped
  #attempt;
  #onAnswer;
  answer = null;

  // `attempt` runs an action and shows its error; `onAnswer` is called when the answer changes.
  constructor(prefix, attempt, onAnswer) {
    this.prefix = prefix;
    this.#attempt = attempt;
    this.#onAnswer = onAnswer;
    this.root = copyTemplate("side", prefix);
    this.root.id = `${prefix}-side`;
    byId("sides").append(this.root);
    this.settings = new Settings(this.part, (user) => attempt(null, () => this.show(user)));
    this.preparation = new Preparation(this.part);
    this.marks = new Marks(this.root, () => this.#showMarks());
    this.part("ask").addEventListener("submit", (event) => (event.preventDefault(), this.ask(event.submitter)));
    this.part("send").addEventListener("click", () => this.#send());
    this.part("clear").addEventListener("click", () => (this.marks.clear(), this.part("request").focus()));
    this.part("examples").append(...EXAMPLES.map((text) => el("button", { type: "button", class: "plain", click: (event) => this.#askExample(text, event.target) }, text)));
    this.part("follow").addEventListener("click", () => this.#followUp());
    this.part("end").addEventListener("click", () => this.#endConversation());
  }

  part = (name) => byId(`${this.prefix}-${name}`);

  label(name) {
    this.root.setAttribute("aria-label", name ? `Side ${name}` : "Request and answer");
    this.part("request-label").textContent = name ? `Request ${name}` : "Request";
    this.part("ask").setAttribute("aria-label", name ? `Ask ${name}` : "Ask");
  }

  // Text and settings, enough to ask again.
  get state() {
    return { text: this.part("request").value, user: this.settings.user?.name, ...this.settings.values };
  }

  // The state of the answer that is shown, at the time that "now" stood for.
  get shownState() {
    const { text, place } = this.answer.request;
    return { text, place, time: this.answer.clock, method: this.answer.method, user: this.settings.user.name };
  }

  set state(state) {
    this.part("request").value = state.text ?? "";
    this.settings.values = state;
  }

  #askExample(text, button) {
    this.part("request").value = text;
    this.ask(button);
  }

  // The shown request and its answer become turns, after which the next request is understood.
  #followUp() {
    const { request, answer, plans, context } = this.answer;
    const reply = answer?.text ?? plans[0]?.sentence ?? context[0]?.title ?? "";
    this.#turns = [...request.history, { speaker: "user", text: request.text }, ...(reply ? [{ speaker: "assistant", text: reply }] : [])].slice(-MAX_TURNS);
    this.part("request").value = "";
    this.#showTurns();
    this.part("request").focus();
  }

  #endConversation() {
    this.#turns = [];
    this.#showTurns();
    this.part("request").focus();
  }

  #showTurns() {
    const line = ({ speaker, text }) => el("li", { class: speaker }, el("span", { class: "unseen" }, speaker === "user" ? "You: " : "Answer: "), text);
    this.part("turns").replaceChildren(...this.#turns.map(line));
    this.part("conversation").hidden = !this.#turns.length;
  }

  async show(user) {
    this.#turns = [];
    this.#showTurns();
    this.clear();
    if (await this.settings.show(user)) await this.preparation.ask(user);
  }

  clear() {
    this.#turn += 1;
    this.preparation.hide();
    this.answer = null;
    this.part("results").hidden = true;
    this.part("hint").hidden = false;
    this.part("status").textContent = "";
    this.marks.clear();
    this.#onAnswer();
  }

  async ask(button) {
    const turn = ++this.#turn;
    if (matchMedia("(hover: none)").matches) document.activeElement?.blur(); // the screen keyboard hides the answer
    const { text, time, place, method } = this.state;
    this.part("status").textContent = "Searching …";
    this.root.setAttribute("aria-busy", "true");
    await this.#attempt(button, async () => {
      try {
        const answer = await api.call(this.settings.user, "POST", "inspect", { text, time, place, method, history: this.#turns });
        if (turn === this.#turn) this.#show({ ...answer, method });
        if (turn === this.#turn && this.#turns.length) this.#followUp(); // a conversation goes on until it is ended
      } catch (error) {
        this.part("status").textContent = "";
        throw error;
      } finally {
        if (turn === this.#turn) this.root.removeAttribute("aria-busy");
      }
    });
  }

  #show(answer) {
    this.answer = answer;
    showItems(this.part, answer.context, this.marks);
    showTools(this.part, answer, this.marks);
    showAnswer(this.part, answer, this.marks);
    this.part("words-only").textContent = describeWordsOnly(answer);
    this.marks.clear();
    const seconds = Object.values(answer.seconds).reduce((sum, stage) => sum + stage, 0);
    this.part("seconds").textContent = `Answered in ${describeSeconds(seconds)}. Mark what is right or wrong, and later answers use it.`;
    this.part("hint").hidden = true;
    this.part("results").hidden = false;
    this.part("status").textContent = [describeAnswer(answer), describeWordsOnly(answer)].filter(Boolean).join(" ");
    this.preparation.show(this.settings.user, answer.preparation);
    this.#onAnswer();
  }

  #showMarks() {
    const summary = summarize(this.marks.feedback);
    this.part("feedback").hidden = !summary;
    this.part("marked").textContent = summary ? `Marked: ${summary}.` : "";
    this.part("saved").textContent = "";
  }

  async #send() {
    const feedback = this.marks.feedback;
    const { text, time, place, history } = this.answer.request; // with the time that the service resolved
    await this.#attempt(this.part("send"), async () => {
      await api.call(this.settings.user, "POST", "feedback", { text, time, place, history, ...feedback });
      this.marks.clear();
      this.part("saved").textContent = `Saved: ${summarize(feedback)}. Later answers use it.`;
      this.part("request").focus();
    });
  }
}
