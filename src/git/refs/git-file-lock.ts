// Replaces a file of the repository by git's own protocol: `<file>.lock` is created exclusively,
// holds the new content, and is renamed. It is a hard link to a `pending.*` file in `gitlocket/`,
// so a lock of a dead gitlocket process can be recognised by its inode and removed, and a running
// git's is kept. Must be called by one gitlocket process at a time per file: under one of the two
// locks among the processes that have a store open. A checkpoint takes both, its own first.

import { asciiText, toHex } from '../../bytes.ts'
import type { Random } from '../../crypto/random.ts'
import type { Disk } from '../../disk/disk.ts'
import { isHeldByLive, type LockIdentity, pause, ProcessLock } from '../../disk/process-lock.ts'
import { StoreError } from '../../errors.ts'
import { lineFileBytesMax } from '../../limits.ts'
import { Bytes } from '../../platform/bytes.ts'

export interface GitFileLockContext {
  readonly disk: Disk
  readonly directory: string
  readonly ownDirectory: string
  readonly identity: LockIdentity
  readonly random: Random
  /** How long to wait for another git program before `locked`. */
  readonly waitMs: number
}

/** Held to change the journal, or the list of dead objects; its mark names the last holder. */
export function writerLock(files: GitFileLockContext): ProcessLock {
  const mark = `${files.ownDirectory}/last-writer`
  return new ProcessLock({ ...files, path: `${files.ownDirectory}/lock`, mark, purpose: 'writer' })
}

/** Held to pack the journal, to merge packs and to erase. */
export function checkpointLock(files: GitFileLockContext): ProcessLock {
  const path = `${files.ownDirectory}/checkpoint.lock`
  return new ProcessLock({ ...files, path, purpose: 'checkpoint' })
}

/**
 * Replaces `name`, a path inside the repository, durably. `check` runs under the lock, and throws
 * to keep the file as it is.
 */
export async function replaceUnderLock(
  context: GitFileLockContext,
  name: string,
  bytes: Uint8Array,
  check: () => void,
): Promise<void> {
  const { disk, directory, identity } = context
  const target = `${directory}/${name}`
  const unique = `${name.replaceAll('/', '-')}.${toHex(context.random(8))}`
  const pending = `${context.ownDirectory}/pending.${identity.token}.${unique}`
  await identity.write()
  await writeWhole(disk, pending, bytes)
  await linkWhenFree(context, name, pending)
  try {
    check()
    disk.rename(`${target}.lock`, target)
  } catch (error) {
    // In this order: without the pending file, the lock is not recognised as gitlocket's.
    disk.remove(`${target}.lock`)
    disk.remove(pending)
    throw error
  }
  disk.remove(pending)
  await disk.syncDirectory(target.slice(0, target.lastIndexOf('/')))
}

/**
 * Replaces a text file by its edited text, if that differs. Throws `ref_conflict` if another
 * program changes it in the meantime.
 */
export async function editUnderLock(
  context: GitFileLockContext,
  name: string,
  edit: (text: string) => string,
): Promise<void> {
  const read = (): string => textOf(context.disk, `${context.directory}/${name}`)
  const before = read()
  const after = edit(before)
  if (after === before) return
  await replaceUnderLock(context, name, Bytes.from(after, 'latin1'), () => {
    if (read() === before) return
    throw new StoreError('ref_conflict', `Another program changed ${name}: try again`)
  })
}

/** As Latin-1, so that bytes of any encoding are preserved; '' if the file is missing. */
export function textOf(disk: Disk, path: string): string {
  return asciiText(disk.readFile(path, lineFileBytesMax) ?? new Uint8Array(0))
}

/**
 * Removes files of dead processes from the store's own directory. Must be called while holding
 * every lock of the store: no live process is then breaking one or replacing a file.
 */
export async function sweepDead(
  context: GitFileLockContext,
  lockedNames: readonly string[],
): Promise<void> {
  const { disk, ownDirectory } = context
  for (const name of lockedNames) await removeStaleLock(context, name)
  for (const name of disk.list(ownDirectory)) {
    const path = `${ownDirectory}/${name}`
    const [kind, token] = name.split('.')
    const ofOwner = kind === 'owner' || kind === 'pending'
    const heldBy = ofOwner ? `${ownDirectory}/owner.${token}` : path
    const temporary = ofOwner || name.includes('.break.')
    if (temporary && !(await isHeldByLive(disk, heldBy))) disk.remove(path)
  }
}

async function writeWhole(disk: Disk, path: string, bytes: Uint8Array): Promise<void> {
  const fd = disk.open(path, 'wx')
  try {
    disk.write(fd, bytes, 0)
    await disk.sync(fd)
  } finally {
    disk.close(fd)
  }
}

async function linkWhenFree(
  context: GitFileLockContext,
  name: string,
  pending: string,
): Promise<void> {
  const deadline = performance.now() + context.waitMs
  for (let attempt = 0; !context.disk.link(pending, lockOf(context, name)); attempt += 1) {
    if (await removeStaleLock(context, name)) continue
    if (performance.now() >= deadline) {
      context.disk.remove(pending)
      throw lockedError(name)
    }
    await pause(attempt, context.random)
  }
}

async function removeStaleLock(context: GitFileLockContext, name: string): Promise<boolean> {
  const { disk, ownDirectory } = context
  const inode = disk.stat(lockOf(context, name))?.inode
  if (inode === undefined) return true
  const pending = disk
    .list(ownDirectory)
    .find((file) => file.startsWith('pending.') && inodeOf(disk, ownDirectory, file) === inode)
  const token = pending?.split('.')[1]
  if (token === undefined) return false
  // A lock of this handle is stale too: its removal failed.
  const own = token === context.identity.token
  if (!own && (await isHeldByLive(disk, `${ownDirectory}/owner.${token}`))) return false
  // Another lock, by git or gitlocket, may have replaced it.
  if (disk.stat(lockOf(context, name))?.inode === inode) disk.remove(lockOf(context, name))
  return true
}

function inodeOf(disk: Disk, directory: string, name: string): number | undefined {
  return disk.stat(`${directory}/${name}`)?.inode
}

function lockOf(context: GitFileLockContext, name: string): string {
  return `${context.directory}/${name}.lock`
}

function lockedError(name: string): StoreError {
  return new StoreError(
    'locked',
    `Another git program holds ${name}.lock: let it finish, or delete the file if none is running`,
  )
}
