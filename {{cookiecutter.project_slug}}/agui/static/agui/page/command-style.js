// @ts-check
/** The look of commands.js. */

export const COMMAND_STYLE = `
.commands {
  background: var(--_background); border: 1px solid var(--_border); border-radius: var(--_large);
  box-shadow: 0 1rem 3.5rem rgb(0 0 0 / .28); color: var(--_text);
  inset-block: min(12vh, 7rem) auto; margin-inline: auto; max-height: min(34rem, 76vh);
  max-width: calc(100vw - 1.5rem); overflow: hidden; padding: 0; width: 38rem;
}
.commands[open] { display: flex; flex-direction: column; }
.commands::backdrop { background: rgb(0 0 0 / .32); }
.command-field {
  align-items: center; border-bottom: 1px solid var(--_border); color: var(--_muted);
  display: flex; flex: none; gap: .7rem; padding-inline: 1.1rem;
}
.command-field .icon { flex: none; }
.command-field input {
  background: none; border: 0; color: var(--_text); flex: 1; font-size: 1.05rem; min-width: 0;
  outline: 0; padding: .95rem 0;
}
.command-list {
  overflow-y: auto; overscroll-behavior: contain; padding: .35rem .5rem .5rem;
  scrollbar-width: thin;
}
.command-list:empty { display: none; }
.command-group {
  color: var(--_muted); font-size: .78rem; font-weight: 600; padding: .6rem .65rem .25rem;
}
.command {
  align-items: center; border-radius: var(--_small); column-gap: .7rem; cursor: pointer;
  display: grid; grid-template-columns: auto 1fr auto; line-height: 1.4; min-height: 2.6rem;
  padding: .45rem .65rem;
}
.command[aria-selected="true"] { background: var(--_surface); }
.command > .icon { color: var(--_muted); height: 1.1rem; width: 1.1rem; }
.command-label { overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
.command-detail { color: var(--_muted); font-size: .82rem; white-space: nowrap; }
.command kbd { color: var(--_muted); font-family: inherit; font-size: .82rem; }
.command > .excerpt { grid-column: 2 / -1; }
.commands .notice { margin: 0; padding: .9rem 1.15rem; }
@media (pointer: coarse) { .command { min-height: 2.9rem; } .command kbd { display: none; } }
@media (forced-colors: active) {
  .command[aria-selected="true"] { outline: 2px solid Highlight; outline-offset: -2px; }
}
`;
