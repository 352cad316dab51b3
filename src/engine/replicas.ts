// The replicas of one server process, in a directory that no other process uses: `<root>/<n>`, the
// first one that is free, so that a restarted server finds its own again. All can be made anew.
// Owns which of them are removed: those of deleted stores, those that a redaction has left behind,
// and the oldest ones beyond a size.

import type { Random } from '../crypto/random.ts'
import { type Disk, makeDurableDirectory } from '../disk/disk.ts'
import { filesBelow } from '../disk/file-sweep.ts'
import { holdForLife } from '../disk/hold-for-life.ts'
import { LockIdentity, ProcessLock, sweepOwners } from '../disk/process-lock.ts'
import { hasCode, StoreError } from '../errors.ts'
import { findId } from '../format/id.ts'
import { replicaAtRest } from '../git/replica/replica-repository.ts'
import { MEBIBYTE } from '../limits.ts'
import type { SqlLogs } from './sql-log.ts'

/** Processes of one machine that share a root. */
const PROCESSES_MAX = 1000
const SWEEP_MS = 60_000
/** Replicas that are looked at before other work runs. */
const SWEEP_BATCH = 64
export const replicaBytesDefault: number = 10 * 1024 * MEBIBYTE

export interface ReplicasOptions {
  readonly disk: Disk
  readonly random: Random
  readonly root: string
  /** The most bytes of replicas that are not open. */
  readonly bytesMax: number
  readonly logs: SqlLogs
}

interface RestingReplica {
  readonly storeId: string
  /** The newest entry that it holds. */
  readonly number: number
  readonly closedAt: number
  readonly bytes: number
}

export class Replicas {
  readonly #options: ReplicasOptions
  readonly #directory: string
  readonly #release: () => Promise<void>
  readonly #timer: NodeJS.Timeout
  #isClosing = false
  #sweeping: Promise<void> = Promise.resolve()
  /** Those of the sweep before: their sizes are known while they rest. */
  #resting: ReadonlyMap<string, RestingReplica> = new Map()

  /** Throws a storage code. */
  static async open(options: ReplicasOptions): Promise<Replicas> {
    const { disk, root, random } = options
    for (let number = 0; number < PROCESSES_MAX; number += 1) {
      const directory = `${root}/${number}`
      const release = await tryToHold(disk, directory, random)
      if (release === undefined) continue
      const replicas = new Replicas(options, directory, release)
      replicas.#removeLeft()
      // Erased texts must not wait on the disk of a server that was stopped.
      replicas.#sweep()
      return replicas
    }
    throw new StoreError('locked', 'Too many servers use this directory of replicas')
  }

  private constructor(options: ReplicasOptions, directory: string, release: () => Promise<void>) {
    this.#options = options
    this.#directory = directory
    this.#release = release
    this.#timer = setInterval(() => this.#sweep(), SWEEP_MS).unref()
  }

  placeOf(storeId: string): string {
    return `${this.#directory}/${storeId}`
  }

  /** Where sessions keep what they note on this machine, unless it is kept elsewhere. */
  get stateDirectory(): string {
    return `${this.#directory}/state`
  }

  remove(storeId: string): void {
    this.#options.disk.removeTree(this.placeOf(storeId))
  }

  async close(): Promise<void> {
    this.#isClosing = true
    clearInterval(this.#timer)
    await this.#sweeping
    await this.#release()
  }

  /** Those that a process had open when it died. */
  #removeLeft(): void {
    for (const storeId of this.#storeIds()) {
      if (replicaAtRest(this.#options.disk, this.placeOf(storeId)) === undefined) {
        this.remove(storeId)
      }
    }
  }

  #sweep(): void {
    // The next round tries again.
    this.#sweeping = this.#sweepAtRest().catch(() => undefined)
  }

  async #sweepAtRest(): Promise<void> {
    const storeIds = this.#storeIds()
    const resting: RestingReplica[] = []
    for (let from = 0; from < storeIds.length; from += SWEEP_BATCH) {
      if (this.#isClosing) return
      resting.push(...(await this.#sweepSome(storeIds.slice(from, from + SWEEP_BATCH))))
    }
    this.#resting = new Map(resting.map((one) => [one.storeId, one]))
    let bytes = resting.reduce((sum, one) => sum + one.bytes, 0)
    for (const one of resting.toSorted((a, b) => a.closedAt - b.closedAt)) {
      if (bytes <= this.#options.bytesMax) return
      this.#removeAtRest(one.storeId)
      bytes -= one.bytes
    }
  }

  /** Removes outdated ones, and returns the others. Asks the engine once. */
  async #sweepSome(storeIds: readonly string[]): Promise<readonly RestingReplica[]> {
    const found = storeIds.flatMap((storeId) => this.#atRest(storeId))
    const { logs } = this.#options
    const positions = await Promise.all(found.map(({ storeId }) => logs.position(storeId)))
    return found.filter(({ storeId, number }, index) => {
      const position = positions[index]
      // Below a base, it may hold what a redaction has erased.
      const isCurrent = position !== undefined && position.base <= number
      if (!isCurrent) this.#removeAtRest(storeId)
      return isCurrent
    })
  }

  #atRest(storeId: string): readonly RestingReplica[] {
    const { disk } = this.#options
    const place = this.placeOf(storeId)
    const rest = replicaAtRest(disk, place)
    if (rest === undefined) return []
    const known = this.#resting.get(storeId)
    const bytes = known?.closedAt === rest.closedAt ? known.bytes : bytesBelow(disk, place)
    return [{ storeId, bytes, ...rest }]
  }

  /** Unless it has been opened in the meantime. */
  #removeAtRest(storeId: string): void {
    const isAtRest = replicaAtRest(this.#options.disk, this.placeOf(storeId)) !== undefined
    if (isAtRest) this.remove(storeId)
  }

  #storeIds(): readonly string[] {
    const names = this.#options.disk.list(this.#directory)
    return names.filter((name) => findId('store', name) !== undefined)
  }
}

/** Undefined if another process has the directory. */
async function tryToHold(
  disk: Disk,
  directory: string,
  random: Random,
): Promise<(() => Promise<void>) | undefined> {
  const locks = `${directory}/gitlocket`
  await makeDurableDirectory(disk, locks)
  const identity = new LockIdentity(disk, locks, random)
  const path = `${locks}/server.lock`
  const lock = new ProcessLock({ disk, identity, path, random, purpose: 'server' })
  try {
    const unlock = await holdForLife(lock)
    await sweepOwners(disk, locks)
    return async () => {
      await unlock()
      lock.abandon()
      await identity.remove()
    }
  } catch (error) {
    await identity.remove()
    if (hasCode(error, 'locked')) return undefined
    throw error
  }
}

function bytesBelow(disk: Disk, directory: string): number {
  return filesBelow(disk, directory).reduce((sum, path) => sum + (disk.stat(path)?.size ?? 0), 0)
}
