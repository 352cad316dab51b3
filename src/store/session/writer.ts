// The one place that writes. Commands queue here; the first one takes the writer lock, and all
// commands that wait by then share one write to disk (group commit), each still its own commit. A
// command's promise resolves only once its commit is durable, and rejects only once the commits are
// that it was refused after. Where several servers share the store, a batch that lost a race is
// made again on the new head.

import type { Clock } from '../../clock.ts'
import { LostRace, type Transition } from '../../git/object-store.ts'
import type { NewObject } from '../../git/objects/object.ts'
import { MEBIBYTE } from '../../limits.ts'
import { afterOthers } from '../../platform/timers.ts'
import { TimeSlice } from '../../time-slice.ts'
import type { BuiltCommit } from '../commits/commit.ts'
import type { CurrentState } from './current-state.ts'
import type { Upkeep } from './upkeep.ts'

/** Commands that share one fdatasync at most, by number and by bytes. */
const BATCH_MAX = 128
const BATCH_BYTES_MAX = 4 * MEBIBYTE
/** How long a batch is made again after lost races, until it is refused as `locked`. */
const RACING_MS = 10_000

/** Makes the commit of one command on the newest head; undefined if it changes nothing. */
export type Build<T> = () => Promise<{
  readonly built: BuiltCommit | undefined
  readonly result: T
}>

interface QueuedCommand {
  /** Shares no batch with others. */
  readonly alone: boolean
  run(): Promise<BuiltCommit | undefined>
  resolve(): void
  reject(error: unknown): void
}

/** Commands that are decided together. */
interface CommandBatch {
  /** In their order. */
  readonly commands: QueuedCommand[]
  readonly accepted: Set<QueuedCommand>
  /** Why others are refused, and whether that was on a state that this batch has made. */
  readonly refused: Map<QueuedCommand, { readonly error: unknown; readonly isOnBatch: boolean }>
  readonly made: BuiltCommit[]
  readonly transitions: Transition[]
}

export class Writer {
  readonly #state: CurrentState
  readonly #upkeep: Upkeep
  readonly #clock: Clock
  #queue: QueuedCommand[] = []
  #isHeld = false
  #running: Promise<void> | undefined
  /** Since when batches have lost races, one after another. */
  #racingSince: number | undefined

  constructor(state: CurrentState, upkeep: Upkeep, clock: Clock) {
    this.#state = state
    this.#upkeep = upkeep
    this.#clock = clock
  }

  /** With `alone`, no other command is in the batch: what it builds on is on disk. */
  submit<T>(build: Build<T>, alone = false): Promise<T> {
    return new Promise((resolve, reject) => {
      let result: T
      this.#queue.push({
        alone,
        async run() {
          const made = await build()
          result = made.result
          return made.built
        },
        resolve: () => resolve(result),
        reject,
      })
      this.#start()
    })
  }

  /** Until `goOn`, only commands that run alone are run, as those of a sync; others are held. */
  hold(): void {
    this.#isHeld = true
  }

  goOn(): void {
    this.#isHeld = false
    this.#start()
  }

  /** Resolves when all commands submitted before are done, except those that are held. */
  async settled(): Promise<void> {
    if (this.#running === undefined) return
    await this.submit(async () => ({ built: undefined, result: undefined }), true)
  }

  /** Resolves when nothing is queued or running. */
  async idle(): Promise<void> {
    while (this.#running !== undefined) await this.#running
  }

  #start(): void {
    if (this.#nextIndex() >= 0) this.#running ??= this.#drain()
  }

  /** Call only if there is a command that may run. */
  async #drain(): Promise<void> {
    try {
      while (this.#nextIndex() >= 0) {
        // Commands whose requests have arrived already join this batch. A batch may be written
        // without a wait: a caller that writes one after another must not keep all else from
        // running.
        await nextTurn()
        await this.#lockAndWrite()
      }
    } finally {
      this.#running = undefined
    }
  }

  async #lockAndWrite(): Promise<void> {
    // Long work would lose every race against servers that write little.
    const isLong = this.#queue[this.#nextIndex()]?.alone === true
    try {
      await this.#state.alone(async () => {
        await this.#state.catchUp()
        await this.#writeBatch()
      }, isLong)
    } catch (error) {
      // Without the lock or a trustworthy head, no queued command can run.
      for (const command of this.#queue.splice(0)) command.reject(error)
    }
  }

  async #writeBatch(): Promise<void> {
    const batch: CommandBatch = {
      commands: [],
      accepted: new Set(),
      refused: new Map(),
      made: [],
      transitions: [],
    }
    const before = this.#state.now
    let bytes = 0
    const slice = new TimeSlice()
    while (batch.accepted.size < BATCH_MAX && bytes < BATCH_BYTES_MAX) {
      const command = this.#next(batch.commands)
      if (command === undefined) break
      batch.commands.push(command)
      if (slice.isOver()) await slice.next()
      bytes += await this.#run(command, batch)
    }
    try {
      if (batch.transitions.length > 0) await this.#state.objects.commit(batch.transitions)
      this.#settle(batch)
    } catch (error) {
      this.#state.moveTo(before)
      this.#giveUp(batch, error)
    } finally {
      this.#state.endBatch()
    }
  }

  /** Runs one command on the state of those before it. Returns the bytes of its objects. */
  async #run(command: QueuedCommand, batch: CommandBatch): Promise<number> {
    const { now } = this.#state
    try {
      const built = await command.run()
      batch.accepted.add(command)
      if (built === undefined) return 0
      const { objects, dead, snapshot } = built
      batch.made.push(built)
      this.#state.moveTo(built)
      this.#state.addToBatch(objects)
      const expected = now.snapshot.head.commit
      const next = snapshot.head.commit
      batch.transitions.push({ objects, expected, next, ...(dead && { dead }) })
      return sizeOf(objects)
    } catch (error) {
      // A command of several commits may have moved the state by some of them.
      this.#state.moveTo(now)
      batch.refused.set(command, { error, isOnBatch: batch.made.length > 0 })
      return 0
    }
  }

  /** The batch is durable. */
  #settle({ commands, accepted, refused, made }: CommandBatch): void {
    this.#racingSince = undefined
    for (const command of commands) {
      if (accepted.has(command)) command.resolve()
      else command.reject(refused.get(command)?.error)
    }
    this.#upkeep.written(made)
  }

  /** The batch was not written, so that a refusal on its state was never true. */
  #giveUp({ commands, refused }: CommandBatch, error: unknown): void {
    if (error instanceof LostRace) {
      this.#racingSince ??= this.#clock()
      if (this.#clock() - this.#racingSince < RACING_MS) {
        this.#queue.unshift(...commands)
        return
      }
      this.#racingSince = undefined
    }
    for (const command of commands) {
      const refusal = refused.get(command)
      command.reject(refusal === undefined || refusal.isOnBatch ? error : refusal.error)
    }
  }

  /** Undefined if the batch is complete. */
  #next(taken: readonly QueuedCommand[]): QueuedCommand | undefined {
    const index = this.#nextIndex()
    const next = this.#queue[index]
    if (taken[0]?.alone === true || (next?.alone === true && taken.length > 0)) {
      return undefined
    }
    if (next !== undefined) this.#queue.splice(index, 1)
    return next
  }

  /** -1 if there is no command that may run. */
  #nextIndex(): number {
    return this.#queue.findIndex(({ alone }) => alone || !this.#isHeld)
  }
}

function nextTurn(): Promise<void> {
  return new Promise((resolve) => afterOthers(resolve))
}

function sizeOf(objects: readonly NewObject[]): number {
  return objects.reduce((sum, object) => sum + object.body.length, 0)
}
