// The files that the build for runtimes without Node replaces, by those that it takes instead:
// paths in src/.

import { basename, dirname, join } from 'node:path'

const ports = 'platform'
/** Nothing of these is called there. */
const absent = new Set([
  'disk/foreign-owner.ts',
  'disk/system-disk.ts',
  'git/disk-store/disk-object-store.ts',
  'transport/http-wire.ts',
  'transport/process-wire.ts',
])

/** The file to take in place of `path`; undefined for the file itself. */
export function webFileOf(path) {
  if (dirname(path) === ports) return join('web', ports, basename(path))
  return absent.has(path) ? join('web', ports, 'absent.ts') : undefined
}
