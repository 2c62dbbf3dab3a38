// @ts-check
/**
 * What the agent may do in the page, and what it is told of it: the example to change into yours.
 * docs/page.md has all of <agui-chat>. Loaded by templates/assistant/chat.html.
 */

const THEMES = ["light", "dark", "automatic"];
const page = document.documentElement;
const chat = /** @type {any} */ (document.querySelector("agui-chat"));

/** Colour the page (page.css) and the chat (its attribute "theme"). @param {string} theme */
function showTheme(theme) {
  if (theme === "automatic") {
    delete page.dataset.theme;
    chat.removeAttribute("theme");
  } else {
    page.dataset.theme = theme;
    chat.setAttribute("theme", theme);
  }
}

function storedTheme() {
  try {
    const theme = localStorage.getItem("theme") ?? "";
    return THEMES.includes(theme) ? theme : "automatic";
  } catch {
    return "automatic"; // the browser lets this page store nothing
  }
}

/** @param {string} theme */
function storeTheme(theme) {
  try {
    localStorage.setItem("theme", theme);
  } catch {
    // then it holds until the page is left
  }
}

showTheme(storedTheme());

// The page is named after the open conversation.
const siteTitle = document.title;
chat.addEventListener("ag-ui-thread", (/** @type {CustomEvent} */ { detail }) => {
  document.title = detail.title ? `${detail.title} – ${siteTitle}` : siteTitle;
});

// The chat's own script may come later than this one: until then the element has no methods.
customElements.whenDefined("agui-chat").then(() => {
  // A tool of the page. The model reads `description` and `parameters`, a JSON Schema, to see when and how to call it;
  // `handler` gets arguments that fit the schema, and what it returns (or the error that it throws) goes back to the
  // model. One that can't be undone has `destructive: true` and asks the user with the words of `confirm` before it runs.
  chat.registerTool({
    name: "set_theme",
    summary: "Change the theme", // for the user
    description: "Switch the page to a light or a dark theme, or to automatic mode, which is as the system has it.",
    parameters: {
      type: "object",
      properties: { theme: { type: "string", enum: THEMES } },
      required: ["theme"],
      additionalProperties: false,
    },
    handler: (/** @type {{ theme: string }} */ { theme }) => {
      showTheme(theme);
      storeTheme(theme);
      return theme === "automatic" ? "The theme is now as the system has it." : `The theme is now ${theme}.`;
    },
  });

  // What the page says of itself, asked for each run. The model reads it as data, never as instructions, and the user
  // may have changed it: decide nothing about rights by it.
  chat.getContext = () => [
    { description: "Title of the page that the user looks at", value: siteTitle },
    { description: "Language of the page", value: page.lang },
    { description: "Theme of the page", value: page.dataset.theme ?? "automatic" },
  ];
});
