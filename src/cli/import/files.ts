// Plain files, and trees of Markdown: notes with front matter, Obsidian vaults. A note is kept byte
// for byte: its front matter and its links are part of the text.

import { statSync } from 'node:fs'
import { basename, join } from 'node:path'
import { StoreError } from '../../errors.ts'
import { attempt } from '../../home/files.ts'
import type { Context, Input } from '../call/command.ts'
import { composedPath } from '../text/store-path.ts'
import { getSource, pathBelow, type FoundTexts } from './source.ts'
import { findTree, readInTree, readNamedFile, type TreeRule } from './tree.ts'

/** Every regular file below a directory, or one file. */
export async function findPlainFiles(context: Context, input: Input): Promise<FoundTexts> {
  const origin = getSource(input, '<directory-or-file>')
  if (kindOf(origin) === 'directory') return findBelow(context, input, origin, '/', () => undefined)
  const path = composedPath(input.text('to') ?? `/${basename(origin)}`)
  const candidate = { path, origin, read: (limit: number) => readNamedFile(origin, limit) }
  return { candidates: [candidate], leftOut: [], unsuitable: [] }
}

export function findMarkdown(context: Context, input: Input): Promise<FoundTexts> {
  return findMarkdownBelow(context, input, getSource(input, 'a directory with Markdown'), '/')
}

/** `place` is where the memories are without `--to`. */
export async function findMarkdownBelow(
  context: Context,
  input: Input,
  root: string,
  place: string,
): Promise<FoundTexts> {
  if (kindOf(root) === 'directory') return findBelow(context, input, root, place, markdownRule)
  throw new StoreError('invalid_input', `${root} is not a directory`)
}

/** Hidden are `.obsidian` with its plug-ins, `.trash`, `.git`, and files of other programs. */
function markdownRule(name: string, isDirectory: boolean): string | undefined {
  if (name.startsWith('.')) return isDirectory ? 'hidden directory' : 'hidden file'
  if (isDirectory) return name === 'node_modules' ? 'packages' : undefined
  return /\.(?:md|markdown)$/i.test(name) ? undefined : 'not Markdown'
}

async function findBelow(
  context: Context,
  input: Input,
  root: string,
  place: string,
  rule: TreeRule,
): Promise<FoundTexts> {
  const { files, ...others } = await findTree(root, rule, context.interrupts.signal)
  const candidates = files.map((name) => ({
    path: pathBelow(input, place, name),
    origin: join(root, name),
    read: (limit: number) => readInTree(root, name, limit),
  }))
  return { candidates, ...others }
}

/** Follows links. Throws `invalid_input` for a missing path and for special files. */
export function kindOf(path: string): 'directory' | 'file' {
  const found = attempt('examine a file', path, () => statSync(path, { throwIfNoEntry: false }))
  if (found === undefined) throw new StoreError('invalid_input', `There is nothing at ${path}`)
  if (found.isDirectory()) return 'directory'
  if (found.isFile()) return 'file'
  throw new StoreError('invalid_input', `${path} is neither a regular file nor a directory`)
}
