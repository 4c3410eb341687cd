// HTTP client of the service, and the tokens of the signed-in users. Tokens are kept in sessionStorage only.

const STORAGE_KEY = "contextune.users";

export class ApiError extends Error {
  constructor(status, error) {
    super([error.message, ...(error.where ?? [])].join(" · "));
    this.status = status;
    this.code = error.code;
  }
}

let users = load();
let current = users.length ? 0 : -1;

function load() {
  try {
    const stored = JSON.parse(sessionStorage.getItem(STORAGE_KEY) ?? "[]");
    return Array.isArray(stored) ? stored.filter((user) => typeof user?.token === "string") : [];
  } catch {
    return [];
  }
}

function save() {
  sessionStorage.setItem(STORAGE_KEY, JSON.stringify(users));
}

export const allUsers = () => users;
export const currentUser = () => current;

export function selectUser(index) {
  current = index;
}

export function addUser(token, name) {
  const index = users.findIndex((user) => user.token === token);
  if (index >= 0) users[index].name = name;
  else users.push({ token, name });
  current = index >= 0 ? index : users.length - 1;
  save();
}

export function removeCurrentUser() {
  users.splice(current, 1);
  current = users.length - 1;
  save();
}

// `token` defaults to that of the selected user; signing in passes one that is not stored yet.
export async function call(method, path, body, token = users[current]?.token) {
  let response;
  try {
    response = await fetch(`../v1/${path}`, {
      method,
      headers: { Authorization: `Bearer ${token}`, ...(body ? { "Content-Type": "application/json" } : {}) },
      body: body ? JSON.stringify(body) : undefined,
      credentials: "omit",
    });
  } catch (error) {
    // fetch also fails for a token with characters that a header cannot contain
    const badToken = error instanceof TypeError && /[^\x20-\x7e]/.test(token ?? "");
    const message = badToken ? "this is not a token" : "the service cannot be reached: is it running?";
    throw new ApiError(0, { code: "unreachable", message });
  }
  if (response.status === 204) return null;
  const reply = await response.json().catch(() => ({}));
  if (!response.ok) throw new ApiError(response.status, reply.error ?? { code: "broken", message: `the service answered ${response.status}` });
  return reply;
}
