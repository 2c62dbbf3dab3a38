// @ts-check
/**
 * The style of the panel, which comes with it. A table scrolls below its heads. If a document is
 * open, it is what is printed, and nothing else: its own title, if the text has one.
 */
export const PANEL_STYLE = `
.panel.with-document { padding-inline-end: var(--_document, 0px); }
.document-panel {
  animation: document-in .18s ease-out; background: var(--_background);
  border-inline-start: 1px solid var(--_border); display: flex; flex-direction: column;
  inset-block: 0; inset-inline-end: 0; position: absolute; width: var(--_document); z-index: 2;
}
.document-panel.full { border: 0; inset: 0; width: auto; z-index: 3; }
.document-panel:focus { outline: 0; }
@keyframes document-in { from { opacity: 0; translate: 1rem 0; } }
.document-panel:dir(rtl) { animation-name: document-in-rtl; }
@keyframes document-in-rtl { from { opacity: 0; translate: -1rem 0; } }
.document-edge {
  cursor: col-resize; inset-block: 0; inset-inline-start: -.3rem; outline-offset: -2px;
  position: absolute; touch-action: none; width: .6rem; z-index: 4;
}
.document-edge::after {
  content: ""; inset-block: 0; inset-inline-start: .2rem; position: absolute; width: 3px;
}
.document-edge:hover::after { background: var(--_accent); }
.full > .document-edge { display: none; }
.document-head {
  align-items: center; border-bottom: 1px solid var(--_border); display: flex; flex: none;
  gap: .15rem; min-height: 3.5rem; padding-block: .4rem; padding-inline: 1.25rem .6rem;
}
.document-head > div { flex: 1; line-height: 1.35; min-width: 0; }
.document-head h2 {
  font-size: 1rem; font-weight: 600; overflow: hidden; text-align: -webkit-match-parent;
  text-align: match-parent; text-overflow: ellipsis; white-space: nowrap;
}
.document-head p { color: var(--_muted); font-size: .8rem; overflow: hidden; white-space: nowrap; }
.document-head p { text-overflow: ellipsis; }
.document-head .pager { align-items: center; color: var(--_muted); display: flex; flex: none; }
.document-head .pager > span { display: none; }
.document-head .pager .icon-button { width: 1.75rem; }
.document-head .pager [aria-disabled="true"] { opacity: .35; pointer-events: none; }
.document-head .pager .icon-button:first-child .icon { rotate: 180deg; }
.document-scroll {
  flex: 1; min-height: 0; outline-offset: -2px; overflow-y: auto; overscroll-behavior: contain;
  scrollbar-color: var(--_border) transparent; scrollbar-width: thin;
}
.document-body { margin-inline: auto; max-width: 50rem; padding: 1.5rem 1.75rem 3rem; }
.document-body > .prose > .block:first-child > :is(h1, h2):first-child { margin-top: 0; }
.document-body .prose h1 { font-size: 1.6rem; }
.document-body .prose h2 { font-size: 1.3rem; }
.document-body:is([data-kind="code"], [data-kind="table"], [data-kind="page"]) {
  max-width: none; padding: 0;
}
[data-kind="code"] > .prose .code { border: 0; border-radius: 0; }
[data-kind="code"] > .prose .code-head { padding-inline-start: 1.75rem; }
[data-kind="code"] > .prose .code-head .copy { display: none; }
[data-kind="code"] > .prose .code pre { padding: 1rem 1.75rem 3rem; }
[data-kind="code"] > .prose.plain { padding: 1rem 1.75rem; }
[data-kind="table"], [data-kind="table"] :is(div:has(> .activity-body), .activity-body) {
  display: block; height: 100%;
}
[data-kind="table"] .data-table { gap: 0; grid-template-rows: minmax(0, 1fr) auto; height: 100%; }
[data-kind="table"] .data-table > .table { border: 0; border-radius: 0; max-height: 100%; }
[data-kind="table"] .data-table > .button:last-child { display: none; }
[data-kind="table"] .data-table > .button { margin: 1rem 1.75rem; }
[data-kind="table"] .data-table :is(th:first-child > .sort, td:first-child) {
  padding-inline-start: 1.75rem;
}
[data-kind="table"] .muted { padding: 1.5rem 1.75rem; }
.document-picture { color: var(--_muted); display: grid; place-items: center; }
.document-picture canvas { border-radius: var(--_small); height: auto; max-width: 100%; }
[data-kind="page"], .document-page, .document-page iframe { height: 100%; }
.document-page iframe { background: #fff; border: 0; color-scheme: light; display: block; }
.document-page iframe { width: 100%; }
@container (max-width: 480px) {
  [data-kind="table"] .data-table :is(th:first-child > .sort, td:first-child) {
    padding-inline-start: 1rem;
  }
  .document-body { padding: 1.1rem 1rem 2.5rem; }
  .document-head { padding-inline-start: 1rem; }
}
@media (pointer: coarse) { .document-head .pager .icon-button { width: 2.75rem; } }
@media (forced-colors: active) {
  .document-head [aria-disabled="true"] { color: GrayText; opacity: 1; }
  .document-edge:hover::after { background: Highlight; }
}
@media print {
  .with-document > :not(.document-panel) { display: none !important; }
  .document-panel, .document-panel.full {
    animation: none; border: 0; display: block; position: static; width: auto;
  }
  .document-head { border: 0; padding: 0; }
  .document-head h2 { font-size: 1.4rem; white-space: normal; }
  .document-head :is(.pager, .icon-button), .document-edge { display: none !important; }
  .document-scroll, [data-kind="table"] .data-table > .table {
    max-height: none; overflow: visible;
  }
  .panel.with-document { padding: 0; }
  .document-panel:has(.document-body > .prose > .block:first-child > h1:first-child)
    > .document-head {
    display: none;
  }
  .document-body, [data-kind="code"] > .prose .code pre {
    max-width: none; padding: 1rem 0 0 !important;
  }
}
`;
