// Plain files: every regular file below a directory, or one file.

import { statSync } from 'node:fs'
import { basename, join } from 'node:path'
import { StoreError } from '../../errors.ts'
import { attempt } from '../../home/files.ts'
import { usageError } from '../call/command-error.ts'
import type { Input } from '../call/command.ts'
import type { Context } from '../call/context.ts'
import { composedPath } from '../text/store-path.ts'
import { type Found, pathBelow } from './source.ts'
import { findTree, readInTree, readNamedFile, type TreeRule } from './tree.ts'

export async function findPlainFiles(context: Context, input: Input): Promise<Found> {
  const origin = getSource(input, '<directory-or-file>')
  if (kindOf(origin) === 'directory') {
    return findFilesBelow(context, input, { root: origin, place: '/', rule: () => undefined })
  }
  const to = input.text('to')
  const path = composedPath(to ?? `/${basename(origin)}`)
  const candidate = { path, origin, read: (limit: number) => readNamedFile(origin, limit) }
  return { candidates: [candidate], leftOut: [], unsuitable: [] }
}

export interface TreePlace {
  readonly root: string
  /** Where its memories go by default. */
  readonly place: string
  readonly rule: TreeRule
}

/** The files of a tree at their own paths. */
export async function findFilesBelow(
  context: Context,
  input: Input,
  { root, place, rule }: TreePlace,
): Promise<Found> {
  if (kindOf(root) !== 'directory') {
    throw new StoreError('invalid_input', `${root} is not a directory`)
  }
  const { files, leftOut, unsuitable } = await findTree(root, rule, context.interrupts.signal)
  const candidates = files.map((name) => ({
    path: pathBelow(input, place, name),
    origin: join(root, name),
    read: (limit: number) => readInTree(root, name, limit),
  }))
  return { candidates, leftOut, unsuitable }
}

/** What the user has named, which the source cannot do without. */
export function getSource(input: Input, what: string): string {
  const source = input.findArgument(0)
  if (source !== undefined) return source
  throw usageError(`"import" needs ${what} here`, 'import')
}

/** The file at a path, links followed. Throws `invalid_input` for nothing and for special files. */
export function kindOf(path: string): 'directory' | 'file' {
  const found = attempt('examine a file', path, () => statSync(path, { throwIfNoEntry: false }))
  if (found === undefined) throw new StoreError('invalid_input', `There is nothing at ${path}`)
  if (found.isDirectory()) return 'directory'
  if (found.isFile()) return 'file'
  throw new StoreError('invalid_input', `${path} is neither a regular file nor a directory`)
}
