// Well-formed conversations made at random, always the same for the same seed.
//
// Not made, because there we differ on purpose:
// - An id of an earlier run that begins again. The official client continues it; for us this is the replay of a run that is
//   followed from its start, and the message starts afresh.
// - A patch that copies or moves to where nothing can be, or into what it moves. RFC 6902 calls that an error, and so do we;
//   the official client's library makes holes in lists, and circles.
// - Metadata with which a snapshot claims types of activities: a convention of that client's own package, not of AG-UI.
import jsonpatch from "fast-json-patch";

export function generate(seed) {
  return new Generator(seed).conversation();
}

const TEXTS = ["", "a", "Hello, ", "wörld", "\n\n", "`code`", "😀", '{"x":', "1}"];
const KEYS = ["a", "b", "a/b", "m~n", "0", "list", ""];

class Generator {
  constructor(seed) {
    this.seed = seed;
    this.numbers = 0;
    this.state = {};
    /** What the conversation has, roughly: roles by id, activities' contents, calls without a result. */
    this.roles = new Map();
    this.activities = new Map();
    this.unanswered = new Set();
  }

  // --- Chance

  random() {
    this.seed = (this.seed + 0x6d2b79f5) | 0;
    let t = Math.imul(this.seed ^ (this.seed >>> 15), 1 | this.seed);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  }

  below(count) {
    return Math.floor(this.random() * count);
  }

  chance(share) {
    return this.random() < share;
  }

  pick(items) {
    const all = [...items];
    return all[this.below(all.length)];
  }

  id(kind) {
    return `${kind}${(this.numbers += 1)}`;
  }

  /** Any JSON. */
  value(depth = 0) {
    const plain = [null, true, 0, -1.5, "", "text", "😀"];
    if (depth > 2 || this.chance(0.4)) return this.pick(plain);
    if (this.chance(0.5)) return Array.from({ length: this.below(4) }, () => this.value(depth + 1));
    return this.object(depth);
  }

  object(depth = 0) {
    return Object.fromEntries(Array.from({ length: this.below(4) }, () => [this.pick(KEYS), this.value(depth + 1)]));
  }

  metadata() {
    return this.chance(0.15) ? { metadata: { [this.pick(["x", "y"])]: this.value(1) } } : {};
  }

  // --- JSON Patch: operations that mostly fit, one after the other

  patch(document) {
    const operations = [];
    let now = structuredClone(document ?? null);
    for (let count = 1 + this.below(4); count; count -= 1) {
      const operation = this.operation(now);
      operations.push(operation);
      try {
        now = jsonpatch.applyPatch(now, [operation], true, false).newDocument;
      } catch {
        break;
      }
    }
    return operations;
  }

  operation(document) {
    const op = this.pick(["add", "add", "replace", "remove", "copy", "move", "test"]);
    const path = this.chance(0.85) ? this.path(document, op === "add") : this.pick(["/nowhere/x", "/0/0/0", "/a/-", ...(op === "add" ? ["/list/99"] : [])]);
    if (op === "remove") return { op, path };
    if (op === "copy" || op === "move") {
      const from = this.path(document, false);
      const rest = op === "move" && from ? applied(document, [{ op: "remove", path: from }]) : document;
      const to = this.path(rest, true);
      return `${to}/`.startsWith(`${from}/`) ? { op: "copy", from, path: from } : { op, from, path: to };
    }
    const value = op === "test" && this.chance(0.7) ? valueAt(document, path) : this.value();
    return { op, path, value: value === undefined ? null : value };
  }

  path(document, isNew) {
    let path = "";
    let at = document;
    while (at !== null && typeof at === "object") {
      const keys = Object.keys(at);
      if (isNew && this.chance(0.4)) return `${path}/${Array.isArray(at) ? this.pick(["-", `${keys.length}`, "0"]) : escape(this.pick(KEYS))}`;
      if (!keys.length || (path && this.chance(0.3))) break;
      const key = this.pick(keys);
      path += `/${escape(key)}`;
      at = at[key];
    }
    return path;
  }

  // --- A conversation

  conversation() {
    const runs = Array.from({ length: 1 + this.below(3) }, (_, index) => {
      const message = { id: this.id("user"), role: "user", content: `Question ${index}` };
      this.roles.set(message.id, "user");
      return { runId: `run${index}`, messages: [message], events: this.run(`run${index}`) };
    });
    return { runs };
  }

  run(runId) {
    this.events = [];
    /** What is open, by kind: [id, owner]. */
    this.open = { text: new Map(), reasoning: new Map(), call: new Map(), span: new Map(), step: new Map(), agent: new Map() };
    this.closed = { text: new Map(), reasoning: new Map(), call: new Map() };
    this.chunks = new Map();
    const ids = { threadId: "thread", runId };
    this.emit({ type: "RUN_STARTED", ...ids, protocolVersion: "1.0", ...(this.chance(0.1) && { input: this.echo(ids) }) });
    const actions = Object.getOwnPropertyNames(Object.getPrototypeOf(this)).filter((name) => name.startsWith("do_"));
    const favourites = actions.filter(() => this.chance(0.4));
    for (let count = this.below(60); count; count -= 1) this[this.pick(this.chance(0.8) && favourites.length ? favourites : actions)]();
    if (this.chance(0.1)) this.emit({ type: "RUN_ERROR", message: "Failed.", code: "internal_error" });
    else this.finish(ids);
    return this.events;
  }

  echo(ids) {
    const message = { id: this.id("echo"), role: "user", content: "From elsewhere" };
    this.roles.set(message.id, "user");
    return { ...ids, messages: [message], state: {}, tools: [], context: [], forwardedProps: {} };
  }

  finish(ids) {
    this.chunks.clear();
    const names = { text: "TEXT_MESSAGE_END", reasoning: "REASONING_MESSAGE_END", span: "REASONING_END", call: "TOOL_CALL_END", step: "STEP_FINISHED" };
    for (const [kind, type] of Object.entries(names)) {
      for (const [id, owner] of this.open[kind]) this.emit({ type, ...name(kind, id), ...owner });
    }
    for (const id of [...this.open.agent.keys()].reverse()) this.emit({ type: "SUBAGENT_FINISHED", subagentRunId: id });
    const interrupts = [...this.unanswered].map((id) => ({ id: `int-${id}`, reason: "tool_call", toolCallId: id }));
    const outcomes = [undefined, { type: "success" }, { type: "cancelled" }, ...(interrupts.length ? [{ type: "interrupt", interrupts }] : [])];
    const outcome = this.pick(outcomes);
    this.emit({ type: "RUN_FINISHED", ...ids, ...(outcome && { outcome }) });
  }

  emit(event) {
    this.events.push(event);
    return event;
  }

  /** The speaker: the agent itself, or one of its active subagents. */
  owner() {
    return this.open.agent.size && this.chance(0.5) ? { subagentRunId: this.pick(this.open.agent.keys()) } : {};
  }

  /** Explicit events end what the chunks of their agent were filling. */
  ends({ subagentRunId }) {
    this.chunks.delete(subagentRunId);
  }

  // --- Text and reasoning

  begin(kind, role) {
    const reopened = this.chance(0.2) && this.closed[kind].size ? this.pick(this.closed[kind]) : undefined;
    const [id, owner] = reopened ?? [this.id(kind), this.owner()];
    if (this.open[kind].has(id)) return;
    this.ends(owner);
    const named = kind === "text" && !reopened && this.chance(0.1) ? { name: "Ada" } : {};
    const type = kind === "text" ? "TEXT_MESSAGE_START" : "REASONING_MESSAGE_START";
    this.emit({ type, messageId: id, role, ...named, ...owner, ...this.metadata() });
    this.open[kind].set(id, owner);
    if (!this.roles.has(id)) this.roles.set(id, role);
  }

  say(kind, type) {
    if (!this.open[kind].size) return;
    const [id, owner] = this.pick(this.open[kind]);
    this.ends(owner);
    this.emit({ type, messageId: id, delta: this.pick(TEXTS), ...owner, ...this.metadata() });
  }

  end(kind, type) {
    if (!this.open[kind].size) return;
    const [id, owner] = this.pick(this.open[kind]);
    this.ends(owner);
    this.emit({ type, ...name(kind, id), ...owner, ...(kind === "span" ? {} : this.metadata()) });
    this.open[kind].delete(id);
    this.closed[kind]?.set(id, owner);
  }

  do_text_start() {
    this.begin("text", this.pick(["assistant", "assistant", "assistant", "system", "user"]));
  }

  do_text_content() {
    this.say("text", "TEXT_MESSAGE_CONTENT");
  }

  do_text_end() {
    this.end("text", "TEXT_MESSAGE_END");
  }

  do_reasoning_start() {
    this.begin("reasoning", "reasoning");
  }

  do_reasoning_content() {
    this.say("reasoning", "REASONING_MESSAGE_CONTENT");
  }

  do_reasoning_end() {
    this.end("reasoning", "REASONING_MESSAGE_END");
  }

  do_span() {
    if (this.open.span.size) return this.end("span", "REASONING_END");
    const owner = this.owner();
    this.ends(owner);
    const id = this.id("span");
    this.emit({ type: "REASONING_START", messageId: id, ...owner });
    this.open.span.set(id, owner);
  }

  do_encrypted() {
    const called = this.chance(0.5) ? this.closed.call : this.closed.text;
    if (!called.size) return;
    const [entityId, owner] = this.pick(called);
    const subtype = called === this.closed.call ? "tool-call" : "message";
    this.emit({ type: "REASONING_ENCRYPTED_VALUE", subtype, entityId, encryptedValue: this.id("secret"), ...owner });
  }

  // --- Tool calls

  do_call_start() {
    const again = this.chance(0.1) && this.closed.call.size ? this.pick(this.closed.call) : undefined;
    const [id, owner] = again ?? [this.id("call"), this.owner()];
    if (this.open.call.has(id)) return;
    this.ends(owner);
    this.emit({ type: "TOOL_CALL_START", toolCallId: id, toolCallName: this.pick(["add", "drop"]), ...(again ? {} : this.parent(owner)), ...owner, ...this.metadata() });
    this.open.call.set(id, owner);
    this.unanswered.add(id);
  }

  /** A message of the same agent, a new one, one that can't have calls, or none. */
  parent(owner) {
    const mine = (kind) => [...this.open[kind], ...this.closed[kind]].filter(([, one]) => one.subagentRunId === owner.subagentRunId).map(([id]) => id);
    const found = this.pick([...mine("text"), ...mine("reasoning"), this.id("parent"), undefined]);
    if (found?.startsWith("parent") && !this.roles.has(found)) {
      this.roles.set(found, "assistant");
      this.closed.text.set(found, owner);
    }
    return found ? { parentMessageId: found } : {};
  }

  do_call_args() {
    if (!this.open.call.size) return;
    const [id, owner] = this.pick(this.open.call);
    this.ends(owner);
    this.emit({ type: "TOOL_CALL_ARGS", toolCallId: id, delta: this.pick(TEXTS), ...owner, ...this.metadata() });
  }

  do_call_end() {
    this.end("call", "TOOL_CALL_END");
  }

  do_call_result() {
    const done = [...this.closed.call].filter(([id]) => this.unanswered.has(id) && !this.open.call.has(id));
    if (!done.length) return;
    const [id, owner] = this.pick(done);
    this.ends(owner);
    const content = this.chance(0.8) ? this.pick(TEXTS) : [{ type: "text", text: "a part" }];
    this.emit({ type: "TOOL_CALL_RESULT", messageId: this.id("result"), toolCallId: id, content, role: "tool", ...owner, ...this.metadata() });
    this.unanswered.delete(id);
  }

  // --- Chunks

  chunk(kind, type, idName, opener) {
    const owner = this.owner();
    const open = this.chunks.get(owner.subagentRunId);
    const goesOn = open?.kind === kind && this.chance(0.7);
    const id = goesOn ? open.id : this.id(kind);
    const named = !goesOn || this.chance(0.3) ? { [idName]: id } : {};
    const first = goesOn ? {} : opener(owner);
    this.emit({ type, ...named, ...first, ...(this.chance(0.8) && { delta: this.pick(TEXTS) }), ...owner, ...this.metadata() });
    if (goesOn) return;
    this.chunks.set(owner.subagentRunId, { kind, id });
    if (kind === "call") this.unanswered.add(id);
    else this.roles.set(id, kind === "text" ? "assistant" : "reasoning");
    this.closed[kind].set(id, owner);
  }

  do_text_chunk() {
    this.chunk("text", "TEXT_MESSAGE_CHUNK", "messageId", () => (this.chance(0.5) ? { role: "assistant" } : {}));
  }

  do_reasoning_chunk() {
    this.chunk("reasoning", "REASONING_MESSAGE_CHUNK", "messageId", () => ({}));
  }

  do_call_chunk() {
    this.chunk("call", "TOOL_CALL_CHUNK", "toolCallId", (owner) => ({ toolCallName: "add", ...this.parent(owner) }));
  }

  // --- State, activities, the whole

  do_state_snapshot() {
    this.ends({});
    this.state = this.value();
    this.emit({ type: "STATE_SNAPSHOT", snapshot: this.state });
  }

  do_state_delta() {
    this.ends({});
    const delta = this.patch(this.state);
    this.emit({ type: "STATE_DELTA", delta });
    this.state = applied(this.state, delta);
  }

  do_activity_snapshot() {
    const known = this.activities.size && this.chance(0.5) ? this.pick(this.activities.keys()) : undefined;
    const taken = this.closed.text.size && this.chance(0.1) ? this.pick(this.closed.text.keys()) : undefined;
    const id = known ?? taken ?? this.id("activity");
    const replace = this.pick([undefined, true, false]);
    const content = this.object();
    const owner = this.owner();
    this.emit({ type: "ACTIVITY_SNAPSHOT", messageId: id, activityType: this.pick(["plan", "table"]), content, ...(replace !== undefined && { replace }), ...owner, ...this.metadata() });
    if (replace === false && (known || taken)) return;
    this.activities.set(id, content);
    this.roles.set(id, "activity");
  }

  do_activity_delta() {
    if (!this.activities.size) return;
    const id = this.pick(this.activities.keys());
    const patch = this.patch(this.activities.get(id)).filter(({ op, path }) => path !== "" || op === "test");
    if (!patch.length) return;
    this.emit({ type: "ACTIVITY_DELTA", messageId: id, activityType: this.pick(["plan", "table"]), patch, ...this.metadata() });
    this.activities.set(id, applied(this.activities.get(id), patch));
  }

  do_messages_snapshot() {
    if (!this.chance(0.3)) return;
    this.chunks.clear();
    const roles = this.chance(0.5) ? ["user", "assistant", "system"] : ["user", "assistant", "system", "activity", "reasoning"];
    const messages = [...this.roles].filter(([, role]) => roles.includes(role) && this.chance(0.7)).map(([id, role]) => this.message(id, role));
    messages.splice(this.below(messages.length + 1), 0, this.message(this.id("snapshot"), "assistant"));
    this.emit({ type: "MESSAGES_SNAPSHOT", messages });
  }

  message(id, role) {
    this.roles.set(id, role);
    const owner = this.open.text.get(id) ?? this.closed.text.get(id) ?? this.open.reasoning.get(id) ?? this.closed.reasoning.get(id);
    if (role !== "activity") return { id, role, content: this.pick(TEXTS), ...owner };
    this.activities.set(id, this.object());
    return { id, role, activityType: "plan", content: this.activities.get(id) };
  }

  // --- What changes no message

  do_step() {
    const [step] = this.open.step.keys();
    const owner = step ? this.open.step.get(step) : this.owner();
    this.ends(owner);
    if (step && this.chance(0.7)) {
      this.emit({ type: "STEP_FINISHED", stepName: step, ...owner });
      return this.open.step.delete(step);
    }
    const stepName = this.id("step");
    this.emit({ type: "STEP_STARTED", stepName, ...owner });
    return this.open.step.set(stepName, owner);
  }

  do_custom() {
    this.ends({});
    this.emit({ type: "CUSTOM", name: "progress", value: this.value() });
  }

  do_raw() {
    this.emit({ type: "RAW", event: this.value() });
  }

  do_agent() {
    const idle = [...this.open.agent.keys()].filter((id) => !this.works(id));
    if (idle.length && this.chance(0.5)) {
      const id = this.pick(idle);
      this.ends({ subagentRunId: id });
      this.emit({ subagentRunId: id, ...(this.chance(0.3) ? { type: "SUBAGENT_ERROR", message: "Failed." } : { type: "SUBAGENT_FINISHED" }) });
      return this.open.agent.delete(id);
    }
    if (this.open.agent.size > 1) return undefined;
    const id = this.id("agent");
    this.emit({ type: "SUBAGENT_STARTED", subagentRunId: id, name: "Helper" });
    return this.open.agent.set(id, {});
  }

  works(agent) {
    return Object.values(this.open).some((kind) => [...kind.values()].some(({ subagentRunId }) => subagentRunId === agent));
  }
}

function name(kind, id) {
  return { [{ call: "toolCallId", step: "stepName" }[kind] ?? "messageId"]: id };
}

function escape(key) {
  return key.replaceAll("~", "~0").replaceAll("/", "~1");
}

function valueAt(document, path) {
  try {
    return jsonpatch.getValueByPointer(document, path);
  } catch {
    return undefined;
  }
}

function applied(document, patch) {
  try {
    return jsonpatch.applyPatch(document, patch, true, false).newDocument;
  } catch {
    return document;
  }
}
