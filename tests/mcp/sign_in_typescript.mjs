// The official TypeScript client signs in by itself: node sign_in_typescript.mjs ADDRESS CALLBACK. It prints a line for
// each thing that it does, and waits for a line of its input where a person has to decide, or has landed at the callback.

import { createInterface } from "node:readline";
import { UnauthorizedError } from "@modelcontextprotocol/sdk/client/auth.js";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";

const [address, callback] = process.argv.slice(2);
const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
const kept = {};

const provider = {
  redirectUrl: callback,
  clientMetadata: { client_name: "TypeScript", redirect_uris: [callback], token_endpoint_auth_method: "none" },
  state: () => "a-state",
  clientInformation: () => kept.client,
  saveClientInformation: (client) => void (kept.client = client),
  tokens: () => kept.tokens,
  saveTokens: (tokens) => void (kept.tokens = tokens),
  redirectToAuthorization: (url) => console.log(`open ${url}`),
  saveCodeVerifier: (verifier) => void (kept.verifier = verifier),
  codeVerifier: () => kept.verifier,
  invalidateCredentials: () => console.log("forgotten"),
};

async function connect() {
  const transport = new StreamableHTTPClientTransport(new URL(address), { authProvider: provider });
  const client = new Client({ name: "typescript", version: "1" });
  try {
    await client.connect(transport);
  } catch (error) {
    if (!(error instanceof UnauthorizedError)) throw error;
    const landed = new URL((await lines.next()).value);
    await transport.finishAuth(landed.searchParams.get("code"));
    return connect();
  }
  return client;
}

async function call(name, given = {}) {
  const result = await client.callTool({ name, arguments: given });
  return result.structuredContent ?? result.content[0].text;
}

/** Calls a tool that waits for the person, and again when they have decided. */
async function decided(name) {
  console.log(`decide ${(await call(name)).approval.link}`);
  await lines.next();
  return JSON.stringify(await call(name));
}

const client = await connect();
const { tools } = await client.listTools();
console.log(`called ${JSON.stringify(await call("add_task", { title: "Call the landlord" }))}`);
console.log(`approved ${await decided("delete_finished_tasks")}`);
console.log(`denied ${JSON.parse(await decided("delete_finished_tasks"))}`);
const [prompt] = (await client.listPrompts()).prompts;
console.log(`prompt ${(await client.getPrompt({ name: prompt.name })).messages[0].role}`);
const [resource] = (await client.readResource({ uri: "tasks://open" })).contents;
console.log(`resource ${resource.text.split("\n").at(-1)}`);
const first = kept.tokens;
kept.tokens = { ...first, access_token: "expired" };
console.log(`again ${(await client.listTools()).tools.length === tools.length ? "as many tools" : "other tools"}`);
console.log(kept.tokens.refresh_token !== first.refresh_token ? "refreshed" : "the same token");
process.exit(0);
