// Runs the passes of a mirror one at a time among all processes of this machine: a watcher, a hook
// and a command may work on the same directory. What another process has noted is read again.

import { setTimeout as sleep } from 'node:timers/promises'
import { systemRandom } from '../../crypto/random.ts'
import { makeDurableDirectory } from '../../disk/disk.ts'
import { LockIdentity, ProcessLock, sweepOwners } from '../../disk/process-lock.ts'
import { systemDisk } from '../../disk/system-disk.ts'
import { StoreError } from '../../errors.ts'
import { lockWaitMsDefault } from '../../limits.ts'
import { Folder } from './folder.ts'
import { emptyState, type MirrorState } from './mirror-state.ts'
import type { PassOptions, PassParts } from './pass-work.ts'
import { MirrorPasses, type PassReport } from './pass.ts'
import { ruleOf } from './survey.ts'

export interface RunnerParts extends Omit<PassParts, 'folder'> {
  readonly stateDirectory: string
}

/** How long a command waits for files that are written all the time. */
const PASSES_MAX = 40
const PAUSE_MS = 150

export class MirrorRunner {
  readonly #parts: RunnerParts
  readonly #passes: MirrorPasses
  readonly #identity: LockIdentity
  readonly #lock: ProcessLock
  readonly #directory: string
  #state: MirrorState | undefined

  constructor(parts: RunnerParts) {
    const { mirror, stateDirectory } = parts
    const { directory, id } = mirror
    const [disk, random] = [systemDisk, systemRandom]
    const folder = new Folder({ directory, id, rule: ruleOf(mirror), disk, random })
    this.#parts = parts
    this.#passes = new MirrorPasses({ ...parts, folder })
    this.#directory = `${stateDirectory}/mirrors/${id}`
    this.#identity = new LockIdentity(disk, this.#directory, random)
    const [path, mark] = [`${this.#directory}/lock`, `${this.#directory}/last`]
    this.#lock = new ProcessLock({
      disk,
      identity: this.#identity,
      path,
      mark,
      random,
      purpose: 'mirror',
    })
  }

  /** One pass. Throws `locked` if another process does not end its own. */
  async run(options: PassOptions = {}): Promise<PassReport> {
    await makeDurableDirectory(systemDisk, this.#directory)
    return this.#lock.hold(lockWaitMsDefault, async (isSame) => {
      const { files, mirror } = this.#parts
      if (!isSame) {
        await sweepOwners(systemDisk, this.#directory)
        this.#state = undefined
      }
      this.#state ??= files.findState(mirror.id) ?? emptyState()
      try {
        return await this.#passes.run(this.#state, options)
      } catch (error) {
        // What it holds may be half of a pass.
        this.#state = undefined
        throw error
      }
    })
  }

  /** Passes until both sides are equal and files have settled. */
  async settle(options: PassOptions = {}): Promise<PassReport> {
    let sum = await this.run(options)
    for (let passes = 1; sum.isUnfinished && passes < PASSES_MAX; passes += 1) {
      await sleep(PAUSE_MS, undefined, { signal: options.signal }).catch(() => {
        throw new StoreError('cancelled', 'Cancelled')
      })
      sum = added(sum, await this.run(options))
    }
    return sum
  }

  async close(): Promise<void> {
    this.#lock.abandon()
    await this.#identity.remove()
  }
}

function added(a: PassReport, b: PassReport): PassReport {
  return {
    saved: a.saved + b.saved,
    deleted: a.deleted + b.deleted,
    written: a.written + b.written,
    removed: a.removed + b.removed,
    notes: b.notes,
    isUnfinished: b.isUnfinished,
  }
}
