// HTTP client of the service, and the users that are signed in. Tokens are kept in sessionStorage only.

const STORAGE_KEY = "contextune.users";

export class ApiError extends Error {
  constructor(status, error) {
    super([error.message, ...(error.where ?? [])].join(" · "));
    this.status = status;
    this.code = error.code;
  }
}

// Objects with a token and a name.
const users = load();

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

export async function signIn(token) {
  const profile = await fetchProfile({ token });
  let user = users.find((other) => other.token === token);
  if (!user) users.push((user = { token }));
  user.name = displayName(profile, token);
  save();
  return user;
}

export function signOut(user) {
  users.splice(users.indexOf(user), 1);
  save();
}

function displayName(profile, token) {
  const name = profile?.profile?.name;
  return typeof name === "string" && name ? name : `token ${token.split("_")[1] ?? ""}`;
}

// null for a valid token of a user without data
export async function fetchProfile(user) {
  try {
    return await call(user, "GET", "me");
  } catch (error) {
    if (error.code === "unknown_user") return null;
    throw error;
  }
}

export async function call({ token }, method, path, body) {
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
