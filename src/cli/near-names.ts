// Finds the known names that a mistyped one may stand for. Pure.

/** `; did you mean "a" or "b"?`, or nothing if no name is near. */
export function didYouMean(word: string, names: Iterable<string>, most = 1): string {
  const near = nearNames(word, names).slice(0, most)
  return near.length === 0 ? '' : `; did you mean ${near.map((name) => `"${name}"`).join(' or ')}?`
}

/** The names that differ in up to a third of their characters, the nearest first. */
function nearNames(word: string, names: Iterable<string>): readonly string[] {
  const near: { readonly name: string; readonly distance: number }[] = []
  for (const name of names) {
    const most = Math.max(1, Math.floor(name.length / 3))
    if (Math.abs(name.length - word.length) > most) continue
    const distance = editDistance(word, name)
    if (distance <= most) near.push({ name, distance })
  }
  return near.toSorted((a, b) => a.distance - b.distance).map(({ name }) => name)
}

/** Optimal string alignment: insertions, deletions, replacements, and swaps of neighbours. */
function editDistance(a: string, b: string): number {
  const rows: number[][] = [Array.from({ length: b.length + 1 }, (_, index) => index)]
  for (let i = 1; i <= a.length; i += 1) {
    const row = [i]
    for (let j = 1; j <= b.length; j += 1) {
      const replaced = (rows[i - 1]?.[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1)
      const swapped = a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]
      row.push(
        Math.min(
          replaced,
          (rows[i - 1]?.[j] ?? 0) + 1,
          (row[j - 1] ?? 0) + 1,
          swapped ? (rows[i - 2]?.[j - 2] ?? 0) + 1 : replaced,
        ),
      )
    }
    rows.push(row)
  }
  return rows.at(-1)?.at(-1) ?? 0
}
