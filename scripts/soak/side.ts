// One machine of the soak: its clone, its acknowledged state, and its work, which pauses while the
// process is killed and the store opened again.

import { CloneProcess, Failed, Killed } from './clone.ts'
import type { Answers, Pulse, Request } from './message.ts'
import { effectOf, Model, toolPath } from './model.ts'
import type { ClonePlace } from './soak-child.ts'
import { hashOf } from './text-hash.ts'
import type { Workload } from './workload.ts'

/** Something acknowledged is missing, or a command failed without a reason. */
export class Loss extends Error {
  override readonly name = 'Loss'
}

/** Codes that a sync may meet because of the other clone; it is tried again later. */
const passing: ReadonlySet<unknown> = new Set(['remote_moved', 'locked'])
const syncEveryMs = 7000
const versionsEveryMs = 2000
const lineEveryMs = 1500

export interface Pace {
  /** Concurrent commands. */
  readonly atOnce: number
  /** Between two commands of the same lane, ms. */
  readonly restMs: number
}

export class Side {
  readonly name: string
  readonly place: ClonePlace
  readonly model = new Model()
  readonly #workload: Workload
  readonly #pace: Pace
  readonly #onPulse: (pulse: Pulse) => void
  /** Acknowledged lines of files that both sides write to, by path. */
  readonly #lines: Map<string, string[]> = new Map()
  #process: Promise<CloneProcess>
  #stopped = false
  #shared = ''
  commands = 0
  /** Changes that were acknowledged. */
  changes = 0
  syncs = 0

  constructor(
    name: string,
    place: ClonePlace,
    workload: Workload,
    pace: Pace,
    onPulse: (pulse: Pulse) => void,
  ) {
    this.name = name
    this.place = place
    this.#workload = workload
    this.#pace = pace
    this.#onPulse = onPulse
    this.#process = CloneProcess.start(place, onPulse)
  }

  get lines(): ReadonlyMap<string, readonly string[]> {
    return this.#lines
  }

  /** Does everything concurrently; resolves after `stop`. Rejects with Loss. */
  async work(): Promise<void> {
    const lanes = Array.from({ length: this.#pace.atOnce }, () => this.#commandLane())
    await Promise.all([
      ...lanes,
      this.#every(syncEveryMs, () => this.sync()),
      this.#every(versionsEveryMs, () => this.#askVersions()),
      this.#every(lineEveryMs, () => this.#addLine()),
    ])
  }

  stop(): void {
    this.#stopped = true
  }

  /** The file that both sides write to from then on. */
  set shared(path: string) {
    this.#shared = path
  }

  /** Kills the process, opens the store again and compares. */
  async kill(): Promise<void> {
    const before = await this.#process
    // Further requests wait for the comparison.
    this.#process = this.#restart(before)
    await this.#process
    for (const [path, lines] of this.#lines) await this.checkLines(path, lines)
  }

  /** Repeats the request if the process is killed: a change that was done by then is refused. */
  async ask<R extends Request>(request: R): Promise<Answers[R['type']] | undefined> {
    for (let isRepeated = false; ; isRepeated = true) {
      try {
        return await (await this.#process).ask(request)
      } catch (error) {
        if (error instanceof Failed && isRepeated && request.type === 'tool') return undefined
        if (error instanceof Failed) throw new Loss(this.#failed(request, error))
        if (!(error instanceof Killed)) throw error
        await this.#restarted()
      }
    }
  }

  async sync(): Promise<void> {
    try {
      await (await this.#process).ask({ type: 'sync' })
      this.syncs += 1
    } catch (error) {
      if (error instanceof Killed) return
      if (!(error instanceof Failed)) throw error
      if (!passing.has(error.code)) throw new Loss(this.#failed({ type: 'sync' }, error))
    }
  }

  async contents(): Promise<ReadonlyMap<string, string>> {
    return new Map(await this.ask({ type: 'contents' }))
  }

  async checkLines(path: string, lines: readonly string[]): Promise<void> {
    const text = (await this.ask({ type: 'read', path })) ?? ''
    const found = new Set(text.split('\n'))
    const lost = lines.filter((line) => !found.has(line))
    this.#check(lost.map((line) => `${path} lacks the acknowledged line "${line}"`))
  }

  async countHandles(): Promise<number | undefined> {
    return (await this.#process).countHandles()
  }

  async #commandLane(): Promise<void> {
    while (!this.#stopped) {
      const process = await this.#process
      await this.#command(process)
      if (this.#pace.restMs > 0) await rest(this.#pace.restMs)
    }
  }

  /** A command that is unanswered when the process is killed stays in the model until `settle`. */
  async #command(process: CloneProcess): Promise<void> {
    const input = this.#workload.next(this.model)
    const effect = effectOf(this.model.texts, input)
    this.model.begin(effect)
    try {
      await process.ask({ type: 'tool', input })
    } catch (error) {
      if (error instanceof Killed) return this.#restarted()
      throw new Loss(this.#failed({ type: 'tool', input }, error))
    }
    this.commands += 1
    if (input.command === 'view') return this.model.drop(effect)
    this.changes += 1
    this.model.done(effect)
  }

  async #askVersions(): Promise<void> {
    const [path] = this.model.idle.slice(-1)
    if (path === undefined) return
    await this.ask({ type: 'versions', path })
    this.commands += 1
  }

  /** Adds a line to a file that both sides write to, which may not exist here yet. */
  async #addLine(): Promise<void> {
    const path = this.#shared
    const line = `line ${this.commands} of ${this.name}`
    const insert = { insert_line: 0, insert_text: `${line}\n` } as const
    const input = { command: 'insert', path: toolPath(path), ...insert } as const
    try {
      await (await this.#process).ask({ type: 'tool', input })
    } catch (error) {
      if (error instanceof Killed || error instanceof Failed) return
      throw error
    }
    this.commands += 1
    this.changes += 1
    const lines = this.#lines.get(path) ?? []
    if (lines.push(line) === 1) this.#lines.set(path, lines)
  }

  async #every(ms: number, work: () => Promise<void>): Promise<void> {
    while (!this.#stopped) {
      await rest(ms)
      if (!this.#stopped) await work()
    }
  }

  async #restart(before: CloneProcess): Promise<CloneProcess> {
    await before.kill()
    const process = await CloneProcess.start(this.place, this.#onPulse)
    this.#check(this.model.settle(await this.#own(process), hashOf))
    return process
  }

  /** Path → hash of what this side alone writes. */
  async #own(process: CloneProcess): Promise<ReadonlyMap<string, string>> {
    const found = await process.ask({ type: 'contents' })
    return new Map(found.filter(([path]) => path.startsWith(`/${this.name}/`)))
  }

  /** Waits for the next process, or until it is known that this one was killed. */
  async #restarted(): Promise<void> {
    await rest(10)
    await this.#process
  }

  #check(problems: readonly string[]): void {
    if (problems.length > 0) throw new Loss(`${this.name}: ${problems.slice(0, 10).join('; ')}`)
  }

  #failed(request: Request, error: unknown): string {
    const what = request.type === 'tool' ? request.input.command : request.type
    const code = error instanceof Failed ? `${error.code ?? 'no code'}: ` : ''
    return `${this.name}: ${what} failed: ${code}${error instanceof Error ? error.message : ''}`
  }
}

function rest(ms: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, ms)
  })
}
