// Store paths as they are typed: `notes.md` means `/notes.md`, and a shell that completes directory
// names may leave one slash at the end. Everything else must be right as it is (FORMAT §5.2).

import { checkPath } from '../format/path.ts'

/** A path that can name a memory or a directory, the root among them. Throws `invalid_path`. */
export function storePath(typed: string): string {
  const path = typed.startsWith('/') ? typed : `/${typed}`
  if (path === '/') return path
  return checkPath(path.endsWith('/') ? path.slice(0, -1) : path)
}
