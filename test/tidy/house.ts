// The measures of the tree: lines, files, corridors and names. `npm run house` prints them, and
// tidy.test.ts keeps each within its limit.

import { commentsOf, oddities } from './english.ts'
import { importsOf, resolveImport } from './layers.ts'
import type { SourceFile } from './source.ts'

/** A limit that has to rise does so in a commit of its own that gives the reason. */
const limits = {
  'lines of src': 118_660,
  'files of src': 727,
  'lines of test and scripts': 140_560,
  'percent of lines in src that are statements, at least': 50,
  'files of src with one importer': 182,
  'files of src of at most 40 lines': 57,
  'files side by side in a folder': 32,
  'files in the root of src/cli': 8,
  'files in src/store/sync': 18,
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
  const rest = files.filter(({ path }) => /^(?:test|scripts)\//.test(path))
  const folders = countBy(src.map(({ path }) => path.slice(0, path.lastIndexOf('/'))))
  const comments = src.flatMap((file) => commentsOf(file))
  const odd = comments.filter(({ text }) => oddities(text).length > 0)
  const values: Record<Name, number> = {
    'lines of src': sum(src, linesOf),
    'files of src': src.length,
    'lines of test and scripts': sum(rest, linesOf),
    'percent of lines in src that are statements, at least': Math.floor(
      (100 * sum(src, statementsOf)) / sum(src, linesOf),
    ),
    'files of src with one importer': withOneImporter(src).length,
    'files of src of at most 40 lines': src.filter((file) => linesOf(file) <= 40).length,
    'files side by side in a folder': Math.max(...folders.values()),
    'files in the root of src/cli': folders.get('src/cli') ?? 0,
    'files in src/store/sync': folders.get('src/store/sync') ?? 0,
    'type names declared twice or more': declaredTwice(src).length,
    'odd comments in a thousand': Math.ceil((1000 * odd.length) / comments.length),
  }
  return names.map((name) => ({ name, value: values[name], limit: limits[name] }))
}

const names = Object.keys(limits).filter((name): name is Name => name in limits)

export function isWithin({ name, value, limit }: Measure): boolean {
  return name.endsWith('at least') ? value >= limit : value <= limit
}

/** Files that exactly one other file of src/ imports, types included. */
export function withOneImporter(src: readonly SourceFile[]): readonly string[] {
  const pairs = src.flatMap((file) => {
    const targets = importsOf(file)
      .filter(({ specifier }) => specifier.startsWith('.'))
      .map(({ specifier }) => resolveImport(file, specifier))
    return [...new Set(targets)]
  })
  return [...countBy(pairs)].flatMap(([path, importers]) => (importers === 1 ? [path] : []))
}

export function declaredTwice(src: readonly SourceFile[]): readonly string[] {
  const declared = src.flatMap(({ bare }) =>
    [...bare.matchAll(/^(?:export )?(?:type|interface) (\w+)/gm)].map((match) => match[1] ?? ''),
  )
  return [...countBy(declared)].flatMap(([name, count]) => (count > 1 ? [name] : []))
}

function linesOf({ text }: SourceFile): number {
  return text.split('\n').length - 1
}

/** Lines of code, without imports, declarations of types, and lines of brackets alone. */
function statementsOf({ bare }: SourceFile): number {
  const code = bare
    .replaceAll(/^(?:import|export) [^;]*? from .*$/gm, '')
    .replaceAll(/^(?:export )?interface [\s\S]*?^\}$/gm, '')
    .replaceAll(/^(?:export )?type \w[\s\S]*?(?=^\S|^$)/gm, '')
  return code.split('\n').filter((line) => /\w/.test(line)).length
}

function countBy(items: readonly string[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>()
  for (const item of items) counts.set(item, (counts.get(item) ?? 0) + 1)
  return counts
}

function sum<Item>(items: readonly Item[], of: (item: Item) => number): number {
  return items.reduce((total, item) => total + of(item), 0)
}
