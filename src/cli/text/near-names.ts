// Finds the known names that a mistyped one may stand for. Pure.

/** `; did you mean "a" or "b"?`, or nothing if no name is near. */
export function didYouMean(word: string, names: Iterable<string>, most = 1): string {
  return question(nearNames(word, names, aThird).slice(0, most))
}

/**
 * The same for a command: one edit away, or the only one that begins so. A destructive one is never
 * named, nor a harmless one that is further away than it.
 */
export function didYouMeanCommand(
  word: string,
  harmless: readonly string[],
  destructive: readonly string[],
): string {
  const names = [...harmless, ...destructive]
  const begun = names.filter((name) => name.startsWith(word))
  const [nearest] = begun.length === 1 ? begun : nearNames(word, names, () => 1)
  return question(harmless.filter((name) => name === nearest))
}

function question(near: readonly string[]): string {
  return near.length === 0 ? '' : `; did you mean ${near.map((name) => `"${name}"`).join(' or ')}?`
}

/** A third of the characters. */
function aThird(name: string): number {
  return Math.max(1, Math.floor(name.length / 3))
}

/** The names that differ in up to as many characters as `edits` allows, the nearest first. */
function nearNames(
  word: string,
  names: Iterable<string>,
  edits: (name: string) => number,
): readonly string[] {
  const near: { readonly name: string; readonly distance: number }[] = []
  for (const name of names) {
    const most = edits(name)
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
