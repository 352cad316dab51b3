// Words and shapes of the pictures in docs: what a browser shows in light and in dark.

/** Text and values of attributes. */
export function escaped(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
}

export interface Picture {
  readonly title: string
  readonly width: number
  readonly height: number
  readonly style: string
  readonly shapes: readonly string[]
}

export function renderPicture({ title, width, height, style, shapes }: Picture): string {
  const size = `width="${width - 1}" height="${height - 1}"`
  return [
    '<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-labelledby="title"',
    `  viewBox="0 0 ${width} ${height}">`,
    `<title id="title">${escaped(title)}</title>`,
    `<style>${style}</style>`,
    `<rect class="frame" x="0.5" y="0.5" ${size} rx="8"/>`,
    ...shapes,
    '</svg>',
    '',
  ].join('\n')
}
