// Files that file managers, sync clients and editors have put into the directory of a store. They
// harm neither the store nor gitlocket, but stock git takes those in refs/ and objects/ for damage,
// which no repair can mend. Reads only, and changes nothing.

import { lstatSync, readdirSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { lineFileBytesMax } from '../../limits.ts'
import { type DoctorFinding, ok, warn } from './finding.ts'

const CHECK = 'Foreign files'
const NAMED_MAX = 20

/** Names that Windows, macOS, desktops of Linux, editors, Dropbox and Syncthing give. */
const foreignName = new RegExp(
  String.raw`^(?:desktop\.ini|(?:eh)?thumbs(?:_vista)?\.db|\.ds_store|\._.+|\.localized|icon\r` +
    String.raw`|\.directory|\.dropbox.*|\.syncthing\..+|~syncthing~.+|.+\.sync-conflict-.+` +
    String.raw`|~\$.+|\.~.+|.+~|.* .*)$`,
  'is',
)
/** What git-check-ref-format(1) forbids. */
// oxlint-disable-next-line no-control-regex -- they are what a name must not have
const invalidRefName = /[\x00-\x20~^:?*[\\\x7f]|\.\.|\/\.|\.$/
const refContent = /^(?:[0-9a-f]{40}\s*|ref: [^]*)$/
/** Where a repair has put damaged files aside. */
const ASIDE = 'gitlocket/damaged/'

/** Their paths in the store, sorted. */
export function findForeignFiles(store: string): readonly string[] {
  if (lstatSync(store, { throwIfNoEntry: false }) === undefined) return []
  const names = readdirSync(store, { recursive: true, encoding: 'utf8' })
  return names.filter((name) => isForeign(store, name)).toSorted()
}

function isForeign(store: string, name: string): boolean {
  if (name.startsWith(ASIDE)) return false
  const found = lstatSync(join(store, name), { throwIfNoEntry: false })
  if (found?.isFile() !== true) return false
  if (foreignName.test(basename(name))) return true
  if (/^objects\/[0-9a-f]{2}\//.test(name)) {
    return !/^(?:[0-9a-f]{38}|tmp_obj_\w+)$/.test(basename(name))
  }
  if (!name.startsWith('refs/') || name.endsWith('.lock')) return false
  if (invalidRefName.test(name)) return true
  // An empty ref, or a damaged one of the store itself, is damage.
  if (found.size === 0 || basename(name) === 'main') return false
  return found.size > lineFileBytesMax || !refContent.test(readLatin1(join(store, name)))
}

/** A file may go away while its directory is being read. */
function readLatin1(path: string): string {
  try {
    return readFileSync(path, 'latin1')
  } catch {
    return 'ref: '
  }
}

export function checkForeignFiles(foreign: readonly string[]): DoctorFinding {
  if (foreign.length === 0) return ok(CHECK, 'none')
  const names = foreign.slice(0, NAMED_MAX).map((name) => JSON.stringify(name))
  const more = foreign.length - names.length
  const found = `${names.join(', ')}${more > 0 ? `, and ${more} more` : ''}`
  const fix =
    'Delete them: another program put them into the directory of the store, which no sync client ' +
    'or file manager should change'
  return warn(CHECK, found, fix)
}
