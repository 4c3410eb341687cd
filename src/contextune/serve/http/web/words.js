// Scores, probabilities and times in words.

export const percent = (share) => `${Math.round(100 * share)} %`;

export const DECISIONS = { act: "Ready to call", confirm: "Confirm first", ask: "Ask first", none: "No call" };

export const FAMILIES = {
  text: ["words", "lexical and semantic similarity"],
  named: ["names", "names of items and people in the request"],
  store: ["application", "the application the request is about"],
  times: ["time", "distance in time"],
  place: ["place", "your place and the place of the item"],
  usage: ["habit", "when and where you used it before"],
  people: ["people", "people the request names or implies"],
  state: ["state", "missed or answered, open or done"],
  utterance: ["request", "kind of request"],
  links: ["links", "links to other strong candidates"],
};

// How probably the request needs an item, where that is known. Scores of different requests cannot be compared, and
// unrelated items may score alike: without a probability, only the place is said.
export function describeMatch(score, best, rank, probability) {
  if (score <= 0 || best <= 0) return "no match";
  if (rank === 0) return "best match";
  if (probability == null) return score / best >= 0.5 ? "behind the best" : "far behind";
  return probability >= 0.5 ? "likely needed" : probability >= 0.1 ? "perhaps needed" : "probably not needed";
}

export function describeWeight(weight, longest) {
  const share = Math.abs(weight) / longest;
  const degree = share >= 0.6 ? "a lot" : share >= 0.25 ? "somewhat" : "a little";
  return `${weight < 0 ? "lowered" : "raised"} it ${degree}`;
}

const CLOCK = { weekday: "short", day: "numeric", month: "short", year: "numeric", hour: "2-digit", minute: "2-digit", hourCycle: "h23" };

// A wall-clock time without an offset, as it is: "Thu 17 Nov 2022 20:30".
export function describeTime(iso) {
  const time = new Date(iso);
  return Number.isNaN(time.getTime()) ? iso : new Intl.DateTimeFormat("en-GB", CLOCK).format(time).replaceAll(",", "");
}

export function describeValue(value) {
  if (value?.$step != null) return "a result of an earlier step";
  return typeof value === "string" ? value : JSON.stringify(value);
}

export const count = (number, noun) => `${number} ${noun}${number === 1 ? "" : "s"}`;

export const describeSeconds = (seconds) => (seconds < 1 ? `${Math.round(1000 * seconds)} ms` : `${seconds.toFixed(1)} s`);
