/** A page that uses the chat in TypeScript. The types must let it do what page.md shows, and refuse what is wrong. */
import type {
  Action,
  AguiChatElement,
  AskedCall,
  Outcome,
  PageTool,
  ShownCall,
  ToolView,
} from "../../engine/agui/static/agui/agui-chat.d.ts";

const chat: AguiChatElement = document.querySelector("agui-chat")!;

const tool: PageTool = { name: "show_task", handler: ({ task_id }, { signal }) => [task_id, signal.aborted] };
const view: ToolView = {
  running({ args, step, percent }: ShownCall, element) {
    element.textContent = `${args.title ?? ""} ${step ?? ""} ${percent ?? 0}`;
  },
  approval({ message, answered, approve, deny }: AskedCall, element) {
    const button = document.createElement("button");
    button.onclick = approve;
    button.addEventListener("dblclick", deny);
    button.disabled = answered === "approved";
    approve({ title: "other" });
    deny("Not today");
    element.replaceChildren(message, button);
  },
  done: ({ result }, element) => void (element.textContent = JSON.stringify(result)),
};
const action: Action = {
  name: "shout",
  label: "Shout",
  icon: "M4 4h16v16H4z",
  on: "composer",
  when: ({ threadId }) => threadId !== null,
  disabled: ({ text }) => !text,
  pressed: () => false,
  run: async ({ text, fill }) => fill(text.toUpperCase()),
};

const registered: (() => void)[] = [
  chat.registerTool(tool),
  chat.registerToolView("add_task", view),
  chat.registerAction(action),
  chat.registerActivity("weather", ({ city }, element) => void (element.textContent = String(city))),
  chat.registerEvent("stock", ({ count }, element) => void (element.textContent = String(count))),
  chat.registerAnswer((answer) => answer.querySelectorAll("code").forEach((code) => code.classList.add("mine"))),
];
for (const takeBack of registered) takeBack();

export async function ask(text: string): Promise<Outcome> {
  const { status } = await chat.open("7d2e4a3c-0000-4000-8000-000000000000");
  if (status === "waiting") throw new Error("The conversation asks something.");
  await chat.openActivity("document", "report");
  return chat.send(text);
}

chat.addEventListener("ag-ui-run-finished", ({ detail: { status, error } }) => {
  if (status === "failed") console.warn(error?.code, error?.runId);
});
chat.addEventListener("ag-ui-document", ({ detail: { id, version } }) => id?.concat(version.toFixed()));
chat.addEventListener("ag-ui-submit", (event) => event.detail.text || event.preventDefault());

// @ts-expect-error: an action is in one of three places
chat.registerAction({ ...action, on: "sidebar" });
// @ts-expect-error: a tool has a handler
chat.registerTool({ name: "show_task" });
// @ts-expect-error: a call that runs has nothing to approve
const wrong: ToolView = { running: ({ approve }) => approve() };
void wrong;
