// One machine of the soak: its clone, the lines that it wrote, and its work, which pauses while the
// process is killed and the store opened again.

import { seededChoice } from '../bench/workload.ts'
import { Lines } from '../load/lines.ts'
import type { ClonePlace, Request } from './child.ts'
import { CloneProcess, Failed, Killed, type Pulse } from './clone.ts'

/** Something acknowledged is missing, or a command failed without a reason. */
export class Loss extends Error {
  override readonly name = 'Loss'
}

/** Codes that a sync may meet because of the other clone; it is tried again later. */
const passing: ReadonlySet<string | undefined> = new Set(['remote_moved', 'locked'])
const syncEveryMs = 7000
const memoriesEach = 100
const lineBytesMax = 4000

interface Pace {
  readonly seed: string
  /** Concurrent commands, and milliseconds of rest between two of them. */
  readonly lanes: number
  readonly restMs: number
  readonly onPulse: (pulse: Pulse) => void
}

export class Side {
  readonly place: ClonePlace
  readonly lines = new Lines()
  readonly #name: string
  readonly #pace: Pace
  #process: Promise<CloneProcess>
  #isStopped = false
  commands = 0
  syncs = 0
  #handles = 0

  private constructor(name: string, place: ClonePlace, pace: Pace, process: CloneProcess) {
    this.#name = name
    this.place = place
    this.#pace = pace
    this.#process = Promise.resolve(process)
  }

  static async start(name: string, place: ClonePlace, pace: Pace): Promise<Side> {
    return new Side(name, place, pace, await CloneProcess.start(place, pace.onPulse))
  }

  /** Works concurrently until `stop`. Rejects with Loss. */
  async work(): Promise<void> {
    const lanes = Array.from({ length: this.#pace.lanes }, (_, lane) => this.#write(lane))
    await Promise.all([...lanes, this.#sync()])
  }

  stop(): void {
    this.#isStopped = true
  }

  /** Kills the process, opens the store again and compares; the lanes wait for that. */
  async kill(): Promise<void> {
    const before = await this.#process
    this.#process = this.#restart(before)
    await this.#process
  }

  /** Repeats the request if the process was killed. */
  async ask(request: Request): Promise<unknown> {
    for (;;) {
      try {
        return await (await this.#process).ask(request)
      } catch (error) {
        if (!(error instanceof Killed)) throw error
        await rest(10)
      }
    }
  }

  /** Nothing may be written meanwhile. */
  async checkLinesOf(writer: Side): Promise<void> {
    writer.#check(this.#name, await this.ask({ type: 'lines' }))
  }

  countHandles(): number {
    return this.#handles
  }

  /** Each lane has memories of its own, and each eighth line goes to one that all share. */
  async #write(lane: number): Promise<void> {
    const choose = seededChoice(`${this.#pace.seed} ${this.#name} ${lane}`)
    for (let count = 0; !this.#isStopped; count += 1) {
      const isShared = choose(8) === 0
      const own = `/${this.#name}/${lane}/${choose(memoriesEach)}.md`
      const path = isShared ? `/shared/${choose(20)}.md` : own
      const text = 'x'.repeat(choose(lineBytesMax))
      const line = `${this.#name} ${lane} ${count} ${text}`
      const isWritten = await this.#change({ type: 'write', path, line }, [line])
      if (isWritten && !isShared && choose(3) === 0) {
        const to = `${this.#name} ${lane} ${count}, replaced ${text}`
        await this.#change({ type: 'replace', path, from: line, to }, [to], [line])
      }
      await this.#change({ type: 'view', path: choose(10) === 0 ? '' : own })
      if (choose(50) === 0) await this.#change({ type: 'versions' })
      if (isWritten && choose(50) === 0 && !isShared) {
        await this.#change({ type: 'rename', from: path, to: `${path}.${count}` })
      }
      await rest(this.#pace.restMs)
    }
  }

  /** False if the process was killed before it answered. */
  async #change(
    request: Request,
    added: readonly string[] = [],
    removed: readonly string[] = [],
  ): Promise<boolean> {
    const process = await this.#process
    for (const line of [...added, ...removed]) this.lines.note(line, 'lost')
    try {
      await process.ask(request)
    } catch (error) {
      // A memory that is viewed may not exist.
      if (error instanceof Killed || request.type === 'view') return false
      throw new Loss(`${this.#name}: ${request.type} failed: ${String(error)}`)
    }
    for (const line of added) this.lines.note(line, 'acknowledged')
    for (const line of removed) this.lines.note(line, 'refused')
    this.commands += 1
    return true
  }

  async #sync(): Promise<void> {
    while (!this.#isStopped) {
      await rest(syncEveryMs)
      try {
        const process = await this.#process
        this.#handles = process.countHandles() ?? 0
        await process.ask({ type: 'sync' })
        this.syncs += 1
      } catch (error) {
        if (error instanceof Killed) continue
        if (!(error instanceof Failed) || !passing.has(error.code)) {
          throw new Loss(`${this.#name}: sync failed: ${String(error)}`)
        }
      }
    }
  }

  async #restart(before: CloneProcess): Promise<CloneProcess> {
    await before.kill()
    const process = await CloneProcess.start(this.place, this.#pace.onPulse)
    this.#check(this.#name, await process.ask({ type: 'lines' }))
    return process
  }

  /** Compares the lines of this side with those that were found at `where`. */
  #check(where: string, found: unknown): void {
    const all = Array.isArray(found) ? found.map(String) : []
    const problems = this.lines.problems(all.filter((line) => line.startsWith(`${this.#name} `)))
    const shown = problems.slice(0, 5).map((problem) => problem.replace(/x{9,}/, '…'))
    if (problems.length > 0)
      throw new Loss(`${this.#name}'s lines at ${where}: ${shown.join('; ')}`)
  }
}

export function rest(ms: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, Math.max(0, ms))
  })
}
