// The official TypeScript client signs in by itself: node sign_in.mjs ADDRESS. It prints the address that a person has to
// open, reads from its input where they landed, calls tools, and prints what they return, a line each.

import { createInterface } from "node:readline";
import { UnauthorizedError } from "@modelcontextprotocol/sdk/client/auth.js";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";

const [address] = process.argv.slice(2);
const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
const kept = {};

const provider = {
  redirectUrl: "http://127.0.0.1:9/callback",
  clientMetadata: { client_name: "TypeScript", redirect_uris: ["http://127.0.0.1:9/callback"], token_endpoint_auth_method: "none" },
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

const client = await connect();
console.log((await client.callTool({ name: "list_tasks", arguments: {} })).content[0].text);
const first = kept.tokens;
kept.tokens = { ...first, access_token: "expired" };
console.log((await client.listTools()).tools.length > 0 ? "listed" : "nothing");
console.log(kept.tokens.refresh_token !== first.refresh_token ? "refreshed" : "the same token");
process.exit(0);
