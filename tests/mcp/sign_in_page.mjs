// The official TypeScript client in a page of another site: `begin` returns the address to which a person is sent, and
// `finish` takes the code that they come back with.

import { UnauthorizedError } from "@modelcontextprotocol/sdk/client/auth.js";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";

const kept = {};
let address, provider;

function connect() {
  const transport = new StreamableHTTPClientTransport(new URL(address), { authProvider: provider });
  const client = new Client({ name: "page", version: "1" });
  return [transport, client, client.connect(transport)];
}

window.begin = async (endpoint, callback) => {
  address = endpoint;
  provider = {
    redirectUrl: callback,
    clientMetadata: { client_name: "A page", redirect_uris: [callback], token_endpoint_auth_method: "none" },
    clientInformation: () => kept.client,
    saveClientInformation: (client) => void (kept.client = client),
    tokens: () => kept.tokens,
    saveTokens: (tokens) => void (kept.tokens = tokens),
    redirectToAuthorization: (url) => void (kept.asked = String(url)),
    saveCodeVerifier: (verifier) => void (kept.verifier = verifier),
    codeVerifier: () => kept.verifier,
  };
  const [transport, , connected] = connect();
  kept.transport = transport;
  const error = await connected.catch((error) => error);
  return error instanceof UnauthorizedError ? kept.asked : `failed: ${error}`;
};

window.finish = async (code) => {
  await kept.transport.finishAuth(code);
  const [, client, connected] = connect();
  await connected;
  const first = kept.tokens;
  kept.tokens = { ...first, access_token: "expired" };
  const result = await client.callTool({ name: "add_task", arguments: { title: "Water the plants" } });
  return [result.content[0].text, kept.tokens.refresh_token !== first.refresh_token];
};
