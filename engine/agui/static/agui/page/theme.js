// @ts-check
/**
 * The theme that a user chooses for the pages of a site. `data-theme` of <html> says "light",
 * "dark" or "auto", and "auto" follows the system. Each change of it is a choice: agui/theme.html
 * makes one, and so may a tool of the page. A cookie keeps the choice, and the server writes the
 * choice into each page.
 */

const root = document.documentElement;
/** @type {NodeListOf<HTMLSelectElement>} */
const choices = document.querySelectorAll("[data-agui-theme]");

function showTheme() {
  for (const choice of choices) choice.value = root.dataset.theme ?? "auto";
}

function keepTheme() {
  // For a year.
  document.cookie = `agui_theme=${root.dataset.theme};path=/;max-age=31536000;samesite=lax`;
  showTheme();
}

showTheme();
new MutationObserver(keepTheme).observe(root, { attributeFilter: ["data-theme"] });
for (const choice of choices) choice.onchange = () => (root.dataset.theme = choice.value);
