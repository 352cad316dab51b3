// The one place that writes. Commands queue here; the first one takes the writer lock, and all
// commands that wait by then share one write to disk (group commit), each still its own commit. A
// command's promise resolves only once its commit is durable.

import type { Transition } from '../../git/object-store.ts'
import type { NewObject } from '../../git/objects/object.ts'
import { MEBIBYTE } from '../../limits.ts'
import { TimeSlice } from '../../time-slice.ts'
import type { BuiltCommit } from '../commits/commit.ts'
import type { CurrentState } from './current-state.ts'
import type { Upkeep } from './upkeep.ts'

/** Commands that share one fdatasync at most, by number and by bytes. */
const BATCH_MAX = 128
const BATCH_BYTES_MAX = 4 * MEBIBYTE

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

export class Writer {
  readonly #state: CurrentState
  readonly #upkeep: Upkeep
  #queue: QueuedCommand[] = []
  #isHeld = false
  #running: Promise<void> | undefined

  constructor(state: CurrentState, upkeep: Upkeep) {
    this.#state = state
    this.#upkeep = upkeep
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
    try {
      await this.#state.alone(async () => {
        await this.#state.catchUp()
        await this.#writeBatch()
      })
    } catch (error) {
      // Without the lock or a trustworthy head, no queued command can run.
      for (const command of this.#queue.splice(0)) command.reject(error)
    }
  }

  async #writeBatch(): Promise<void> {
    const accepted: QueuedCommand[] = []
    const made: BuiltCommit[] = []
    const transitions: Transition[] = []
    const before = this.#state.now
    let bytes = 0
    const slice = new TimeSlice()
    while (accepted.length < BATCH_MAX && bytes < BATCH_BYTES_MAX) {
      const command = this.#next(accepted)
      if (command === undefined) break
      if (slice.isOver()) await slice.next()
      const { now } = this.#state
      try {
        const built = await command.run()
        if (built !== undefined) {
          made.push(built)
          this.#state.moveTo(built)
          this.#state.addToBatch(built.objects)
          const { objects, dead, snapshot } = built
          const expected = now.snapshot.head.commit
          const next = snapshot.head.commit
          transitions.push({ objects, expected, next, ...(dead && { dead }) })
          bytes += sizeOf(built.objects)
        }
        accepted.push(command)
      } catch (error) {
        // A command of several commits may have moved the state by some of them.
        this.#state.moveTo(now)
        command.reject(error)
      }
    }
    try {
      await this.#store(transitions, made, accepted).catch((error: unknown) => {
        this.#state.moveTo(before)
        for (const command of accepted) command.reject(error)
      })
    } finally {
      this.#state.endBatch()
    }
  }

  /** Undefined if the batch is complete. */
  #next(accepted: readonly QueuedCommand[]): QueuedCommand | undefined {
    const index = this.#nextIndex()
    const next = this.#queue[index]
    if (accepted[0]?.alone === true || (next?.alone === true && accepted.length > 0)) {
      return undefined
    }
    if (next !== undefined) this.#queue.splice(index, 1)
    return next
  }

  /** -1 if there is no command that may run. */
  #nextIndex(): number {
    return this.#queue.findIndex(({ alone }) => alone || !this.#isHeld)
  }

  async #store(
    transitions: readonly Transition[],
    made: readonly BuiltCommit[],
    accepted: readonly QueuedCommand[],
  ): Promise<void> {
    if (transitions.length > 0) await this.#state.objects.commit(transitions)
    for (const command of accepted) command.resolve()
    this.#upkeep.written(made)
  }
}

function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}

function sizeOf(objects: readonly NewObject[]): number {
  return objects.reduce((sum, object) => sum + object.body.length, 0)
}
