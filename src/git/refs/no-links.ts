// Refuses a repository with symbolic links at names that a store uses. A file is never opened
// through one (disk/disk.ts), but a directory that leads elsewhere would have caches written and
// erased files removed there, in a directory of the user. The repository itself may lie behind a
// link.

import type { Disk } from '../../disk/disk.ts'
import { StoreError } from '../../errors.ts'

/** Not read by a store; hosts put links there. */
const ignored = new Set(['hooks'])
/** Has thousands of files, which are opened one by one, and nothing below is a directory. */
const flat = /^objects\/(?:pack|[0-9a-f]{2})$/

/** Throws `unsupported_repository`. */
export function checkHasNoLinks(disk: Disk, directory: string): void {
  const visit = (below: string): void => {
    for (const { name, isDirectory, isLink } of disk.entries(`${directory}/${below}`)) {
      const path = below === '' ? name : `${below}/${name}`
      if (ignored.has(path)) continue
      if (isLink) throw linkError(path)
      if (isDirectory && !flat.test(path)) visit(path)
    }
  }
  visit('')
}

function linkError(path: string): StoreError {
  const shown = /^[\w./-]{1,200}$/.test(path) ? path : 'a name in it'
  return new StoreError(
    'unsupported_repository',
    `The repository cannot be a store: ${shown} is a symbolic link, which may lead anywhere; ` +
      'replace it by what it stands for',
  )
}
