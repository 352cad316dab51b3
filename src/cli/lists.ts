// Lists within a message.

/** The first lines of a list, and how many more there are. */
export function listOf(lines: readonly string[]): string {
  const shown = lines.slice(0, 20).map((line) => `  ${line}`)
  const more = lines.length - shown.length
  return [...shown, ...(more > 0 ? [`  and ${more} more`] : [])].join('\n')
}
