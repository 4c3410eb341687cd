// How many of the user's items have vectors, while some have none, and whether vectors had a part in an answer.

import * as api from "./api.js";
import { count } from "./words.js";

const FIRST_WAIT_MS = 2000;
const LONGEST_WAIT_MS = 30000;

export class Preparation {
  #part;
  #timer = 0;
  #ready = -1;

  // `part` finds an element of the side.
  constructor(part) {
    this.#part = part;
  }

  async ask(user, wait = FIRST_WAIT_MS) {
    this.show(user, await api.call(user, "GET", "preparation"), wait);
  }

  // Show the state, and ask again until all items have vectors; less often while nothing changes.
  show(user, { ready, total }, wait = FIRST_WAIT_MS) {
    this.hide();
    if (ready === total || !this.#part("preparation")) return;
    this.#part("preparation").textContent = `${ready} of ${count(total, "item")} ${ready === 1 ? "has" : "have"} vectors. Until all have, answers are ranked by words, or wait.`;
    const next = ready === this.#ready ? Math.min(2 * wait, LONGEST_WAIT_MS) : FIRST_WAIT_MS;
    this.#ready = ready;
    // a service that cannot be reached is reported by the next request
    this.#timer = setTimeout(() => this.ask(user, next).catch(() => this.hide()), wait);
  }

  hide() {
    clearTimeout(this.#timer);
    if (this.#part("preparation")) this.#part("preparation").textContent = "";
  }
}

export function describeWordsOnly({ words_only: wordsOnly, preparation: { ready, total } }) {
  if (!wordsOnly) return "";
  const why = ready < total ? `${count(total - ready, "item")} ${total - ready === 1 ? "has" : "have"} no vector yet` : "the embedder cannot read this text";
  return `Ranked by words, times and uses alone: ${why}.`;
}
