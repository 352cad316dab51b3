// The files that the build for runtimes without Node replaces, by those that it takes instead:
// paths in src/.

import { basename, dirname, join } from 'node:path'

const ports = 'platform'
const replaced = new Map([
  ['crypto/sodium.ts', 'sodium.ts'],
  // Nothing of these is called there.
  ['disk/foreign-owner.ts', 'absent.ts'],
  ['disk/system-disk.ts', 'absent.ts'],
  ['git/disk-store/disk-object-store.ts', 'absent.ts'],
  ['transport/http-wire.ts', 'absent.ts'],
  ['transport/process-wire.ts', 'absent.ts'],
])

/** The file to take in place of `path`; undefined for the file itself. */
export function webFileOf(path) {
  const name = dirname(path) === ports ? basename(path) : replaced.get(path)
  return name === undefined ? undefined : join('web', ports, name)
}
