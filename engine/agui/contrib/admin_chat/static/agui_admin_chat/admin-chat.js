// @ts-check
/** The chat beside a page of the admin: the agent learns what the page shows. */

const MOST_ROWS = 100;
const chat = /** @type {any} */ (document.querySelector("agui-chat[data-admin-page]"));

chat.getContext = () => {
  const context = [{ description: "The page of the admin that the user looks at", value: chat.dataset.adminPage }];
  const rows = [...document.querySelectorAll("#changelist input.action-select:checked")].slice(0, MOST_ROWS);
  const keys = rows.map((/** @type {any} */ row) => row.value);
  if (keys.length) context.push({ description: "Primary keys of the rows that the user has selected", value: JSON.stringify(keys) });
  return context;
};
