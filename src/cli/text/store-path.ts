// Store paths as users type them: `notes.md` means `/notes.md`, and a shell that completes
// directory names may leave one slash at the end. Nothing else is corrected here (FORMAT §5.2):
// program.ts does so for paths of the memory tool, and for decomposed names.

import { checkPath } from '../../format/path.ts'

/** The root as the memory tool calls it. */
const TOOL_ROOT = '/memories'

/** The path of the store that the memory tool calls by this one; undefined for any other. */
export function findToolPath(typed: string): string | undefined {
  if (typed === TOOL_ROOT) return '/'
  return typed.startsWith(`${TOOL_ROOT}/`) ? typed.slice(TOOL_ROOT.length) : undefined
}

/** A path that can name a memory or a directory, including the root. Throws `invalid_path`. */
export function storePath(typed: string): string {
  const path = typed.startsWith('/') ? typed : `/${typed}`
  if (path === '/') return path
  return checkPath(path.endsWith('/') ? path.slice(0, -1) : path)
}

/** A path that a memory gets, in the only form that FORMAT §5.2 lets a writer give one. */
export function composedPath(typed: string): string {
  return storePath(typed.normalize('NFC'))
}
