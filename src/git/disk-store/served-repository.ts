// The repository from which stock git serves a store to others: a bare one in the store's caches,
// with the refs that they may see, and the objects of the store by way of `alternates`. So git
// obeys no setting, hook, graft, replacement or shallow file of the store, and shows no other ref.
// A purge empties the caches: it can be made again at any time, and is never synced.

import { asciiText, concatBytes, toHex, utf8 } from '../../bytes.ts'
import { systemRandom } from '../../crypto/random.ts'
import type { Disk } from '../../disk/disk.ts'
import { deflateBytes } from '../../platform/zlib.ts'
import type { ServedRef } from '../object-store.ts'
import { looseObjectIds, looseObjectPath } from '../objects/loose-object.ts'
import type { Oid } from '../objects/object.ts'
import type { GitFileLockContext } from '../refs/git-file-lock.ts'
import { headText } from '../refs/repository.ts'

const config = '[core]\n\trepositoryformatversion = 0\n\tbare = true\n'
const namePattern = /^served-[0-9a-f]{16}$/
/** From the objects of the served repository to those of the store. */
const alternates = '../../../../objects\n'
/** Each of git's repositories has one. */
const directories = ['objects/info', 'objects/pack', 'refs']

/** Returns its directory; undefined if the blob of a ref is missing there, and was not given. */
export function serveRefs(
  { disk, ownDirectory }: Pick<GitFileLockContext, 'disk' | 'ownDirectory'>,
  refs: readonly ServedRef[],
): string | undefined {
  const directory = findServed(disk, ownDirectory)
  const objects = `${directory}/objects`
  for (const name of directories) disk.makeDirectory(`${directory}/${name}`)
  for (const { oid, blob, isOwn } of refs) {
    if (!isOwn || disk.stat(looseObjectPath(objects, oid)) !== undefined) continue
    if (blob === undefined) return undefined
    writeBlob(disk, looseObjectPath(objects, oid), blob)
  }
  const before = readText(disk, `${directory}/packed-refs`)
  put(disk, `${directory}/config`, utf8(config))
  put(disk, `${objects}/info/alternates`, utf8(alternates))
  const packedRefs = packedRefsOf(refs)
  put(disk, `${directory}/packed-refs`, utf8(packedRefs))
  // Last, because it makes the directory a repository.
  put(disk, `${directory}/HEAD`, utf8(headText))
  if (before !== packedRefs) removeUnnamed(disk, objects, before + packedRefs)
  return directory
}

/**
 * After a purge it has another name: a fetch that began before must not go on. A purge leaves the
 * directories of the one before, which are removed.
 */
function findServed(disk: Disk, ownDirectory: string): string {
  const caches = `${ownDirectory}/cache`
  const made = disk.list(caches).filter((name) => namePattern.test(name))
  const found = made.find((name) => isServed(disk, `${caches}/${name}`))
  if (found !== undefined) return `${caches}/${found}`
  for (const name of made) disk.removeTree(`${caches}/${name}`)
  return `${caches}/served-${toHex(systemRandom(8))}`
}

/** Whether no purge has removed the repository. */
export function isServed(disk: Disk, directory: string): boolean {
  return disk.stat(`${directory}/HEAD`) !== undefined
}

/** All refs at once: replacing one file moves them together. */
function packedRefsOf(refs: readonly ServedRef[]): string {
  const lines = refs.map(({ name, oid }) => ({ name, line: `${oid} ${name}\n` }))
  lines.sort((a, b) => (a.name < b.name ? -1 : 1))
  return `# pack-refs with: peeled fully-peeled sorted \n${lines.map(({ line }) => line).join('')}`
}

/** A fetch that is running may still need the blobs that the refs named before. */
function removeUnnamed(disk: Disk, objects: string, named: string): void {
  const isNamed = (oid: Oid): boolean => named.includes(oid)
  for (const oid of looseObjectIds(disk, objects)) {
    if (!isNamed(oid)) disk.remove(looseObjectPath(objects, oid))
  }
}

/** The body is sealed, so that compression would gain nothing. */
function writeBlob(disk: Disk, path: string, body: Uint8Array): void {
  const object = concatBytes(utf8(`blob ${body.length}\0`), body)
  disk.makeDirectory(path.slice(0, path.lastIndexOf('/')))
  // Deflate adds five bytes to each of its blocks, of some kilobytes.
  put(disk, path, deflateBytes(object, 0, object.length + (object.length >> 8) + 64))
}

/** Replaces a file, unless it is the same: git may be reading it. */
function put(disk: Disk, path: string, bytes: Uint8Array): void {
  const before = disk.readFile(path)
  if (before !== undefined && Buffer.compare(before, bytes) === 0) return
  const temporary = `${path}.new`
  disk.remove(temporary)
  const fd = disk.open(temporary, 'wx')
  try {
    disk.write(fd, bytes, 0)
  } finally {
    disk.close(fd)
  }
  disk.rename(temporary, path)
}

function readText(disk: Disk, path: string): string {
  const bytes = disk.readFile(path)
  return bytes === undefined ? '' : asciiText(bytes)
}
