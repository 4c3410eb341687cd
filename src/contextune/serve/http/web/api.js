// The service, and the tokens it is shown. They live in this tab's storage and go with it.

const KEY = "contextune.people";

export class Refused extends Error {
  constructor(status, fault) {
    super([fault.message, ...(fault.where ?? [])].join(" · "));
    this.status = status;
    this.code = fault.code;
  }
}

let people = read();
let current = people.length ? 0 : -1;

function read() {
  try {
    const found = JSON.parse(sessionStorage.getItem(KEY) ?? "[]");
    return Array.isArray(found) ? found.filter((one) => typeof one?.token === "string") : [];
  } catch {
    return [];
  }
}

function keep() {
  sessionStorage.setItem(KEY, JSON.stringify(people));
}

export const everybody = () => people;
export const whoNow = () => current;

export function become(number) {
  current = number;
}

export function add(token, name) {
  const there = people.findIndex((one) => one.token === token);
  if (there >= 0) people[there].name = name;
  else people.push({ token, name });
  current = there >= 0 ? there : people.length - 1;
  keep();
}

export function leave() {
  people.splice(current, 1);
  current = people.length - 1;
  keep();
}

// `token` stands in for that of the user chosen, to see whose it is.
export async function call(method, path, body, token = people[current]?.token) {
  let answer;
  try {
    answer = await fetch(`../v1/${path}`, {
      method,
      headers: { Authorization: `Bearer ${token}`, ...(body ? { "Content-Type": "application/json" } : {}) },
      body: body ? JSON.stringify(body) : undefined,
      credentials: "omit",
    });
  } catch (error) {
    // a token of letters no header can hold fails here as well
    const said = error instanceof TypeError && /[^\x20-\x7e]/.test(token ?? "") ? "this is no token" : "the service cannot be reached: is it running?";
    throw new Refused(0, { code: "unreachable", message: said });
  }
  if (answer.status === 204) return null;
  const said = await answer.json().catch(() => ({}));
  if (!answer.ok) throw new Refused(answer.status, said.error ?? { code: "broken", message: `the service answered ${answer.status}` });
  return said;
}
