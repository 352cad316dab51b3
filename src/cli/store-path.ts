// Store paths as users type them: `notes.md` means `/notes.md`, and a shell that completes
// directory names may leave one slash at the end. Nothing else is corrected (FORMAT §5.2).

import { checkPath } from '../format/path.ts'

/** A path that can name a memory or a directory, including the root. Throws `invalid_path`. */
export function storePath(typed: string): string {
  const path = typed.startsWith('/') ? typed : `/${typed}`
  if (path === '/') return path
  return checkPath(path.endsWith('/') ? path.slice(0, -1) : path)
}
