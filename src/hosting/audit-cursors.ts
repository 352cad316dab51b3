// What the cursors of an audit export mean: how far it had come in each store. A cursor cannot hold
// that for ten thousand stores, so each run of an export keeps a file outside of the stores, sealed
// for this identity, with an entry for each time that it came further in a store; a cursor names
// the run, how many of its entries count, and the place in the store of its own line. Nothing here
// must be durable: with a shorter file an export repeats more, and leaves out nothing.
//
//   file = (u32 length ‖ envelope)…, the number of the entry as generation

import { concatBytes, toHex, utf8, utf8Text } from '../bytes.ts'
import { hash256 } from '../crypto/digest.ts'
import { makeDurableDirectory } from '../disk/disk.ts'
import { StoreError } from '../errors.ts'
import { findId } from '../format/id.ts'
import type { TrailPosition } from '../store/audit/new-entries.ts'
import {
  type CacheOwner,
  hasNoValue,
  lengthAt,
  lengthOf,
  openCache,
  type SealPlace,
  sealCache,
  untilPadding,
} from '../store/local/sealed-cache.ts'

/** A record of a store, and how many of its events were exported. */
export interface EventPosition extends TrailPosition {
  readonly events: number
}

/** How far an export has come in a store. */
export interface StoreProgress {
  readonly workspaceId: string
  /** Undefined before the first line. */
  readonly position: EventPosition | undefined
  /** The store has nothing new as long as `heads` of the backend tells this of it. */
  readonly head: string | undefined
}

export type Progresses = ReadonlyMap<string, StoreProgress>

interface ProgressEntry {
  /** `memstore_…` */
  readonly storeId: string
  /** Undefined once the store is deleted. */
  readonly progress: StoreProgress | undefined
}

/** The files that are kept: for readers that are behind, and for several of them. */
const RUNS_MAX = 16
/** After which a run continues in another file. */
const ENTRIES_MAX = 32_768
const LENGTH_BYTES = 4
const RUN_BYTES = 8
const CURSOR =
  /^([0-9a-f]{16})\.(\d{1,9})(?:\.(memstore_\w+)\.(\d{1,9})\.([0-9a-f]{64})\.(\d{1,9}))?$/

export class AuditCursors {
  readonly #owner: CacheOwner
  readonly #directory: string
  readonly #progress: Map<string, StoreProgress> = new Map()
  /** The run that this one continues: its reader may come back with the same cursor. */
  #before: string | undefined
  #file: RunFile | undefined

  /** Throws `invalid_input` for a cursor that this host never gave, or no longer knows. */
  static open(owner: CacheOwner, directory: string, since: string | undefined): AuditCursors {
    const cursors = new AuditCursors(owner, directory)
    if (since !== undefined) cursors.#continue(since)
    return cursors
  }

  private constructor(owner: CacheOwner, directory: string) {
    this.#owner = owner
    this.#directory = directory
  }

  get progress(): Progresses {
    return this.#progress
  }

  /** The cursor of a line of this store, which the file does not count yet. */
  async at(storeId: string, position: EventPosition | undefined): Promise<string> {
    const { run, count } = await this.#current()
    const place = position && [storeId, position.height, position.record, position.events]
    return [run, count, ...(place ?? [])].join('.')
  }

  /** Before the next line: the export has come further in a store, or it is deleted. */
  async note(storeId: string, progress: StoreProgress | undefined): Promise<void> {
    if (progress === undefined) this.#progress.delete(storeId)
    else this.#progress.set(storeId, progress)
    this.#file?.add({ storeId, progress })
  }

  close(): void {
    this.#file?.close()
    this.#file = undefined
  }

  #continue(since: string): void {
    const [, run = '', count = '', storeId, height, record = '', events] = CURSOR.exec(since) ?? []
    const entries = run === '' ? undefined : readRun(this.#owner, this.#directory, run)
    if (entries === undefined) throw unknownCursor()
    this.#before = run
    for (const { storeId: of, progress } of entries.slice(0, Number(count))) {
      if (progress === undefined) this.#progress.delete(of)
      else this.#progress.set(of, progress)
    }
    if (storeId === undefined) return
    if (findId('store', storeId) === undefined) throw unknownCursor()
    const workspaceId = this.#progress.get(storeId)?.workspaceId ?? ''
    const position = { height: Number(height), record, events: Number(events) }
    this.#progress.set(storeId, { workspaceId, position, head: undefined })
  }

  /** Made for the first line: an export without one leaves no file. */
  async #current(): Promise<RunFile> {
    if (this.#file !== undefined && this.#file.added < ENTRIES_MAX) return this.#file
    this.#file?.close()
    await makeDurableDirectory(this.#owner.disk, this.#directory)
    this.#removeOldest()
    this.#file = RunFile.make(this.#owner, this.#directory)
    for (const [storeId, progress] of this.#progress) this.#file.add({ storeId, progress }, true)
    return this.#file
  }

  #removeOldest(): void {
    const { disk } = this.#owner
    const runs = disk.list(this.#directory).filter((run) => run !== this.#before)
    const timeOf = (run: string): number => disk.stat(`${this.#directory}/${run}`)?.mtimeMs ?? 0
    const newest = runs.toSorted((a, b) => timeOf(b) - timeOf(a))
    for (const run of newest.slice(RUNS_MAX - 1)) disk.remove(`${this.#directory}/${run}`)
  }
}

/** The file of one run. */
class RunFile {
  readonly run: string
  readonly #owner: CacheOwner
  readonly #fd: number
  #bytes = 0
  /** The entries in it, and those that are not of its beginning. */
  count = 0
  added = 0

  static make(owner: CacheOwner, directory: string): RunFile {
    const run = toHex(owner.random(RUN_BYTES))
    return new RunFile(owner, run, owner.disk.open(`${directory}/${run}`, 'wx'))
  }

  private constructor(owner: CacheOwner, run: string, fd: number) {
    this.run = run
    this.#owner = ownerOf(owner, run)
    this.#fd = fd
  }

  add(entry: ProgressEntry, isBeginning = false): void {
    const sealed = sealCache(this.#owner, placeOf(this.count), utf8(JSON.stringify(entry)))
    const bytes = concatBytes(lengthOf(sealed), sealed)
    this.#owner.disk.write(this.#fd, bytes, this.#bytes)
    this.#bytes += bytes.length
    this.count += 1
    if (!isBeginning) this.added += 1
  }

  close(): void {
    this.#owner.disk.close(this.#fd)
  }
}

/** The entries before the first that is cut off or damaged; undefined without a file. */
function readRun(
  owner: CacheOwner,
  directory: string,
  run: string,
): readonly ProgressEntry[] | undefined {
  const bytes = owner.disk.readFile(`${directory}/${run}`)
  if (bytes === undefined) return undefined
  const entries: ProgressEntry[] = []
  for (let at = 0; at + LENGTH_BYTES <= bytes.length;) {
    const start = at + LENGTH_BYTES
    at = start + lengthAt(bytes, at)
    try {
      const plain = openCache(
        ownerOf(owner, run),
        placeOf(entries.length),
        bytes.subarray(start, at),
      )
      // Authenticated as this device's: it has the shape that we write.
      entries.push(JSON.parse(utf8Text(untilPadding(plain))))
    } catch (error) {
      if (hasNoValue(error)) break
      throw error
    }
  }
  return entries
}

/** The run stands where the store id does, so that the seal fails for the file of another one. */
function ownerOf(owner: CacheOwner, run: string): CacheOwner {
  return { ...owner, storeId: toHex(hash256(utf8(`audit ${run}`)).subarray(0, 16)) }
}

function placeOf(number: number): SealPlace {
  return { role: 'cursor', generation: number }
}

function unknownCursor(): StoreError {
  return new StoreError(
    'invalid_input',
    'The cursor is of no export from here, or the state directory lacks its file: continue after ' +
      'a newer line, or leave out --since, which repeats everything',
  )
}
