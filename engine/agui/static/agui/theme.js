// @ts-check
/**
 * The theme that a user chooses for the pages of a site. `data-theme` of <html> says "light",
 * "dark" or "auto", which is as the system has it. Whoever changes it has chosen: agui/theme.html,
 * or a tool of the page. A cookie keeps it, and the server writes it into each page.
 */
export {};

const YEAR_SECONDS = 31_536_000;
const page = document.documentElement;

function show() {
  /** @type {NodeListOf<HTMLSelectElement>} */
  const choices = document.querySelectorAll("[data-agui-theme]");
  for (const choice of choices) choice.value = page.dataset.theme ?? "auto";
}

function changed() {
  const theme = encodeURIComponent(page.dataset.theme ?? "auto");
  document.cookie = `agui_theme=${theme}; path=/; max-age=${YEAR_SECONDS}; samesite=lax`;
  show();
}

show();
new MutationObserver(changed).observe(page, { attributeFilter: ["data-theme"] });
document.addEventListener("change", ({ target }) => {
  const isChoice = target instanceof HTMLSelectElement && "aguiTheme" in target.dataset;
  if (isChoice) page.dataset.theme = target.value;
});
