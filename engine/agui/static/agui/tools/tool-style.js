// @ts-check
/** The style of what an open card shows, which comes with the first one. */
export const TOOL_STYLE = `
.tool-part { color: var(--_muted); font-size: .78rem; font-weight: 600; }
.tool-part:not(:first-child) { margin-top: .4rem; }
.tool-result {
  align-items: center; display: flex; justify-content: space-between; margin-top: .4rem;
}
.tool .copy { color: var(--_muted); font-size: .85rem; min-height: 2rem; }
.tool-body > .value {
  background: var(--_surface); border-radius: var(--_small); padding: .6rem .75rem;
}
`;
