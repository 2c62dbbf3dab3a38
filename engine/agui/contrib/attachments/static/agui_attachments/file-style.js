// @ts-check
/** The style of files: above the text in the input, above messages, and held over the chat. */
export const FILE_STYLE = `
.files {
  align-items: flex-start; display: flex; flex-wrap: wrap; gap: .4rem; list-style: none;
  padding: 0;
}
.files:empty { display: none; }
.file {
  background: var(--_background); border: 1px solid var(--_border); border-radius: var(--_radius);
  font-size: .85rem; line-height: 1.35; max-width: 100%; min-width: 0; overflow: hidden;
  position: relative; width: 15rem;
}
.file-icon {
  background: var(--_surface); border-radius: var(--_small); color: var(--_muted); display: grid;
  flex: none; height: 2.25rem; overflow: hidden; place-items: center; width: 2.25rem;
}
.file-icon canvas { height: 100%; width: 100%; }
.file-text { display: grid; flex: 1; min-width: 0; }
.file-name { font-weight: 550; overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
.files:dir(rtl) .file-name { text-align: right; }
.file-note, .file-failure { color: var(--_muted); font-size: .8rem; overflow-wrap: anywhere; }
.file a:not(.file-link) { color: inherit; }
.file[data-status="failed"] { border-color: var(--_danger); }
.file[data-status="failed"] :is(.file-failure, .tray .file-note) { color: var(--_danger); }
.tray { flex: 0 0 100%; min-width: 0; }
.tray:has(> .files:empty) { position: absolute; }
.tray .files {
  max-height: 12rem; overflow-y: auto; padding: .15rem .15rem .35rem; scrollbar-width: thin;
}
.tray .file, .file-link { align-items: center; display: flex; gap: .55rem; padding: .4rem; }
.tray .file[data-status="failed"] { width: 22rem; }
.tray .file .icon-button { height: 1.75rem; margin-inline-start: -.3rem; width: 1.75rem; }
.tray .file .icon { height: 1rem; width: 1rem; }
.tray .file-icon .icon { height: 1.25rem; width: 1.25rem; }
.user > .files { justify-content: flex-end; max-width: min(85%, 36rem); }
.file-link {
  border-radius: inherit; color: inherit; outline-offset: -2px; padding-inline-end: .8rem;
  text-decoration: none;
}
.file-link:hover { background: var(--_surface); }
.file[data-status="loading"] .file-icon { animation: pulse 1.6s ease-in-out infinite; }
.file-failure { padding: 0 .6rem .5rem; }
.dropping::after {
  background: color-mix(in srgb, var(--_background) 95%, transparent);
  border: 2px dashed var(--_accent); border-radius: var(--_radius); content: attr(data-drop);
  display: grid; font-weight: 600; inset: .75rem; place-items: center; pointer-events: none;
  position: absolute; z-index: 3;
}
@container (max-width: 480px) {
  .tray .file, .tray .file[data-status="failed"] { width: 100%; }
}
@media (pointer: coarse) {
  .tray .file .icon-button { height: 2.75rem; width: 2.75rem; }
}
`;
