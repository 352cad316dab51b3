// The law of the start: what every program that uses the library loads, whether it syncs or not.
// Imports of types alone and those within functions do not count: neither is loaded at the start.

import { importsOf, resolveImport } from './layers.ts'
import { type SourceFile, type Violation, violation } from './source.ts'

/** Beginnings of paths: what takes long to load, and only a sync needs. */
const late: readonly string[] = [
  'src/transport/',
  'src/store/merge/',
  'src/store/sync/fetch.ts',
  'src/store/sync/rounds.ts',
  'src/store/sync/reconcile.ts',
]

/** Loading `start` loads nothing that must be loaded late. */
export function startLaw(start: string, files: readonly SourceFile[]): Violation[] {
  const byPath = new Map(files.map((file) => [file.path, file]))
  const loaded = new Set([start])
  const violations: Violation[] = []
  for (const path of loaded) {
    const file = byPath.get(path)
    if (file === undefined) continue
    for (const { specifier, offset, typeOnly, dynamic } of importsOf(file)) {
      if (typeOnly || dynamic || !specifier.startsWith('.')) continue
      const target = resolveImport(file, specifier)
      if (!late.some((beginning) => target.startsWith(beginning))) loaded.add(target)
      else violations.push(violation(file, offset, `${start} loads it: import ${target} when used`))
    }
  }
  return violations
}
