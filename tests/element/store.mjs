// A server with conversations, for pages that list, open and change them.
const PAGE = 30;

/** What the server answers for these conversations, the newest first, and what it was asked: `PATCH t1 {...}`. */
export function storeOf(rows) {
  const store = { rows: rows.map((row, n) => ({ thread_id: `t${n}`, preview: "", updated_at: new Date(Date.now() - n * 60_000).toISOString(), ...row })), changes: [], fails: false };
  const list = ({ searchParams }) => {
    const [q, archived, from] = ["q", "archived", "cursor"].map((name) => searchParams.get(name) ?? "");
    const found = store.rows.filter((row) => String(row.archived ?? false) === (archived || "false") && row.title.includes(q));
    const next = Number(from) + PAGE;
    return Response.json({ threads: found.slice(Number(from), next), next: next < found.length ? String(next) : null });
  };
  const thread = (id) => async (_, { method = "GET", body }) => {
    const row = store.rows.find(({ thread_id }) => thread_id === id);
    if (method !== "GET") store.changes.push([method, id, body].filter(Boolean).join(" "));
    if (method !== "GET" && store.fails) throw new TypeError("Failed to fetch");
    if (!row) return Response.json({ error: "not_found" }, { status: 404 });
    if (method === "PATCH") Object.assign(row, JSON.parse(body));
    if (method === "DELETE") store.rows.splice(store.rows.indexOf(row), 1);
    if (method === "DELETE") return new Response(null, { status: 204 });
    const messages = row.messages ?? [{ id: `${id}-u`, role: "user", content: row.title }, { id: `${id}-a`, role: "assistant", content: `Answer to ${id}` }];
    return Response.json({ pending: [], state: {}, running: false, ...row, messages });
  };
  store.routes = new Proxy({}, {
    get: (_, path) => (path === "/agent/threads/" ? list : /^\/agent\/threads\/[^/]+\/$/.test(path) ? thread(path.split("/")[3]) : undefined),
  });
  return store;
}
