// Requests to the server, which runs on this machine.

export class Refused extends Error {}

async function answer(request) {
  const response = await request;
  if (response.ok) return response;
  let message = `the server answered ${response.status}`;
  try {
    message = (await response.json()).error || message;
  } catch { /* not JSON: report the status */ }
  throw new Refused(message);
}

export async function get(path) {
  return (await answer(fetch(path))).json();
}

export async function numbers(path, Kind) {
  return new Kind(await (await answer(fetch(path))).arrayBuffer());
}

export async function ask(path, question, signal) {
  const request = fetch(path, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(question),
    signal,
  });
  return (await answer(request)).json();
}

// Previews of sentences for the tooltip, fetched in batches and cached.
export class Texts {
  constructor() {
    this.known = new Map();
    this.asked = new Set();
  }

  remember(sentences) {
    for (const one of sentences) if (!this.known.has(one.id)) this.known.set(one.id, one);
  }

  get(id) {
    return this.known.get(id);
  }

  async fetch(ids) {
    const missing = ids.filter((id) => !this.known.has(id) && !this.asked.has(id)).slice(0, 100);
    if (!missing.length) return;
    missing.forEach((id) => this.asked.add(id));
    try {
      this.remember((await ask("api/texts", { ids: missing })).sentences);
    } finally {
      missing.forEach((id) => this.asked.delete(id));
    }
    if (this.known.size > 50000) this.known.clear();
  }
}
