// The measures of the tree's shape: crowded folders, names declared twice, odd comments.
// `npm run house` prints them, and tidy-house.test.ts keeps each within its limit.

import { commentsOf, oddities } from './english.ts'
import type { SourceFile } from './source.ts'

const limits = {
  'files side by side in a folder': 32,
  'files in the root of src/cli': 8,
  'type names declared twice or more': 6,
  'odd comments in a thousand': 10,
} as const

type Name = keyof typeof limits

export interface Measure {
  readonly name: Name
  readonly value: number
  readonly limit: number
}

/** What the tree measures now, each with its limit. */
export function measuresOf(files: readonly SourceFile[]): readonly Measure[] {
  const src = files.filter(({ path }) => path.startsWith('src/'))
  const folders = countBy(src.map(({ path }) => path.slice(0, path.lastIndexOf('/'))))
  const comments = src.flatMap((file) => commentsOf(file))
  const odd = comments.filter(({ text }) => oddities(text).length > 0)
  const values: Record<Name, number> = {
    'files side by side in a folder': Math.max(...folders.values()),
    'files in the root of src/cli': folders.get('src/cli') ?? 0,
    'type names declared twice or more': declaredTwice(src).length,
    'odd comments in a thousand': Math.ceil((1000 * odd.length) / comments.length),
  }
  return names.map((name) => ({ name, value: values[name], limit: limits[name] }))
}

const names = Object.keys(limits).filter((name): name is Name => name in limits)

export function isWithin({ value, limit }: Measure): boolean {
  return value <= limit
}

export function declaredTwice(src: readonly SourceFile[]): readonly string[] {
  const declared = src.flatMap(({ bare }) =>
    [...bare.matchAll(/^(?:export )?(?:type|interface) (\w+)/gm)].map((match) => match[1] ?? ''),
  )
  return [...countBy(declared)].flatMap(([name, count]) => (count > 1 ? [name] : []))
}

function countBy(items: readonly string[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>()
  for (const item of items) counts.set(item, (counts.get(item) ?? 0) + 1)
  return counts
}
