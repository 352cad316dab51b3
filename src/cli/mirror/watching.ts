// `mirror --watch`: keeps mirrors equal with the store until it is ended. Events of the file system
// and the watch of the store only say that it is time for a pass; a pass looks at everything, and
// one comes from time to time anyway, since events may be lost.

import { setTimeout as sleep } from 'node:timers/promises'
import { type FSWatcher, watch as watchFiles } from 'chokidar'
import { hasCode } from '../../errors.ts'
import type { MemoryStore } from '../../store/memory-store.ts'
import type { Context } from '../call/command.ts'
import { exitCodeOf } from '../terminal/output.ts'
import { ownName } from './folder.ts'
import type { Mirror } from './mirror-state.ts'
import { mirrorFiles, runnerOf } from './mirrors.ts'
import type { PassReport } from './pass.ts'
import type { MirrorRunner } from './runner.ts'
import { ruleOf } from './survey.ts'

/** A look at everything, in case an event was lost, and where there are no events. */
const POLL_MS = 30_000
const POLL_WITHOUT_EVENTS_MS = 2000
/** Events that come together are one. */
const GATHER_MS = 60
const STORE_LOOK_MS = 250
/** What an agent writes is left to its hook for this time. */
const HOOK_MS = 2000
const RETRY_MS = 1000
const SYNC_MS = 30_000
/** Changes that are saved in this time are sent together. */
const SYNC_GATHER_MS = 2000
/** Exit codes of errors that another attempt does not fix. */
const HOPELESS: ReadonlySet<number> = new Set([3, 7, 8, 11, 12])

export interface WatchParts {
  readonly context: Context
  readonly store: MemoryStore
  readonly signal: AbortSignal
  /** Gets each pass that did something, or found something new to say. */
  readonly report: (mirror: Mirror, report: PassReport, hasFindings: boolean) => void
  readonly fail: (mirror: Mirror, error: unknown) => void
  /** Syncs with all remotes: from time to time, and soon after a file was saved. */
  readonly sync?: ((signal: AbortSignal) => Promise<void>) | undefined
}

/** Until the signal. Throws an error that another attempt does not fix. */
export async function watchMirrors(parts: WatchParts, only?: string): Promise<void> {
  const ended = new AbortController()
  const signal = AbortSignal.any([parts.signal, ended.signal])
  const due = new Signal()
  const report: WatchParts['report'] = (mirror, found, hasFindings) => {
    if (found.saved + found.deleted > 0) due.give()
    parts.report(mirror, found, hasFindings)
  }
  const watched = new WatchedMirrors({ ...parts, report, signal }, () => ended.abort())
  const others = Promise.all([
    followStore(parts.store, signal, () => watched.wake()),
    parts.sync === undefined ? undefined : syncOften(parts.sync, due, signal),
  ]).catch((error: unknown) => watched.fail(error))
  const files = mirrorFiles(parts.context, parts.store.id)
  try {
    while (!signal.aborted) {
      const active = files.list().filter(({ isPaused }) => !isPaused)
      await watched.keep(active.filter(({ id }) => only === undefined || id === only))
      await sleep(RETRY_MS, undefined, { signal }).catch(ignore)
    }
  } finally {
    ended.abort()
    await watched.keep([])
    await others
  }
  watched.rethrow()
}

/** Those that run now. */
class WatchedMirrors {
  readonly #byId = new Map<string, WatchedMirror>()
  readonly #parts: WatchParts
  readonly #end: () => void
  #failure: unknown

  /** `end` is called if one of them fails for good. */
  constructor(parts: WatchParts, end: () => void) {
    this.#parts = parts
    this.#end = end
  }

  wake(): void {
    for (const one of this.#byId.values()) one.wake()
  }

  /** Starts those that do not run yet, and ends all others. */
  async keep(wanted: readonly Mirror[]): Promise<void> {
    for (const mirror of wanted) if (!this.#byId.has(mirror.id)) this.#start(mirror)
    for (const [id, one] of this.#byId) {
      if (wanted.some((mirror) => mirror.id === id)) continue
      this.#byId.delete(id)
      await one.close()
    }
  }

  readonly fail = (error: unknown): void => {
    this.#failure ??= error
    this.#end()
  }

  rethrow(): void {
    if (this.#failure !== undefined) throw this.#failure
  }

  #start(mirror: Mirror): void {
    const one = new WatchedMirror(this.#parts, mirror)
    this.#byId.set(mirror.id, one)
    one.ended.catch(this.fail)
  }
}

/** Something to wait for, which may have come before. */
class Signal {
  #isGiven = false
  #wake: () => void = () => undefined

  readonly give = (): void => {
    this.#isGiven = true
    this.#wake()
  }

  /** Until it is given, or `ms` later. */
  async wait(ms: number, signal: AbortSignal): Promise<void> {
    if (!this.#isGiven) {
      const woken = new AbortController()
      this.#wake = () => woken.abort()
      await sleep(ms, undefined, { signal: AbortSignal.any([signal, woken.signal]) }).catch(ignore)
    }
    this.#isGiven = false
  }
}

function ignore(): void {
  // The end of a pause.
}

async function syncOften(
  sync: (signal: AbortSignal) => Promise<void>,
  due: Signal,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    await sync(signal)
    await due.wait(SYNC_MS, signal)
    await sleep(SYNC_GATHER_MS, undefined, { signal }).catch(ignore)
  }
}

async function followStore(
  store: MemoryStore,
  signal: AbortSignal,
  wake: () => void,
): Promise<void> {
  for await (const _ of store.watch({ signal, intervalMs: STORE_LOOK_MS })) wake()
}

class WatchedMirror {
  /** Rejects with an error that another attempt does not fix. */
  readonly ended: Promise<void>
  readonly #parts: WatchParts
  readonly #mirror: Mirror
  readonly #runner: MirrorRunner
  readonly #closing = new AbortController()
  #events: FSWatcher | undefined
  #hasEvents = false
  readonly #due = new Signal()
  #lastFindings = findingsOf(undefined)

  constructor(parts: WatchParts, mirror: Mirror) {
    this.#parts = parts
    this.#mirror = mirror
    this.#runner = runnerOf(parts.context, parts.store, mirror)
    this.ended = this.#run(AbortSignal.any([parts.signal, this.#closing.signal]))
  }

  readonly wake = (): void => this.#due.give()

  async close(): Promise<void> {
    this.#closing.abort()
    await this.ended.catch(ignore)
  }

  async #run(signal: AbortSignal): Promise<void> {
    try {
      for (let next = 0; !signal.aborted;) {
        await this.#due.wait(next, signal)
        await sleep(GATHER_MS, undefined, { signal }).catch(ignore)
        if (signal.aborted) return
        next = await this.#pass(signal)
      }
    } finally {
      await this.#events?.close()
      await this.#runner.close()
    }
  }

  /** Returns when the next pass is due at the latest. */
  async #pass(signal: AbortSignal): Promise<number> {
    const settleMs = this.#mirror.hasHook ? HOOK_MS : undefined
    try {
      const report = await this.#runner.run({ signal, ...(settleMs && { settleMs }) })
      const { problem } = report.notes
      const found = findingsOf(report)
      const isNew = found !== this.#lastFindings
      if (isNews(report) || isNew) this.#parts.report(this.#mirror, report, isNew)
      this.#lastFindings = found
      if (problem !== undefined) {
        await this.#events?.close()
        this.#events = undefined
        return POLL_WITHOUT_EVENTS_MS
      }
      this.#listen()
      if (report.isUnfinished) return settleMs ?? GATHER_MS * 3
      return this.#hasEvents ? POLL_MS : POLL_WITHOUT_EVENTS_MS
    } catch (error) {
      if (signal.aborted || hasCode(error, 'cancelled')) return 0
      if (HOPELESS.has(exitCodeOf(error))) throw error
      this.#parts.fail(this.#mirror, error)
      return RETRY_MS
    }
  }

  #listen(): void {
    if (this.#events !== undefined) return
    const rule = ruleOf(this.#mirror)
    const { directory } = this.#mirror
    const isLeftOut = (path: string): boolean => {
      const segments = path.slice(directory.length + 1).split('/')
      return segments.some((name) => name === ownName || (name !== '' && isHidden(rule, name)))
    }
    const options = { ignoreInitial: true, followSymlinks: false, ignored: isLeftOut }
    this.#events = watchFiles(directory, options)
      .on('all', this.wake)
      .on('ready', () => {
        this.#hasEvents = true
        this.wake()
      })
      .on('error', () => {
        // Too many directories, or a file system without events.
        this.#hasEvents = false
      })
  }
}

function isHidden(rule: ReturnType<typeof ruleOf>, name: string): boolean {
  return rule(name, true) !== undefined
}

/** What a user is told once. */
function findingsOf(report: PassReport | undefined): string {
  const { problem, deletions = [], unreviewed = [], leftOut = [] } = report?.notes ?? {}
  return JSON.stringify([problem, deletions, unreviewed, leftOut])
}

function isNews({ saved, deleted, written, removed }: PassReport): boolean {
  return saved + deleted + written + removed > 0
}
