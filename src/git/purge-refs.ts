// Where stock git keeps the names of commits beside refs/heads/main: other refs, loose and packed,
// reflogs, and files such as ORIG_HEAD. What names an erased object goes, else git takes the
// repository for damaged. Must never touch what refs/heads/main says.

import { StoreError } from '../errors.ts'
import { branchName } from './branch.ts'
import type { Disk } from './disk.ts'
import { FileSweep, filesBelow } from './file-sweep.ts'
import { type GitFileLockContext, replaceUnderLock } from './git-file-lock.ts'
import type { Oid } from './object.ts'

export interface Ref {
  readonly name: string
  /** What it points at; undefined for a symbolic ref. */
  readonly oid: Oid | undefined
  /** The ref that a symbolic one stands for. */
  readonly target?: string | undefined
}

type IsErased = (oid: Oid) => boolean

export interface RefSweep {
  readonly sweep: FileSweep
  readonly isErased: IsErased
  /** Whether an object is not there at all: a tag, say, that an interrupted purge has erased. */
  readonly isGone: IsErased
}

/** What was refused may hold what is erased, anywhere in it. */
const refusedRef = /^refs\/remotes\/[^/]+-refused\/main$/

/** As whose `main` a refused head of a remote is kept. Names have 100 characters at most. */
export function refusedName(remote: string): string {
  return `${remote.slice(0, 92)}-refused`
}

const lockSuffix = '.lock'
const packedName = 'packed-refs'

/** All refs, also those that a loose one hides. */
export function listRefs(disk: Disk, directory: string): readonly Ref[] {
  return [...looseRefs(disk, directory), ...packedRefs(disk, directory)]
}

/** Removes refs, reflog entries and the like that name what is erased. Under the writer lock. */
export async function sweepRefs(
  files: GitFileLockContext,
  { sweep, isErased, isGone }: RefSweep,
): Promise<void> {
  const { disk, directory } = files
  const isErasedRef = ({ name, oid }: Ref): boolean => {
    // The name of a replacement ref is the object that it replaces.
    const replaced = /^refs\/replace\/([0-9a-f]{40})$/.exec(name)?.[1]
    if (refusedRef.test(name) || (replaced !== undefined && isErased(replaced))) return true
    return oid !== undefined && (isErased(oid) || isGone(oid))
  }
  const removed = sweepLooseRefs(disk, directory, { sweep, isErasedRef })
  await sweepPackedRefs(files, (ref) => removed.has(ref.name) || isErasedRef(ref))
  sweepHeads(disk, directory, { sweep, isErased })
  for (const path of filesBelow(disk, `${directory}/logs`)) {
    if (path.endsWith(lockSuffix)) sweep.removeKnown(path)
    else await sweepReflog(disk, path, { sweep, isErased })
  }
}

/** Removes a ref, loose and packed: the packed one first, which the loose one hides. */
export async function removeRef(files: GitFileLockContext, name: string): Promise<void> {
  await sweepPackedRefs(files, (ref) => ref.name === name)
  const sweep = new FileSweep(files.disk)
  sweep.remove(`${files.directory}/${name}`)
  await sweep.sync()
}

function looseRefs(disk: Disk, directory: string): Ref[] {
  return filesBelow(disk, `${directory}/refs`).flatMap((path): Ref[] => {
    const name = path.slice(directory.length + 1)
    if (name.endsWith(lockSuffix)) return []
    const text = textOf(disk, path)
    const symbolic = /^ref: (.*?)\s*$/.exec(text)
    if (symbolic !== null) return [{ name, oid: undefined, target: symbolic[1] }]
    const oid = /^[0-9a-f]{40}(?=\s*$)/.exec(text)?.[0]
    return oid === undefined ? [] : [{ name, oid }]
  })
}

function packedRefs(disk: Disk, directory: string): Ref[] {
  return textOf(disk, `${directory}/${packedName}`)
    .split('\n')
    .flatMap((line): Ref[] => {
      const [, oid, name] = /^([0-9a-f]{40}) (.+)$/.exec(line) ?? []
      return name === undefined ? [] : [{ name, oid }]
    })
}

interface Sweeping {
  readonly sweep: FileSweep
  readonly isErased: IsErased
}

/** Returns the names of what it removed. */
function sweepLooseRefs(
  disk: Disk,
  directory: string,
  { sweep, isErasedRef }: { sweep: FileSweep; isErasedRef: (ref: Ref) => boolean },
): ReadonlySet<string> {
  const refs = looseRefs(disk, directory).filter(({ name }) => name !== branchName)
  const removed = new Set(refs.filter(isErasedRef).map(({ name }) => name))
  for (const { name, target } of refs) if (target && removed.has(target)) removed.add(name)
  for (const name of removed) sweep.removeKnown(`${directory}/${name}`)
  return removed
}

/** By git's own protocol. A line that starts with ^ belongs to the one before. */
async function sweepPackedRefs(
  files: GitFileLockContext,
  isErasedRef: (ref: Ref) => boolean,
): Promise<void> {
  const { disk, directory } = files
  // An older value of the branch that the loose file hides.
  const isHidden = disk.stat(`${directory}/${branchName}`) !== undefined
  const read = (): string => textOf(disk, `${directory}/${packedName}`)
  const before = read()
  let keeps = true
  const kept = before.split('\n').filter((line) => {
    const [, oid, name] = /^([0-9a-f]{40}) (.+)$/.exec(line) ?? []
    if (oid !== undefined && name !== undefined) {
      keeps = (name === branchName && !isHidden) || !isErasedRef({ name, oid })
    } else if (!line.startsWith('^')) keeps = true
    return keeps
  })
  const after = kept.join('\n')
  if (after === before) return
  await replaceUnderLock(files, packedName, Buffer.from(after, 'latin1'), () => {
    if (read() === before) return
    throw new StoreError('ref_conflict', 'Another program changed packed-refs: try again')
  })
}

/** FETCH_HEAD, ORIG_HEAD and the like; HEAD itself names a branch. */
function sweepHeads(disk: Disk, directory: string, { sweep, isErased }: Sweeping): void {
  for (const name of disk.list(directory)) {
    if (!/^[A-Z_]+_HEAD$/.test(name)) continue
    const oids = textOf(disk, `${directory}/${name}`).match(/\b[0-9a-f]{40}\b/g) ?? []
    if (oids.some(isErased)) sweep.removeKnown(`${directory}/${name}`)
  }
}

/** A line of a reflog starts with two oids, before and after. */
async function sweepReflog(disk: Disk, path: string, { sweep, isErased }: Sweeping): Promise<void> {
  const before = textOf(disk, path)
  const kept = before.split('\n').filter((line) => {
    const oids = /^([0-9a-f]{40}) ([0-9a-f]{40})\b/.exec(line)?.slice(1) ?? []
    return !oids.some(isErased)
  })
  const after = kept.join('\n')
  if (after === before) return
  if (after.trim() === '') return sweep.removeKnown(path)
  const fd = disk.open(`${path}${lockSuffix}`, 'w+')
  try {
    disk.write(fd, Buffer.from(after, 'latin1'), 0)
    await disk.sync(fd)
  } finally {
    disk.close(fd)
  }
  disk.rename(`${path}${lockSuffix}`, path)
  sweep.touch(path.slice(0, path.lastIndexOf('/')))
}

/** As Latin-1, so that bytes of any encoding stay as they are. */
function textOf(disk: Disk, path: string): string {
  return Buffer.from(disk.readFile(path) ?? []).toString('latin1')
}
