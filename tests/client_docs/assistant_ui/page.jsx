import { MessagePrimitive, ThreadPrimitive, useAui } from "@assistant-ui/react";
import { useEffect } from "react";
import { createRoot } from "react-dom/client";
import { Chat } from "./chat.jsx";
import { steerAndQueue, until } from "./dom.mjs";

const { AGUI_TOKEN, AGUI_URL } = process.env;
const headers = { Authorization: `Bearer ${AGUI_TOKEN}` };
let page;

function message(role) {
  const Message = () => <div data-role={role}><MessagePrimitive.Parts /></div>;
  return Message;
}
const components = { UserMessage: message("user"), AssistantMessage: message("assistant") };

function Messages() {
  const aui = useAui();
  useEffect(() => void (page = aui), [aui]);
  return <ThreadPrimitive.Messages components={components} />;
}

const root = document.createElement("div");
document.body.append(root);
createRoot(root).render(<Chat url={`${AGUI_URL}/agent/`} headers={headers}><Messages /></Chat>);
await until("page", () => page);

const lines = () => [...document.querySelectorAll("[data-role]")].map(({ dataset, textContent }) => `${dataset.role}: ${textContent}`);
await steerAndQueue((text) => page.thread().append(text), lines);
