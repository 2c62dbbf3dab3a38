// @ts-check
/** The look of a frame, and of the text that stands for it until it has opened, and on paper. */
export const STYLE = `
.activity:has(> .view[data-open]) { padding-block: .6rem; }
.view-text { margin: 0; white-space: pre-line; }
.app-frame { border: 0; display: block; height: 0; width: 100%; }
.view[data-open] > .view-text { display: none; }
@media print {
  .app-frame { display: none; }
  .view[data-open] > .view-text { display: block; }
}
`;
