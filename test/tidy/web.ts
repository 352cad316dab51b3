// The law of the build for runtimes without Node: nothing that its entry reaches may name Node's
// modules or globals, once the files are replaced that the bundler replaces.

import { webFileOf } from '../../scripts/web-ports.mjs'
import { importsOf, resolveImport } from './layers.ts'
import { type SourceFile, type Violation, violation } from './source.ts'

const globals = /\b(?:Buffer|NodeJS|SharedArrayBuffer|setImmediate)\b|(?<![.\w])process\s*[.[]/g

export function webLaw(sources: readonly SourceFile[], entry: string): Violation[] {
  const files = new Map(sources.map((file) => [file.path, file]))
  const pending = [entry]
  const reached = new Set(pending)
  const violations: Violation[] = []
  for (let path = pending.pop(); path !== undefined; path = pending.pop()) {
    const file = files.get(path)
    if (file === undefined) return [`${path}:1: the web reaches a file that does not exist`]
    violations.push(...namesOfNode(file))
    for (const next of webImportsOf(file)) {
      if (!reached.has(next)) pending.push(next)
      reached.add(next)
    }
  }
  return violations
}

function webImportsOf(file: SourceFile): string[] {
  return importsOf(file)
    .filter(({ specifier, typeOnly }) => specifier.startsWith('.') && !typeOnly)
    .map(({ specifier }) => {
      const path = resolveImport(file, specifier)
      const replaced = webFileOf(path.replace(/^src\//, ''))
      return replaced === undefined ? path : `src/${replaced}`
    })
}

function namesOfNode(file: SourceFile): Violation[] {
  const right = 'the web build has no Node: put it behind src/platform'
  const modules = importsOf(file).filter(
    ({ specifier, typeOnly }) => specifier.startsWith('node:') && !typeOnly,
  )
  const offsets = [
    ...modules.map(({ offset }) => offset),
    ...[...file.bare.matchAll(globals)].map(({ index }) => index),
  ]
  return offsets.map((offset) => violation(file, offset, right))
}
