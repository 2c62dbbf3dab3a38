// @ts-check
/** The style of a recording, and of the microphone while there is one. */
export const VOICE_STYLE = `
.voice {
  align-items: center; display: flex; flex: 0 0 100%; flex-wrap: wrap; gap: .25rem .55rem;
  min-height: 2.25rem; min-width: 0; padding-inline-start: .6rem;
}
.voice:not([data-state]) {
  clip-path: inset(50%); height: 1px; min-height: 0; overflow: hidden; position: absolute;
  width: 1px;
}
.voice p {
  color: var(--_muted); flex: 1 1 8rem; font-size: .9rem; line-height: 1.4;
  overflow-wrap: anywhere;
}
.voice[data-state="failed"] p { color: var(--_danger); }
.voice a { color: var(--_accent); }
.voice .icon-button { border-radius: 50%; margin-inline-start: auto; }
.voice .button { min-height: 2.25rem; padding-block: .3rem; }
.voice [role="timer"] {
  direction: ltr; font-size: .95rem; font-variant-numeric: tabular-nums; unicode-bidi: isolate;
}
.sign {
  animation: pulse 1.6s ease-in-out infinite; background: var(--_danger); border-radius: 50%;
  flex: none; height: .6rem; width: .6rem;
}
[part="microphone"][aria-pressed="true"], [part="microphone"][aria-pressed="true"]:hover {
  background: var(--_accent); color: var(--_accent-text);
}
[part="microphone"][aria-disabled="true"] { cursor: default; opacity: .45; }
@media (forced-colors: active) {
  .sign { background: CanvasText; }
  [part="microphone"][aria-pressed="true"] { border: 2px solid Highlight; }
  [part="microphone"][aria-disabled="true"] { color: GrayText; opacity: 1; }
}
`;
