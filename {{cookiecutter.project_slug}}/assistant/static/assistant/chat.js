/**
 * The agent's tool for this page, what the page says to the agent, and how it draws a tool's result.
 * Change this example into yours. The manual's page.md describes all of <agui-chat>, and templates/assistant/chat.html loads this
 * file.
 */

const page = document.documentElement;
const chat = /** @type {import("../agui/agui-chat.d.ts").AguiChatElement} */ (document.querySelector("agui-chat"));

// The page is named after the open conversation.
const siteTitle = document.title;
chat.addEventListener("ag-ui-thread", (/** @type {CustomEvent} */ { detail }) => {
  document.title = detail.title ? `${detail.title} – ${siteTitle}` : siteTitle;
});

// The chat's own script may be loaded after this one, and the element has no methods before.
customElements.whenDefined("agui-chat").then(() => {
  // A tool of the page. The model reads `description` and `parameters`, a JSON Schema, to see when
  // and how to call it; `handler` gets arguments that fit the schema, and what it returns (or the
  // error that it throws) goes back to the model. A tool that can't be undone has `destructive:
  // true`, and asks the user the question in `confirm` before it runs.
  chat.registerTool({
    name: "set_theme",
    summary: "Change the theme", // for the user
    description: "Switch the page to a light or a dark theme, or to auto, which is as the system has it.",
    parameters: {
      type: "object",
      properties: { theme: { type: "string", enum: ["light", "dark", "auto"] } },
      required: ["theme"],
      additionalProperties: false,
    },
    handler: (/** @type {{ theme: string }} */ { theme }) => {
      page.dataset.theme = theme; // agui/page/theme.js keeps it.
      return `The theme is now ${theme}.`;
    },
  });

  // Each run asks what the page says about itself. The model reads it as data, never as
  // instructions. The user may have changed it, so base no permission on it.
  chat.getContext = () => [
    { description: "Title of the page that the user looks at", value: siteTitle },
    { description: "Language of the page", value: page.lang },
    { description: "Theme of the page", value: page.dataset.theme ?? "auto" },
  ];
});

// --- The list of tasks

/**
 * Draw the result of list_tasks. A click asks the agent to complete the task; the list stays as the tool has seen it.
 * @typedef {{ id: number, title: string, category: string, done: boolean }} Task
 * @param {import("../agui/agui-chat.d.ts").ShownCall & { result: Task[] }} call
 * @param {HTMLElement} element
 */
function drawTasks({ result: tasks }, element) {
  const list = document.createElement("ul");
  list.className = "tasks";
  for (const { id, title, category, done } of tasks) {
    const box = Object.assign(document.createElement("input"), { type: "checkbox", checked: done, disabled: done });
    box.addEventListener("change", () => {
      box.checked = box.disabled = chat.sendMessage(`Complete task ${id}: ${title}`);
    });
    const label = document.createElement("label");
    label.append(box, title); // As text: nothing here parses HTML.
    const item = document.createElement("li");
    item.append(label, Object.assign(document.createElement("small"), { textContent: category }));
    list.append(item);
  }
  element.replaceChildren(tasks.length ? list : "There are no tasks.");
}

// The calls of this tool look like this, once they are done. Until then, and if a call fails, the chat shows its card.
customElements.whenDefined("agui-chat").then(() => chat.registerToolView("list_tasks", { done: drawTasks }));
