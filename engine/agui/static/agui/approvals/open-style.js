// @ts-check
/** The style of open and answered questions, which comes with the first one. */
export const OPEN_STYLE = `
.open-bar {
  align-items: center; display: flex; flex-wrap: wrap; gap: .35rem .5rem;
  padding: 0 .25rem .55rem .75rem;
}
.open-bar > p { color: var(--_muted); flex: 1 1 14rem; font-size: .9rem; line-height: 1.4; }
.open-bar > .buttons { display: flex; flex-wrap: wrap; gap: .5rem; }
.open-bar[hidden], .message-effect { display: none; }
.message-effect {
  color: var(--_muted); font-size: .9rem; line-height: 1.4; padding: 0 .75rem .5rem;
}
.composer:is(:has(.input:not(:placeholder-shown)), :has(.tray .file)) .message-effect {
  display: block;
}
.message-effect:empty { display: none !important; }
.tool:has(> .question) { overflow: clip; }
.tool:has(> .question[data-decided]) { border-color: var(--_border); box-shadow: none; }
.tool:has(> .question[data-decided]) .tool-status { display: none; }
.question[data-decided] .question-buttons { display: none; }
.record { align-items: center; display: flex; flex-wrap: wrap; gap: 0 .5rem; min-height: 2.25rem; }
.record[hidden] { display: none; }
.record .icon { height: 1.1rem; vertical-align: -.2rem; width: 1.1rem; }
.record-icon { color: var(--_accent); }
.record-icon[data-name="close"] { color: var(--_danger); }
.question-text { overflow-wrap: anywhere; scroll-margin-block: 4rem 9rem; }
.verdict { font-weight: 550; overflow-wrap: anywhere; }
.to-go { flex: 1; font-size: .92em; }
.record > .button {
  padding-inline: .25rem; text-decoration: underline; text-underline-offset: .2em;
}
.question-view > .question-buttons, .question form > .question-buttons {
  background: var(--_background); margin-bottom: -.9rem; padding-block: .75rem .9rem;
}
.question-view > .question-buttons { margin-top: -.45rem; }
.unread { flex: 1 1 100%; font-size: .9rem; }
.question-buttons > [aria-disabled="true"], .open-bar [aria-disabled="true"] { opacity: .55; }
@media (min-height: 30rem) {
  .question[data-begins-above] :is(.question-view, form) > .question-buttons,
  .question[data-begins-above] .question-view > .arguments + form {
    background: var(--_background); bottom: 0; position: sticky; z-index: 1;
  }
}
:is(.question-view, .question form) > .question-buttons { container-type: scroll-state; }
.question .diff { overflow-wrap: anywhere; white-space: pre-wrap; }
.question .diff > code { width: auto; }
@container scroll-state(stuck: bottom) {
  .question-buttons::before {
    background: linear-gradient(#0000, var(--_background)); bottom: 100%; content: "";
    height: 1.25rem; inset-inline: 0; pointer-events: none; position: absolute;
  }
}
.entries > .numbered { gap: 0 .25rem; }
.entries > .numbered > .icon-button { margin-top: 0; }
.folded-row > summary {
  align-items: center; cursor: pointer; display: flex; gap: .35rem; list-style: none;
  min-height: 2.25rem; overflow-wrap: anywhere; padding: 0;
}
.folded-row > summary > .icon { flex: none; height: 1rem; transition: rotate .12s; width: 1rem; }
.folded-row > summary:dir(rtl) > .icon { rotate: 180deg; }
.folded-row[open] > summary > .icon { rotate: 90deg; }
.folded-row > summary > span:last-child { font-weight: 550; }
.folded-row > summary + * { padding-block: .1rem .6rem; padding-inline-start: 1.35rem; }
@media (pointer: coarse) { .folded-row > summary { min-height: 2.75rem; } }
.question-view > .arguments + form { padding-top: .5rem; }
.question-view > .arguments { scroll-margin-bottom: 5rem; }
.question form :is(input, select, textarea) { scroll-margin-bottom: 5rem; }
@container (max-width: 480px) {
  .open-bar { padding-inline: .25rem; }
  .open-bar > :is(p, .buttons) { flex-basis: 100%; }
  .open-bar > .buttons > .button { flex: 1 1 auto; min-width: max-content; padding-inline: .5rem; }
  .composer:has(.input:not(:placeholder-shown)) .open-bar { display: none; }
}
.log .open-bar { margin-top: 1rem; padding-bottom: 0; }
`;
