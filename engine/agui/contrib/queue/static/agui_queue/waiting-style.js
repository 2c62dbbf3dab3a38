// @ts-check
/** The style of messages that wait, above the input, and of the choice when the agent reads one. */
export const WAITING_STYLE = `
.waiting-panel {
  background: var(--_surface); border: 1px solid var(--_border); border-block-end: 0;
  border-radius: var(--_radius) var(--_radius) 0 0; font-size: .92rem; margin-inline: .75rem;
  max-height: min(16rem, 34vh); overflow-y: auto; scrollbar-width: thin;
}
.waiting-head {
  align-items: center; display: flex; flex-wrap: wrap; gap: .15rem .75rem;
  padding: .4rem .4rem .4rem .8rem;
}
.waiting-head:not(:has(:not(:empty, [hidden]))) { display: none; }
.waiting-head > p { color: var(--_muted); flex: 1 1 9rem; font-size: .87rem; line-height: 1.35; }
.waiting-head > .button { background: var(--_background); padding-block: .35rem; }
.waiting-head > .button:hover { border-color: var(--_muted); }
.waiting-rows { list-style: none; margin: 0; padding: 0; }
.waiting-rows > li {
  align-items: center; display: flex; min-height: 2.35rem; padding-inline: .2rem .3rem;
  position: relative;
}
.waiting-rows > li + li { border-block-start: 1px solid var(--_border); }
.waiting-head:has(:not(:empty, [hidden])) + .waiting-rows {
  border-block-start: 1px solid var(--_border);
}
.waiting-rows .icon-button { flex: none; height: 2rem; width: 2rem; }
.waiting-rows .icon { height: 1rem; width: 1rem; }
.waiting-rows .grip { color: var(--_muted); cursor: grab; touch-action: none; width: 1.5rem; }
.waiting-rows .grip .icon { stroke-width: 2.6; }
.waiting-rows > li:only-child > .grip { visibility: hidden; width: .5rem; }
.waiting-text {
  flex: 1; min-width: 0; overflow: hidden; padding-inline: .2rem .5rem; text-overflow: ellipsis;
  text-align: -webkit-match-parent; text-align: match-parent; white-space: nowrap;
}
.waiting-text small { color: var(--_muted); }
.waiting-mark {
  color: var(--_accent); flex: none; font-size: .8rem; font-weight: 550; white-space: nowrap;
}
.waiting-rows [aria-pressed="true"] { color: var(--_accent); }
.waiting-rows [aria-pressed="true"] .icon { stroke-width: 2.4; }
.waiting-rows .icon-step:dir(rtl) { scale: -1 1; }
.waiting-rows > li.unsent > .waiting-text { color: var(--_muted); }
.waiting-rows > li.drags { background: var(--_background); box-shadow: var(--_shadow); z-index: 1; }
.waiting-rows.moving > li:not(.drags) { transition: translate .12s; }
.waiting-rows.moving .grip { cursor: grabbing; }
.waiting-rows > .edits > :not(form) { display: none; }
.waiting-edit {
  align-items: end; display: flex; flex: 1; flex-wrap: wrap; gap: .3rem; justify-content: end;
  min-width: 0; padding: .35rem .3rem;
}
.waiting-edit textarea {
  background: var(--_background); border: 1px solid var(--_border); border-radius: var(--_small);
  field-sizing: content; flex: 1 1 14rem; line-height: 1.45; max-height: 8rem; min-width: 0;
  padding: .3rem .55rem; resize: none;
}
.waiting-edit textarea:focus-visible { border-color: var(--_accent); outline-offset: -1px; }
.waiting-edit .button { padding-block: .4rem; }
.when-read {
  display: flex; flex: 0 0 100%; flex-wrap: wrap; gap: .3rem; padding: .1rem .35rem .2rem;
}
.when-read > button {
  align-items: center; background: none; border: 1px solid var(--_border);
  border-radius: var(--_large); color: var(--_muted); display: flex; font-size: .82rem; gap: .35rem;
  line-height: 1.3; min-height: 1.75rem; padding: .15rem .65rem;
}
.when-read > button:hover { background: var(--_surface); color: var(--_text); }
.when-read > button:first-child { border-color: var(--_muted); color: var(--_text); }
.when-read kbd { font-size: .72rem; }
@container (max-width: 480px) {
  .waiting-panel { margin-inline: .5rem; }
  .when-read kbd, .waiting-mark { display: none; }
  .when-read > button:first-child { display: none; }
  .waiting-edit textarea { flex-basis: 100%; }
}
@media (pointer: coarse) {
  .when-read > button { min-height: 2.75rem; padding-inline: .8rem; }
  .when-read kbd { display: none; }
  .waiting-rows > li { min-height: 2.75rem; }
  .waiting-rows .icon-button { height: 2.75rem; width: 2.5rem; }
  .waiting-rows .grip { width: 2rem; }
}
@media (forced-colors: active) {
  .waiting-rows [aria-pressed="true"] { outline: 2px solid Highlight; outline-offset: -3px; }
}
`;
