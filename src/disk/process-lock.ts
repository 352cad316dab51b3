// A lock among processes, for one handle of a store: a hard link to a file that names the holder,
// next to the socket at which that process listens. The lock of a dead process is broken; that of a
// live one is waited for. Node has no flock, so the kernel does not release it. Without fsync: a
// lock need not survive a power loss, and an empty lock file is treated as dead. A mark tells a
// handle that no one has held the lock since it did, so that it need not look for changes.

import { Turns } from '../async.ts'
import { asciiText, toHex, utf8 } from '../bytes.ts'
import type { Random } from '../crypto/random.ts'
import { StoreError } from '../errors.ts'
import { lineFileBytesMax } from '../limits.ts'
import { afterOthers } from '../platform/timers.ts'
import { type Disk, type FileStatus, isSameFile } from './disk.ts'
import type { Life, Listener } from './life-socket.ts'
import type { ProcessOwner } from './process-owner.ts'

/** Retries that only yield to other work of this process, before the lock is polled. */
const spins = 8
const pollMsMax = 10
/** The most breakers of one lock that may have died in a row. */
const breakersMax = 64

/** A holder that was found alive is not probed again for this time. */
const askMs = 100

interface Holder {
  readonly owner: ProcessOwner
  readonly token: string
  /**
   * The device of the file system, as the holder sees it: through another one, its socket seems
   * dead.
   */
  readonly device?: number | undefined
}

/** The file that all locks of one handle link to. `directory` is the store's `gitlocket/`. */
export class LockIdentity {
  readonly token: string
  readonly path: string
  readonly #disk: Disk
  readonly #directory: string
  #written: Promise<void> | undefined
  #isWhole = false
  #listener: Listener | undefined

  constructor(disk: Disk, directory: string, random: Random) {
    this.#disk = disk
    this.#directory = directory
    this.token = toHex(random(16))
    this.path = `${directory}/owner.${this.token}`
  }

  async write(): Promise<void> {
    this.#written ??= this.#create()
    try {
      await this.#written
      this.#isWhole = true
    } catch (error) {
      this.#written = undefined
      throw error
    }
  }

  /** Like `linkTo`, at once; false also if the file is not there. */
  tryLinkTo(path: string): boolean {
    if (!this.#isWhole) return false
    try {
      return this.#disk.link(this.path, path)
    } catch {
      return false
    }
  }

  /** Creates a hard link to the file; returns false if `path` exists. */
  async linkTo(path: string): Promise<boolean> {
    try {
      return this.#disk.link(this.path, path)
    } catch (error) {
      // A sweep after dead processes may have removed the file before it was complete.
      if (this.#disk.stat(this.path) !== undefined) throw error
      await this.#create()
      return this.#disk.link(this.path, path)
    }
  }

  async remove(): Promise<void> {
    if (this.#written === undefined) return
    await this.#written.catch(() => undefined)
    // The file first: an owner file without a socket cannot be attributed to a live process.
    this.#disk.remove(this.path)
    this.#disk.remove(socketOf(this.path))
    this.#listener?.close()
    this.#listener = undefined
    this.#written = undefined
    this.#isWhole = false
  }

  /** The file comes before the socket: a sweep keeps a socket that has an owner file. */
  async #create(): Promise<void> {
    // An attempt that failed may have left it.
    if (this.#disk.stat(this.path) !== undefined) this.#disk.remove(this.path)
    const fd = this.#disk.open(this.path, 'wx')
    try {
      const device = this.#disk.stat(this.#directory)?.device
      const holder: Holder = { owner: this.#disk.owner(), token: this.token, device }
      this.#disk.write(fd, utf8(`${JSON.stringify(holder)}\n`), 0)
    } finally {
      this.#disk.close(fd)
    }
    await this.#listen()
  }

  /** Under a temporary name until it listens: before that, a socket is taken for dead. */
  async #listen(): Promise<void> {
    const temporary = `${socketOf(this.path)}.new`
    const listener = await this.#disk.listen(temporary)
    if (listener === undefined) return
    try {
      this.#disk.rename(temporary, socketOf(this.path))
    } catch (error) {
      listener.close()
      throw error
    }
    this.#listener?.close()
    this.#listener = listener
  }
}

export interface LockOptions {
  readonly disk: Disk
  readonly identity: LockIdentity
  readonly path: string
  readonly random: Random
  /** The purpose of the lock, for the text of the `locked` error. */
  readonly purpose: string
  /**
   * A file that every holder makes a link to its own before it looks at what the lock protects, if
   * it is not one already.
   */
  readonly mark?: string
}

export class ProcessLock {
  readonly #disk: Disk
  readonly #identity: LockIdentity
  readonly #path: string
  readonly #options: LockOptions
  readonly #turns = new Turns(1)
  /** Whether files of this lock can be of this handle. */
  #isUsed = false
  /** The status of the mark since it is of this handle. */
  #mark: FileStatus | undefined
  #asked: { token: string; life: Life; at: number } | undefined

  constructor(options: LockOptions) {
    this.#disk = options.disk
    this.#identity = options.identity
    this.#path = options.path
    this.#options = options
  }

  /**
   * Runs `work` while holding the lock. Throws `locked` after `waitMs`. `isSame`: no other handle
   * has held it since this one did, which only a lock with a mark can tell.
   */
  async hold<T>(waitMs: number, work: (isSame: boolean) => Promise<T>): Promise<T> {
    const deadline = performance.now() + waitMs
    this.#isUsed = true
    if (!this.#turns.tryEnter() && !(await this.#turns.enter(waitMs))) throw this.#lockedError()
    try {
      if (!this.#identity.tryLinkTo(this.#path)) await this.#acquire(deadline)
      try {
        return await work(this.#takeMark())
      } finally {
        this.#release()
      }
    } finally {
      this.#turns.leave()
    }
  }

  /** Resolves when every earlier turn of this handle has ended. */
  async settled(): Promise<void> {
    await this.#turns.run(async () => {})
  }

  holder(): ProcessOwner | undefined {
    return readHolder(this.#disk, this.#path)?.owner
  }

  /** Whether another handle, of this or another process, holds the lock now. */
  isHeldElsewhere(): boolean {
    const token = readHolder(this.#disk, this.#path)?.token
    return token !== undefined && token !== this.#identity.token
  }

  /** Whether no other handle has begun to hold the lock since this one did. */
  get isMarked(): boolean {
    if (this.#mark === undefined || this.#options.mark === undefined) return false
    return isSameFile(this.#disk.stat(this.#options.mark), this.#mark)
  }

  /** Releases the lock if an earlier release failed, and removes the mark of this handle. */
  abandon(): void {
    if (!this.#isUsed) return
    this.#removeOwn()
    // The next holder may replace it just then: that costs it a look.
    if (this.#options.mark !== undefined && this.isMarked) this.#disk.remove(this.#options.mark)
    this.#mark = undefined
  }

  #removeOwn(): void {
    if (this.#current()?.token === this.#identity.token) this.#disk.remove(this.#path)
  }

  /** Returns whether the mark was of this handle already. */
  #takeMark(): boolean {
    const { mark } = this.#options
    if (mark === undefined) return false
    if (this.isMarked) return true
    this.#mark = undefined
    // No mark is as good as that of another handle. A link over a link to the same file would fail.
    this.#disk.remove(mark)
    if (this.#disk.link(this.#path, mark)) this.#mark = this.#disk.stat(mark)
    return false
  }

  /** The work under the lock is done, so a failure here is not reported to the caller. */
  #release(): void {
    try {
      this.#disk.remove(this.#path)
    } catch {
      // This handle keeps the lock, and its next turn acquires it again.
    }
  }

  async #acquire(deadline: number): Promise<void> {
    await this.#identity.write()
    this.#asked = undefined
    for (let attempt = 0; !(await this.#identity.linkTo(this.#path)); attempt += 1) {
      if (await this.#breakIfDead()) continue
      if (performance.now() >= deadline) throw this.#lockedError()
      await pause(attempt, this.#options.random)
    }
  }

  /** Returns true if the caller should try again immediately. */
  async #breakIfDead(): Promise<boolean> {
    const current = this.#current()
    if (current === undefined) return true
    if (current.token === this.#identity.token) {
      this.#removeOwn()
      return true
    }
    if ((await this.#lifeOf(current)) !== 'ended') return false
    // The process that creates the break file of this lock's token may remove the lock; if it died,
    // the process that creates the next break file may.
    const claims: string[] = []
    for (let level = 1; level <= breakersMax; level += 1) {
      const claim = `${this.#path}.break.${current.token}.${level}`
      claims.push(claim)
      if (await this.#identity.linkTo(claim)) {
        try {
          if (this.#current()?.token === current.token) this.#disk.remove(this.#path)
        } finally {
          // Even if that failed: a claim of this live process would block the process itself.
          for (const file of claims.toReversed()) this.#disk.remove(file)
        }
        return true
      }
      if (await isHeldByLive(this.#disk, claim)) return false
    }
    return false
  }

  /** The lock file that exists now; a damaged one has no holder. */
  #current(): { token: string; holder: Holder | undefined } | undefined {
    const status = this.#disk.stat(this.#path)
    if (status === undefined) return undefined
    const holder = readHolder(this.#disk, this.#path)
    return { token: holder?.token ?? `damaged-${status.inode}`, holder }
  }

  async #lifeOf({ token, holder }: { token: string; holder: Holder | undefined }): Promise<Life> {
    const now = performance.now()
    const asked = this.#asked
    if (asked !== undefined && asked.token === token && now < asked.at + askMs) return asked.life
    const life = holder === undefined ? 'ended' : await findLife(this.#disk, this.#path, holder)
    this.#asked = { token, life, at: now }
    return life
  }

  #lockedError(): StoreError {
    const holder = this.holder()
    const message = `The ${this.#options.purpose} lock was not free in time`
    const elsewhere = holder !== undefined && holder.namespace !== this.#disk.owner().namespace
    if (elsewhere && this.#asked?.life === 'unknown') {
      const file = this.#path.slice(this.#path.lastIndexOf('/') + 1)
      return new StoreError(
        'locked',
        `${message}: a process in another container holds it; if it has ended, remove the file ` +
          `gitlocket/${file} of the store`,
      )
    }
    // The process id of another container means nothing here.
    const who = elsewhere
      ? 'a process in another container'
      : holder === undefined
        ? 'another process'
        : `process ${holder.pid}`
    return new StoreError('locked', `${message}: ${who} holds it; wait for it or end it`)
  }
}

/** Whether the file names a process that may be alive. A missing or damaged file names none. */
export async function isHeldByLive(disk: Disk, path: string): Promise<boolean> {
  const holder = readHolder(disk, path)
  return holder !== undefined && (await findLife(disk, path, holder)) !== 'ended'
}

/** Removes the files of dead handles from a directory of locks. Must be called under a lock. */
export async function sweepOwners(disk: Disk, directory: string): Promise<void> {
  for (const name of disk.list(directory)) {
    const path = `${directory}/${name}`
    if (!isOwnerFile(name) || (await isHeldByLive(disk, path))) continue
    disk.remove(path)
    disk.remove(socketOf(path))
  }
}

/** Whether the name is that of a handle's file, and not of its socket. */
export function isOwnerFile(name: string): boolean {
  return /^owner\.[0-9a-f]{32}$/.test(name)
}

/** With the socket at which the holder can be probed. Undefined if the lock is free. */
export function findLockHolder(
  disk: Disk,
  path: string,
): { readonly owner: ProcessOwner; readonly socket: string | undefined } | undefined {
  const holder = readHolder(disk, path)
  return holder && { owner: holder.owner, socket: findSocket(disk, path, holder) }
}

function findLife(disk: Disk, path: string, holder: Holder): Promise<Life> {
  return disk.lifeOf(holder.owner, findSocket(disk, path, holder))
}

/** The kernel finds the listener of a socket only through the same mounted file system. */
function findSocket(disk: Disk, path: string, { token, device }: Holder): string | undefined {
  const directory = path.slice(0, path.lastIndexOf('/'))
  if (device === undefined || disk.stat(directory)?.device !== device) return undefined
  return socketOf(`${directory}/owner.${token}`)
}

function socketOf(ownerFile: string): string {
  return `${ownerFile}.sock`
}

/**
 * A short wait between tries: at first one turn of the event loop, then milliseconds with jitter.
 */
export async function pause(attempt: number, random: Random): Promise<void> {
  if (attempt < spins) return new Promise((resolve) => afterOthers(resolve))
  const jitter = (random(1)[0] ?? 0) / 256
  const bound = Math.min(1 + attempt - spins, pollMsMax)
  return new Promise((resolve) => setTimeout(resolve, Math.max(1, bound * jitter)))
}

function readHolder(disk: Disk, path: string): Holder | undefined {
  const bytes = disk.readFile(path, lineFileBytesMax)
  if (bytes === undefined) return undefined
  try {
    const parsed: unknown = JSON.parse(asciiText(bytes))
    return isHolder(parsed) ? parsed : undefined
  } catch {
    return undefined
  }
}

function isHolder(value: unknown): value is Holder {
  if (!isRecord(value) || !isRecord(value['owner'])) return false
  const { pid, startTime, bootId, namespace } = value['owner']
  const device = value['device']
  return (
    typeof value['token'] === 'string' &&
    /^[0-9a-f]{32}$/.test(value['token']) &&
    typeof pid === 'number' &&
    (device === undefined || typeof device === 'number') &&
    [startTime, bootId, namespace].every((field) => typeof field === 'string')
  )
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null
}
