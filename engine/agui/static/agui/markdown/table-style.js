// @ts-check
/** The style of tables that are sorted by their heads, which comes with the first one. */
export const TABLE_STYLE = `
.number { text-align: end; }
@media screen {
  .data-table { display: grid; gap: .5rem; justify-items: start; min-width: 0; }
  .data-table > .table { max-height: 24rem; max-width: 100%; overflow: auto; width: 100%; }
  .data-table table { min-width: 100%; width: max-content; }
  .tool-body .data-table { margin-inline: -.85rem; }
  .tool-body .data-table > .button { margin-inline: .85rem; }
  .tool-body .data-table > .table { border-inline: 0; border-radius: 0; }
  .data-table td, .data-table tbody th {
    font-variant-numeric: tabular-nums; max-width: 18rem; overflow-wrap: anywhere;
    padding: .35rem .75rem;
  }
  .data-table tbody th { font-weight: 500; }
  .data-table thead th { padding: 0; position: sticky; top: 0; z-index: 1; }
  .number > .sort { flex-direction: row-reverse; }
  .sort {
    align-items: center; background: none; border: 0; display: flex; font-weight: inherit;
    gap: .3rem; min-height: 2.4rem; outline-offset: -2px; padding: .35rem .75rem;
    text-align: inherit; width: 100%;
  }
  .sort::after { color: var(--_muted); content: "↕" / ""; opacity: 0; }
  .sort:is(:hover, :focus-visible)::after { opacity: .7; }
  [aria-sort="ascending"] > .sort::after { content: "↑" / ""; opacity: 1; }
  [aria-sort="descending"] > .sort::after { content: "↓" / ""; opacity: 1; }
}
`;
