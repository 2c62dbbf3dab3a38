// @ts-check
/** The style of charts. It applies in charts only, whose classes are common words. */
export const CHART_STYLE = `
.chart {
  .c0 { color: var(--_accent); }
  .c1 { color: light-dark(#c2500a, #ff9d5c); }
  .c2 { color: light-dark(#3b5bd0, #8ba4ff); }
  .c3 { color: light-dark(#a02a76, #f28ac8); }
  .c4 { color: light-dark(#7a6200, #e3c34a); }
  .c5 { color: light-dark(#4b5563, #b8c0cc); }
  .plot { border-radius: var(--_small); min-height: 200px; min-width: 0; outline-offset: 2px; }
  .plot svg { direction: ltr; display: block; max-width: 100%; }
  .plot text { fill: var(--_muted); font-size: 12px; unicode-bidi: plaintext; }
  .grid { stroke: var(--_border); }
  .axis { stroke: var(--_muted); }
  .guide { stroke: var(--_text); stroke-dasharray: 3 3; }
  .hatch { fill: none; stroke-width: 2; }
  .under { opacity: .22; }
  .line { fill: none; stroke: currentColor; stroke-linejoin: round; stroke-width: 2; }
  .mark { fill: currentColor; }
  .slice { stroke: var(--_background); stroke-width: 2; }
  .slice.at { stroke: var(--_text); }
  .legend {
    display: flex; flex-wrap: wrap; font-size: .87rem; gap: .25rem 1rem; list-style: none;
    padding: 0;
  }
  .legend:empty { display: none; }
  .legend li { align-items: center; display: flex; gap: .4rem; overflow-wrap: anywhere; }
  .swatch { flex: none; }
}
.chart-foot {
  display: grid;
  > * { grid-area: 1 / 1; }
  summary { font-size: .87rem; width: fit-content; }
  .data-table { margin-top: .5rem; }
  .readout {
    align-self: start; background: var(--_background); font-size: .87rem;
    font-variant-numeric: tabular-nums; justify-self: end; max-width: 80%; pointer-events: none;
    text-align: end; z-index: 2;
  }
}
@media print, (prefers-contrast: more) { .chart .hatch { stroke: var(--_background); } }
@media (forced-colors: active) {
  .chart {
    :is(.c0, .c1, .c2, .c3, .c4, .c5) { color: CanvasText; }
    .plot text { fill: CanvasText; }
    .hatch, .slice { stroke: Canvas; }
  }
}
`;
