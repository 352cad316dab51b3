// The real file system with one fault: the k-th operation that changes something fails, or the
// "process" dies before, in the middle of, or after it. After a death every operation throws, and
// lock files show the process as dead. Unsynced changes are then kept, or lost as after a power
// failure: file contents alone, or names in directories as well. Nothing is really synced: this
// file keeps account of what a sync would have made durable.

import {
  closeSync,
  fstatSync,
  ftruncateSync,
  linkSync,
  mkdtempSync,
  openSync,
  readSync,
  renameSync,
  rmSync,
  statSync,
  unlinkSync,
  writeSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { onTestFinished } from 'vitest'
import type { DirectoryEntry, Disk, FileStatus, OpenMode } from '../../src/disk/disk.ts'
import type { Life, Listener } from '../../src/disk/life-socket.ts'
import { lifeOf, type ProcessOwner, thisProcess } from '../../src/disk/process-owner.ts'
import { systemDisk } from '../../src/disk/system-disk.ts'
import { type ErrorCode, StoreError } from '../../src/errors.ts'

export type Moment = 'before' | 'torn' | 'after'
/** What a death takes along of that which was written and never synced. */
export type Loss = 'nothing' | 'contents' | 'contents and names'

export type Fault =
  | { readonly kind: 'death'; readonly at: number; readonly moment: Moment; readonly loss: Loss }
  | {
      readonly kind: 'error'
      readonly at: number
      readonly times: number
      readonly code: ErrorCode
    }

/** What every operation throws after the death. */
export class SimulatedDeath extends Error {}

interface TrackedFile {
  readonly fd: number
  /** What the disk has; the file itself shows what the page cache has. */
  synced: Uint8Array
  /** Writes since the last sync of this process. One that fails forgets them, as a kernel does. */
  pending: Array<(content: Uint8Array) => Uint8Array>
}

const livingProcesses = new Set<string>()
let processes = 0

export class FaultyDisk implements Disk {
  /** Operations that changed something, so far. */
  operations = 0
  /** What each of them was, for the message of a failed test. */
  readonly log: string[] = []
  /** Synchronised writes of file contents, so far. */
  syncs = 0
  readonly #fault: Fault | undefined
  readonly #earlier: FaultyDisk | undefined
  readonly #name: string
  readonly #tracked: Map<number, TrackedFile> = new Map()
  readonly #open: Set<number> = new Set()
  readonly #paths: Map<number, string> = new Map()
  readonly #listeners: Listener[] = []
  #undo: Array<{ directory: string; run: () => void }> = []
  #graveyard: string | undefined
  #dead = false

  /** What an earlier process did not sync is not durable to this one either. */
  constructor(fault?: Fault, earlier?: FaultyDisk) {
    this.#fault = fault
    this.#earlier = earlier
    processes += 1
    this.#name = `simulated-${processes}`
    livingProcesses.add(this.#name)
    onTestFinished(() => this.release())
  }

  get dead(): boolean {
    return this.#dead
  }

  /** Dies now, outside of any operation. */
  die(loss: Loss): void {
    if (this.#dead) return
    this.#dead = true
    this.#leave()
    if (loss === 'contents and names') this.#loseNames()
    if (loss !== 'nothing') for (const file of this.#unsynced().values()) restore(file)
  }

  /** Closes open files and removes deleted ones that it kept; the end of the test does it too. */
  release(): void {
    for (const fd of this.#open) closeSync(fd)
    for (const { fd } of this.#tracked.values()) closeSync(fd)
    this.#open.clear()
    this.#tracked.clear()
    this.#leave()
    if (this.#graveyard !== undefined) rmSync(this.#graveyard, { recursive: true, force: true })
  }

  /** What the disk has of a file that this process wrote to. */
  syncedContent(inode: number): Uint8Array | undefined {
    return this.#unsynced().get(inode)?.synced
  }

  open(path: string, mode: OpenMode): number {
    if (mode === 'r' || mode === 'r+') return this.#opened(systemDisk.open(path, mode), path, mode)
    const isNew = systemDisk.stat(path) === undefined
    return this.#change(`create ${nameOf(path)}`, () => {
      const fd = this.#opened(systemDisk.open(path, mode), path, mode)
      if (isNew) this.#onUndo(path, () => unlinkSync(path))
      return fd
    })
  }

  openExisting(path: string, mode: 'r' | 'r+'): number | undefined {
    this.#assertAlive()
    const fd = systemDisk.openExisting(path, mode)
    return fd === undefined ? undefined : this.#opened(fd, path, mode)
  }

  closeInBackground(fd: number): void {
    this.close(fd)
  }

  close(fd: number): void {
    if (this.#open.delete(fd)) systemDisk.close(fd)
  }

  read(fd: number, into: Uint8Array, position: number): number {
    this.#assertAlive()
    return systemDisk.read(fd, into, position)
  }

  write(fd: number, bytes: Uint8Array, position: number): void {
    const write = (part: Uint8Array): void => {
      systemDisk.write(fd, part, position)
      // Now: the caller may use its buffer again before the sync.
      const kept = part.slice()
      this.#remember(fd, (content) => overwritten(content, kept, position))
    }
    const torn = (): void => write(bytes.subarray(0, Math.ceil(bytes.length / 2)))
    this.#change(`write ${this.#nameOf(fd)}`, () => write(bytes), torn)
  }

  size(fd: number): number {
    this.#assertAlive()
    return systemDisk.size(fd)
  }

  truncate(fd: number, length: number): void {
    this.#change(`truncate ${this.#nameOf(fd)}`, () => {
      systemDisk.truncate(fd, length)
      this.#remember(fd, (content) => content.slice(0, length))
    })
  }

  async sync(fd: number): Promise<void> {
    this.syncs += 1
    const file = this.#tracked.get(inodeOf(fd))
    const pending = file?.pending ?? []
    if (file !== undefined) file.pending = []
    await this.#change(`sync ${this.#nameOf(fd)}`, async () => {
      await nextTurn()
      if (file !== undefined) for (const apply of pending) file.synced = apply(file.synced)
    })
  }

  readFile(path: string, limit?: number): Uint8Array | undefined {
    this.#assertAlive()
    return systemDisk.readFile(path, limit)
  }

  list(directory: string): string[] {
    this.#assertAlive()
    return systemDisk.list(directory)
  }

  entries(directory: string): DirectoryEntry[] {
    this.#assertAlive()
    return systemDisk.entries(directory)
  }

  stat(path: string): FileStatus | undefined {
    this.#assertAlive()
    return systemDisk.stat(path)
  }

  rename(from: string, to: string): void {
    this.#change(`rename ${nameOf(from)} to ${nameOf(to)}`, () => {
      const replaced = this.#bury(to)
      systemDisk.rename(from, to)
      this.#onUndo(to, () => {
        renameSync(to, from)
        if (replaced !== undefined) linkSync(replaced, to)
      })
    })
  }

  link(from: string, to: string): boolean {
    return this.#change(`link ${nameOf(from)} to ${nameOf(to)}`, () => {
      const done = systemDisk.link(from, to)
      if (done) this.#onUndo(to, () => unlinkSync(to))
      return done
    })
  }

  remove(path: string): void {
    this.#change(`remove ${nameOf(path)}`, () => {
      const removed = this.#bury(path)
      systemDisk.remove(path)
      if (removed !== undefined) this.#onUndo(path, () => linkSync(removed, path))
    })
  }

  makeDirectory(path: string): void {
    if (systemDisk.stat(path) !== undefined) return
    this.#change(`make directory ${nameOf(path)}`, () => {
      const made = missingOf(path)
      systemDisk.makeDirectory(path)
      for (const one of made) this.#onUndo(one, () => rmSync(one, { recursive: true, force: true }))
    })
  }

  removeTree(path: string): void {
    this.#change(`remove tree ${nameOf(path)}`, () => systemDisk.removeTree(path))
  }

  async syncDirectory(path: string): Promise<void> {
    await this.#change(`sync directory ${nameOf(path)}`, async () => {
      await nextTurn()
      this.#keepNames(systemDisk.stat(path)?.inode)
    })
  }

  owner(): ProcessOwner {
    return { ...thisProcess(), startTime: this.#name }
  }

  async listen(path: string): Promise<Listener | undefined> {
    const listener = await this.#change(`listen at ${nameOf(path)}`, () => systemDisk.listen(path))
    if (listener !== undefined) this.#listeners.push(listener)
    return listener
  }

  /** The process id is that of the process that simulates it, so the name stands for the rest. */
  async lifeOf(owner: ProcessOwner, socket: string | undefined): Promise<Life> {
    this.#assertAlive()
    if (!owner.startTime.startsWith('simulated-')) return lifeOf(owner, socket)
    const life = await lifeOf({ ...owner, startTime: thisProcess().startTime }, socket)
    return life === 'living' && !livingProcesses.has(owner.startTime) ? 'ended' : life
  }

  /** The others see that this process no longer runs. */
  #leave(): void {
    livingProcesses.delete(this.#name)
    for (const listener of this.#listeners.splice(0)) listener.close()
  }

  /** Those in a directory are durable, also what earlier processes did there. */
  #keepNames(inode: number | undefined): void {
    this.#undo = this.#undo.filter(({ directory }) => {
      return systemDisk.stat(directory)?.inode !== inode
    })
    if (this.#earlier !== undefined) this.#earlier.#keepNames(inode)
  }

  /** In a directory that was moved or removed as a whole there is nothing to go back to. */
  #loseNames(): void {
    for (const { directory, run } of this.#undo.splice(0).toReversed()) {
      if (systemDisk.stat(directory) !== undefined) run()
    }
    if (this.#earlier !== undefined) this.#earlier.#loseNames()
  }

  /** Counts one operation, and strikes if its turn has come. */
  #change<T>(what: string, operation: () => T, torn: () => void = () => undefined): T {
    this.#assertAlive()
    this.operations += 1
    this.log.push(what)
    const fault = this.#fault
    const passed = fault === undefined ? -1 : this.operations - fault.at
    if (fault === undefined || passed < 0) return operation()
    if (fault.kind === 'error') {
      if (passed >= fault.times) return operation()
      throw new StoreError(fault.code, `Simulated fault: ${what}`)
    }
    // An asynchronous operation is done once it has been awaited; nothing runs in between.
    if (fault.moment === 'torn') torn()
    if (fault.moment === 'after') {
      const result = operation()
      if (result instanceof Promise) {
        // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- a promise, as it was
        return result.then(() => this.#strike(fault.loss)) as T
      }
    }
    return this.#strike(fault.loss)
  }

  #strike(loss: Loss): never {
    this.die(loss)
    throw new SimulatedDeath(`the process died at operation ${this.operations}`)
  }

  #assertAlive(): void {
    if (this.#dead) throw new SimulatedDeath('the process is dead')
  }

  #opened(fd: number, path: string, mode: OpenMode): number {
    this.#open.add(fd)
    this.#paths.set(fd, nameOf(path))
    if (mode !== 'r') this.#track(fd, path)
    return fd
  }

  /** Keeps a file's content on the disk, to restore it. */
  #track(fd: number, path: string): void {
    const inode = inodeOf(fd)
    if (this.#tracked.has(inode)) return
    const own = openSync(path, 'r+')
    const earlier = this.#earlier?.syncedContent(inode)
    // Read before the first write of this handle: the content at this time is treated as durable.
    this.#tracked.set(inode, { fd: own, synced: earlier ?? contentOf(own), pending: [] })
  }

  #remember(fd: number, change: (content: Uint8Array) => Uint8Array): void {
    this.#tracked.get(inodeOf(fd))?.pending.push(change)
  }

  /** By inode: a power failure takes along what earlier processes have not synced either. */
  #unsynced(): ReadonlyMap<number, TrackedFile> {
    const earlier = this.#earlier === undefined ? [] : this.#earlier.#unsynced()
    return new Map([...earlier, ...this.#tracked])
  }

  #onUndo(path: string, run: () => void): void {
    this.#undo.push({ directory: dirname(path), run })
  }

  /** A further name for a file that is about to lose its own, so that it can come back. */
  #bury(path: string): string | undefined {
    if (systemDisk.stat(path) === undefined) return undefined
    this.#graveyard ??= mkdtempSync(join(tmpdir(), 'gitlocket-graveyard-'))
    const grave = join(this.#graveyard, String(this.operations))
    linkSync(path, grave)
    return grave
  }

  #nameOf(fd: number): string {
    return this.#paths.get(fd) ?? '?'
  }
}

function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}

function overwritten(content: Uint8Array, bytes: Uint8Array, position: number): Uint8Array {
  const result = new Uint8Array(Math.max(content.length, position + bytes.length))
  result.set(content)
  result.set(bytes, position)
  return result
}

function restore({ fd, synced }: TrackedFile): void {
  ftruncateSync(fd, 0)
  writeSync(fd, synced, 0, synced.length, 0)
}

function contentOf(fd: number): Uint8Array {
  const bytes = new Uint8Array(fstatSync(fd).size)
  readSync(fd, bytes, 0, bytes.length, 0)
  return bytes
}

function inodeOf(fd: number): number {
  return fstatSync(fd).ino
}

function nameOf(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1)
}

/** The directory and its missing parents, the uppermost first. */
function missingOf(path: string): readonly string[] {
  if (statSync(path, { throwIfNoEntry: false }) !== undefined) return []
  return [...missingOf(dirname(path)), path]
}
