// The icons of the page, drawn inline: no font and no file is loaded for them, and each has the
// color of the text next to it.

/** Lines on a grid of 16 by 16. */
const LINES = {
  add: 'M8 3v10M3 8h10',
  audit: 'M8 1.8l5 1.9v4c0 3.2-2.1 5.4-5 6.5-2.9-1.1-5-3.3-5-6.5v-4zM5.7 7.9l1.6 1.6 3-3.1',
  close: 'M4 4l8 8M12 4l-8 8',
  closed: 'M6 4l4 4-4 4',
  copy: 'M5.5 5.5h8v8h-8zM10.5 5.5v-3h-8v8h3',
  devices: 'M3.5 3.5h9v6.5h-9zM1.5 12.8h13',
  lock: 'M3.5 7h9v6.5h-9zM5.5 7V5a2.5 2.5 0 0 1 5 0v2',
  memories: 'M3.5 2.5h6l3 3v8h-9zM9.5 2.5v3h3M6 8.3h4M6 10.8h4',
  menu: 'M2.5 4h11M2.5 8h11M2.5 12h11',
  merges:
    'M4 2.2a1.5 1.5 0 1 0 0 3 1.5 1.5 0 1 0 0-3zM4 10.8a1.5 1.5 0 1 0 0 3 1.5 1.5 0 1 0 0-3z' +
    'M12 6.5a1.5 1.5 0 1 0 0 3 1.5 1.5 0 1 0 0-3zM4 5.2v5.6M4 5.2C4.3 7.5 7 8 10.5 8',
  more:
    'M3.5 7.4a.6.6 0 1 0 0 1.2.6.6 0 1 0 0-1.2zM8 7.4a.6.6 0 1 0 0 1.2.6.6 0 1 0 0-1.2z' +
    'M12.5 7.4a.6.6 0 1 0 0 1.2.6.6 0 1 0 0-1.2z',
  open: 'M4 6l4 4 4-4',
  redacted: 'M2.5 4.5h11v7h-11zM5.5 4.5l-3 3.4M9.5 4.5l-6 7M13.5 4.5l-6 7M13.5 8.9l-2.3 2.6',
  redaction:
    'M2.6 9.4l6-6a1.4 1.4 0 0 1 2 0l2.6 2.6a1.4 1.4 0 0 1 0 2L8.7 12.5H5.5L2.6 9.6z' +
    'M5.6 6.4l4.6 4.6M8.7 12.5h5',
  review: 'M2.5 9.5l2-6h7l2 6v4h-11zM2.5 9.5h3l1 1.6h3l1-1.6h3',
  search: 'M7 2.5a4.5 4.5 0 1 0 0 9 4.5 4.5 0 1 0 0-9zM10.3 10.3L14 14',
  sessions: 'M2 3.5h12v9H2zM4.8 6.3L6.8 8l-2 1.7M8.5 9.9h2.8',
  settings:
    'M2 4.5h6M11.5 4.5H14M9.75 2.75a1.75 1.75 0 1 0 0 3.5 1.75 1.75 0 1 0 0-3.5zM2 11.5h2.5' +
    'M8 11.5h6M6.25 9.75a1.75 1.75 0 1 0 0 3.5 1.75 1.75 0 1 0 0-3.5z',
  stores: 'M8 2.2L2 5.2l6 3 6-3zM2 8.2l6 3 6-3M2 11.2l6 3 6-3',
  sync: 'M5 13V3M2.5 5.5L5 3l2.5 2.5M11 3v10M8.5 10.5L11 13l2.5-2.5',
  tab: 'M6.5 3h-4v10.5H13v-4M9.5 2.5h4v4M13.5 2.5L7.5 8.5',
  timeline: 'M8 2a6 6 0 1 0 0 12A6 6 0 1 0 8 2zM8 4.8V8l2.2 1.6',
} as const

export type IconName = keyof typeof LINES

/** Decoration: the text next to it, or the label of its button, names it. */
export function Icon({ name }: { readonly name: IconName }) {
  return (
    <svg class="icon" viewBox="0 0 16 16" aria-hidden="true">
      <path d={LINES[name]} />
    </svg>
  )
}

/** As in style/lock.svg, the icon of the tab. */
export function Logo() {
  return (
    <svg class="logo" viewBox="0 0 24 24" aria-hidden="true">
      <path
        d={
          'M12 2a5 5 0 0 0-5 5v3H6a2 2 0 0 0-2 2v8a2 2 0 0 0 2 2h12a2 2 0 0 0 2-2v-8a2 2 0 0 0' +
          '-2-2h-1V7a5 5 0 0 0-5-5Zm-3 8V7a3 3 0 0 1 6 0v3H9Zm3 3.4a1.7 1.7 0 0 1 .9 3.1v1.7' +
          'h-1.8v-1.7a1.7 1.7 0 0 1 .9-3.1Z'
        }
      />
    </svg>
  )
}
