// Trees of Markdown: notes with front matter, Obsidian vaults. A note is kept byte for byte:
// its front matter and its links are part of the text.

import type { Input } from '../call/command.ts'
import type { Context } from '../call/context.ts'
import { findFilesBelow, getSource } from './files.ts'
import type { Found } from './source.ts'

export function findMarkdown(context: Context, input: Input): Promise<Found> {
  return findMarkdownBelow(context, input, getSource(input, 'a directory with Markdown'), '/')
}

/** `place` is where the memories go by default. */
export function findMarkdownBelow(
  context: Context,
  input: Input,
  root: string,
  place: string,
): Promise<Found> {
  return findFilesBelow(context, input, { root, place, rule: markdownRule })
}

/** Hidden are `.obsidian` with its plug-ins, `.trash`, `.git`, and whatever else programs keep. */
function markdownRule(name: string, isDirectory: boolean): string | undefined {
  if (name.startsWith('.')) return isDirectory ? 'hidden directory' : 'hidden file'
  if (isDirectory) return name === 'node_modules' ? 'packages' : undefined
  return /\.(?:md|markdown)$/i.test(name) ? undefined : 'not Markdown'
}
