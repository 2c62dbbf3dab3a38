// @ts-check
/** The style of values in values. */
export const NESTED_STYLE = `
.arguments > .wide { grid-column: 1 / -1; }
.arguments > dd.wide:not(:last-child) { margin-bottom: .35rem; }
.arguments :is(.arguments, .values, .items) { min-width: 0; white-space: normal; }
.arguments dd :is(dd, p, span), .items p { white-space: pre-wrap; }
.items { display: grid; gap: .6rem; list-style: none; margin: 0; padding: 0; }
.items > li {
  border-inline-start: 2px solid var(--_border); min-width: 0; padding-inline-start: .6rem;
}
.items > li > p { font-weight: 550; overflow-wrap: anywhere; }
.items > li > p > span {
  color: var(--_muted); font-variant-numeric: tabular-nums; font-weight: 400;
}
.items > li > .arguments { border: 0; padding: 0; }
.arguments .beside { display: flex; flex-wrap: wrap; gap: .1rem 1.1rem; }
.arguments .beside > div { display: flex; gap: .4rem; min-width: 0; }
.fold > summary {
  align-items: center; border-radius: 6px; color: var(--_muted); cursor: pointer; display: flex;
  gap: .35rem; list-style: none; min-height: 2rem; padding: .1rem .35rem .1rem 0;
}
.fold > summary:hover { color: var(--_text); }
.fold > summary > small {
  font-size: inherit; overflow: hidden; text-overflow: ellipsis; white-space: nowrap;
}
.fold > summary > span { flex: none; font-weight: 550; }
.fold[open] > summary > small { display: none; }
.fold > summary > .icon { flex: none; height: 1rem; transition: rotate .12s; width: 1rem; }
.fold > summary:dir(rtl) > .icon { rotate: 180deg; }
.fold[open] > summary > .icon { rotate: 90deg; }
.more { justify-self: start; margin-top: .45rem; min-height: 2.25rem; padding-block: .3rem; }
.items > li:focus, .values > li:focus { outline: 0; }
.diff {
  background: var(--_surface); border-radius: 6px; max-height: 24rem; overflow: auto;
  overflow-wrap: normal; padding: .5rem .65rem; white-space: pre;
}
.diff > code { display: block; font-size: inherit; min-width: 100%; width: max-content; }
.diff span { display: block; min-height: 1lh; }
.diff .added {
  background: light-dark(#0b6b3a1a, #8fd3a41f);
  color: var(--agui-code-added, light-dark(#0b6b3a, #8fd3a4));
}
.diff .removed {
  background: light-dark(#b3261e17, #ff9b931f);
  color: var(--agui-code-removed, light-dark(#b3261e, #ff9b93));
}
.diff .place { color: var(--_muted); }
@media (pointer: coarse) { .fold > summary, .more { min-height: 2.75rem; } }
`;
