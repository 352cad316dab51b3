// The style of a report: no further file, light and dark, and on paper. Constant.

export const stylesheet: string = `
:root { color-scheme: light dark; --ink: #1c2024; --soft: #596068; --line: #d5d9de; --page: #ffffff;
  --card: #f6f7f9; --accent: #2458c5; --good: #17693a; --good-back: #e3f4e9; --warn: #8a4b00;
  --warn-back: #fdf1dd; --bad: #a5182a; --bad-back: #fde8ea }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e8eaed; --soft: #a5adb6; --line: #3a4048; --page: #15181c; --card: #1e2328;
    --accent: #82aaff; --good: #86d9a5; --good-back: #14301f; --warn: #f2bf73; --warn-back: #38290f;
    --bad: #ff9da7; --bad-back: #431a20 }
}
* { box-sizing: border-box }
body { margin: 0; background: var(--page); color: var(--ink);
  font: 16px/1.5 system-ui, "Segoe UI", Roboto, "Helvetica Neue", sans-serif }
header, main, footer { max-width: 74rem; margin: 0 auto; padding: 0 1.5rem }
header { padding-top: 2.5rem }
footer { padding-bottom: 3rem; color: var(--soft); font-size: .875rem }
h1 { margin: 0 0 1rem; font-size: 1.875rem; line-height: 1.25; overflow-wrap: anywhere }
h2 { margin: 3rem 0 .75rem; font-size: 1.375rem; line-height: 1.3 }
h3 { margin: 0 0 .75rem; font-size: 1.0625rem }
p { margin: 0 0 .75rem; max-width: 46rem }
ul { margin: 0; padding-left: 1.25rem; max-width: 46rem }
li + li { margin-top: .375rem }
code, .words { overflow-wrap: anywhere; font-size: .875em;
  font-family: ui-monospace, SFMono-Regular, Menlo, Consolas, monospace }
dl { margin: 0; display: grid; gap: .375rem }
dl > div { display: grid; grid-template-columns: 11rem minmax(0, 1fr); gap: 1rem }
dt { color: var(--soft) }
dd { margin: 0; overflow-wrap: anywhere }
dd ul { padding-left: 1.125rem }
.badge { display: inline-block; padding: .125rem .625rem; border: 1px solid currentColor;
  border-radius: 1rem; font-weight: 600; font-size: .875rem }
.good { color: var(--good); background: var(--good-back) }
.warn { color: var(--warn); background: var(--warn-back) }
.bad { color: var(--bad); background: var(--bad-back) }
.card { margin: 0 0 1rem; padding: 1.25rem; border: 1px solid var(--line); border-radius: .5rem;
  background: var(--card) }
.words { display: flex; flex-wrap: wrap; gap: .375rem .5rem; margin: 0; padding: 0;
  list-style: none; font-size: 1rem }
.words li { margin: 0; padding: .125rem .5rem; border: 1px solid var(--line); border-radius: .25rem;
  background: var(--page) }
.none { color: var(--soft) }
.scroll { overflow-x: auto; margin: 0 0 1.5rem }
.scroll:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px }
table { width: 100%; border-collapse: collapse; font-size: .875rem;
  font-variant-numeric: tabular-nums }
caption { padding: 0 0 .5rem; text-align: left; color: var(--soft) }
th, td { padding: .4375rem .75rem; border-bottom: 1px solid var(--line); text-align: left;
  vertical-align: top }
th:first-child, td:first-child { padding-left: 0 }
thead th { color: var(--soft); font-weight: 600; white-space: nowrap }
tbody th { font-weight: 400 }
td code, th code, td time, th time { white-space: nowrap }
td bdi { overflow-wrap: break-word }
.ids { columns: 19rem; max-width: none; list-style: none; padding: 0 }
.ids li { margin: 0 }
.dense td, .dense tbody th { padding-top: .125rem; padding-bottom: .125rem }
nav ul { display: flex; flex-wrap: wrap; gap: .375rem 1.25rem; max-width: none; margin: 1.5rem 0 0;
  padding: .75rem 0 0; border-top: 1px solid var(--line); list-style: none }
nav li + li { margin: 0 }
a { color: var(--accent) }
figure { margin: 0 0 1.5rem }
figcaption { color: var(--soft); font-size: .875rem }
svg { display: block; width: 100%; height: auto }
svg rect { fill: var(--accent) }
svg line { stroke: var(--line) }
svg text { fill: var(--soft); font: 12px system-ui, sans-serif }
@media (max-width: 40rem) { dl > div { grid-template-columns: 1fr; gap: 0 } }
@media print {
  :root { color-scheme: light; --ink: #000; --soft: #444; --line: #bbb; --page: #fff; --card: #fff;
    --accent: #2458c5; --good: #17693a; --good-back: #fff; --warn: #8a4b00; --warn-back: #fff;
    --bad: #a5182a; --bad-back: #fff }
  body { font-size: 10pt }
  header, main, footer { max-width: none; padding: 0 }
  h2, h3, caption { break-after: avoid }
  .card, figure, tr { break-inside: avoid }
  .scroll { overflow: visible }
  nav { display: none }
  td code, th code, td time, th time { white-space: normal }
  table { font-size: 8pt }
  svg rect { print-color-adjust: exact }
}
`
