// What the clone of a grant's holder keeps of the device that gave the grant: its wraps, which open
// the store, and its start, where the history here begins. Both are as they came: sealed for the
// holder and signed by that device. A clone that begins anew (decision 0066) has two starts for a
// moment: the branch decides which one is in force.

import { atomicWrite, type Disk, makeDurableDirectory } from '../../disk/disk.ts'
import { systemDisk } from '../../disk/system-disk.ts'
import { hasCode, StoreError } from '../../errors.ts'
import { parseLinks } from '../../format/commit.ts'
import type { Start } from '../../format/start.ts'
import type { Oid } from '../../git/objects/object.ts'
import type { HeldAccess } from '../../keys/identity.ts'
import { kidOfStart, openStart } from '../../keys/start.ts'
import { decodeWraps } from '../../keys/wraps.ts'
import { atOnce } from '../../time-slice.ts'
import { containsCommit } from '../commits/ancestors.ts'
import { readCommitBytes } from '../commits/decoded-commit.ts'
import { beforeBeginning } from '../history/beginning-entry.ts'
import { hasObject, type ObjectSource } from '../snapshot/git-reads.ts'
import { type CloneBeginning, beginningOf, checkGranted, floorOf } from '../verify/beginning.ts'
import type { StoreEnvironment, StorePlaces } from './open-options.ts'
import type { StoreSource } from './store-id.ts'

/** Begins the name of a file with wraps; the id of their epoch follows. */
const WRAPS = 'wraps-'
/** Not the temporary files of a write that is going on, or was cut off. */
const wrapsFile = new RegExp(`^${WRAPS}[0-9a-f]{32}$`)

export class GrantedFiles {
  readonly #disk: Disk
  readonly #directory: string
  readonly #start: string
  readonly #next: string

  constructor(options: Pick<StorePlaces, 'directory'> & StoreEnvironment) {
    this.#disk = options.disk ?? systemDisk
    this.#directory = `${options.directory}/gitlocket`
    this.#start = `${this.#directory}/start`
    this.#next = `${this.#directory}/start-next`
  }

  /**
   * Wraps that were opened before. Those of other epochs are kept: a branch that is not moved yet
   * is opened with the earlier ones, and a remote may show them again. Call it with the writer
   * lock: another process of the clone may keep the same.
   */
  async keepWraps(wraps: Uint8Array): Promise<void> {
    await makeDurableDirectory(this.#disk, this.#directory)
    await atomicWrite(this.#disk, `${this.#directory}/${WRAPS}${decodeWraps(wraps).kid}`, wraps)
  }

  /** A start that was opened before. */
  async keepStart(start: Uint8Array): Promise<void> {
    await makeDurableDirectory(this.#disk, this.#directory)
    await atomicWrite(this.#disk, this.#start, start)
  }

  /** The start that this clone began with, if it lacks earlier history. */
  readStart(source: StoreSource, held: HeldAccess): Start {
    return openKept(source, this.#disk.readFile(this.#start), held)
  }

  /** Whether this clone lacks both its earlier history and the start that tells where it begins. */
  isDamaged(source: StoreSource, held: HeldAccess): boolean {
    const kept = this.#disk.readFile(this.#start)
    const isWhole = kept === undefined && source.objects.exchange.shallow().length === 0
    if (isWhole || this.hasMoved(source, held)) return false
    try {
      return !hasObject(source.objects, openKept(source, kept, held).state.commit)
    } catch (error) {
      if (hasCode(error, 'baseline_malformed')) return true
      throw error
    }
  }

  /** A start that takes the place of the kept one once the branch has moved to its state. */
  async keepNextStart(start: Uint8Array): Promise<void> {
    await makeDurableDirectory(this.#disk, this.#directory)
    await atomicWrite(this.#disk, this.#next, start)
  }

  /** Whether a start waits, because a clone begins anew or a process died while it did. */
  get hasNextStart(): boolean {
    return this.#disk.stat(this.#next) !== undefined
  }

  /** Whether a start waits that the branch has moved to. */
  hasMoved(source: StoreSource, held: HeldAccess): boolean {
    return this.#findNext(source, held) !== undefined
  }

  /** Puts the start that waits in place of the kept one, or removes it. Under the writer lock. */
  async settleNextStart(hasMoved: boolean): Promise<void> {
    if (!this.hasNextStart) return
    if (hasMoved) this.#disk.rename(this.#next, this.#start)
    else this.#disk.remove(this.#next)
    await this.#disk.syncDirectory(this.#directory)
  }

  /** The clone has the whole history. */
  async forgetStart(): Promise<void> {
    this.#disk.remove(this.#start)
    await this.#disk.syncDirectory(this.#directory)
  }

  /** Throws `grant_expired` unless the grant of an identity holds at a state, at a time. */
  check(...asked: Parameters<typeof checkGranted>): void {
    checkGranted(...asked)
  }

  /** The kept wraps. */
  findWraps(): readonly Uint8Array[] {
    const kept = this.#disk.list(this.#directory).filter((name) => wrapsFile.test(name))
    return kept.flatMap((name) => this.#disk.readFile(`${this.#directory}/${name}`) ?? [])
  }

  /** Opens the kept wraps. Throws `wrong_key` if they are missing, and what `learn` throws. */
  learn(held: HeldAccess): void {
    const wraps = this.findWraps()
    if (wraps.length === 0) {
      throw new StoreError(
        'wrong_key',
        'The directory holds a store that was not begun with a grant: unset GITLOCKET_GRANT to ' +
          'open it, or name another directory with GITLOCKET_STORE',
      )
    }
    try {
      for (const one of wraps) held.learn(one)
    } catch (error) {
      if (!hasCode(error, 'grant_keys_missing', 'device_signature_invalid')) throw error
      // Wraps are kept only once they have opened for the grant of the clone.
      throw new StoreError(
        'wrong_key',
        'The directory holds the clone of another grant, or its files are damaged: send what it ' +
          'has with that grant, and delete it, or name another directory with GITLOCKET_STORE',
        { cause: error },
      )
    }
  }

  /** Where the history begins, opened when it is asked for; undefined for a whole one. */
  findBeginning(source: StoreSource, held: HeldAccess): CloneBeginning | undefined {
    // Read now: another process may fetch all of the history, and remove the file.
    let kept = this.#disk.readFile(this.#start)
    const isWhole = kept === undefined && source.objects.exchange.shallow().length === 0
    if (isWhole && !this.hasNextStart) return undefined
    let begun: CloneBeginning | undefined
    const read = (): CloneBeginning => {
      begun ??= this.#readBeginning(source, kept, held)
      kept = undefined
      return begun
    }
    return {
      get snapshot() {
        return read().snapshot
      },
      get deviceId() {
        return read().deviceId
      },
      get time() {
        return read().time
      },
      get state() {
        return read().state
      },
      get start() {
        return read().start
      },
    }
  }

  #findNext(source: StoreSource, held: HeldAccess): Start | undefined {
    const bytes = this.#disk.readFile(this.#next)
    if (bytes === undefined) return undefined
    try {
      const start = readStart(source, bytes, held)
      return isInBranch(source, start) ? start : undefined
    } catch (error) {
      // An older branch may lack the keys that it is sealed under.
      if (error instanceof StoreError) return undefined
      throw error
    }
  }

  #readBeginning(
    source: StoreSource,
    kept: Uint8Array | undefined,
    held: HeldAccess,
  ): CloneBeginning {
    const start = this.#findNext(source, held) ?? openKept(source, kept, held)
    return atOnce(reachesFloor(source, start) ? floorOf(source, start) : beginningOf(source, start))
  }
}

function openKept(source: StoreSource, kept: Uint8Array | undefined, held: HeldAccess): Start {
  try {
    if (kept === undefined) throw beforeBeginning()
    return readStart(source, kept, held)
  } catch (error) {
    if (!(error instanceof StoreError)) throw error
    throw new StoreError(
      'baseline_malformed',
      'The start of this clone, a file that tells where its history begins, is damaged: ' +
        '`gitlocket sync` fetches another one, or `gitlocket fetch --all` all of the history',
      { cause: error },
    )
  }
}

/** Whether the history of the branch has the state of a start. */
export function isInBranch({ objects }: StoreSource, { state }: Start): boolean {
  const { head } = objects
  if (head === undefined || !hasObject(objects, state.commit)) return false
  try {
    return atOnce(containsCommit(objects, head, state.commit))
  } catch (error) {
    // An older branch ends above it.
    if (hasCode(error, 'object_missing')) return false
    throw error
  }
}

/** Whether all commits above the floor are stored: a short branch may reach it before others. */
function reachesFloor({ objects }: StoreSource, { floor }: Start): boolean {
  if (floor === undefined || !hasObject(objects, floor.commit)) return false
  return objects.exchange.shallow().every((oid) => {
    return !hasObject(objects, oid) || heightOf(objects, oid) <= floor.height
  })
}

function heightOf(objects: ObjectSource, oid: Oid): number {
  return parseLinks(readCommitBytes(objects, oid)).height
}

/** Opens a start of the granter with the epoch that it is sealed under. */
export function readStart(
  { epochs }: Pick<StoreSource, 'epochs'>,
  bytes: Uint8Array,
  { granterKey, storeId }: HeldAccess,
): Start {
  const epoch = epochs.get(kidOfStart(bytes))
  if (epoch !== undefined) return openStart(bytes, epoch, granterKey, storeId)
  throw new StoreError('envelope_epoch', 'A start is sealed under keys that are not known here')
}
