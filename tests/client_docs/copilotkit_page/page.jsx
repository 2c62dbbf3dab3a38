import { CopilotKitProvider, useAgent, useCopilotKit } from "@copilotkit/react-core/v2";
import { useEffect } from "react";
import { createRoot } from "react-dom/client";
import { steerAndQueue, until } from "./dom.mjs";
import { WhileItWorks } from "./waiting.jsx";

const { AGUI_TOKEN, RUNTIME } = process.env;
const headers = { Authorization: `Bearer ${AGUI_TOKEN}` };
let page;

function Messages() {
  const { agent } = useAgent();
  const { copilotkit } = useCopilotKit();
  useEffect(() => void (page = { agent, copilotkit }));
  return agent.messages.map(({ id, role, content }) => <p key={id}>{`${role}: ${content}`}</p>);
}

const root = document.createElement("div");
document.body.append(root);
createRoot(root).render(
  <CopilotKitProvider runtimeUrl={`${RUNTIME}/api/copilotkit`} headers={headers}>
    <Messages />
    <WhileItWorks url={`${RUNTIME}/api/agent/`} headers={headers} />
  </CopilotKitProvider>,
);
// The page's agent is the runtime's as soon as that is known.
await until("runtime", () => page && page.agent === page.copilotkit.getAgent("default"));
page.agent.threadId = crypto.randomUUID();

function ask(content) {
  page.agent.addMessage({ id: crypto.randomUUID(), role: "user", content });
  page.copilotkit.runAgent({ agent: page.agent });
}
await steerAndQueue(ask, () => [...document.querySelectorAll("p")].map(({ textContent }) => textContent));
