// One pass of a mirror: changes of files become versions, then changes of the store reach the
// files. A text is in the store before the file that held it is touched, and the record of what
// both sides agree on is written last: after a crash anywhere, the next pass compares again.

import { realpathSync, statSync } from 'node:fs'
import { utf8 } from '../../bytes.ts'
import { StoreError } from '../../errors.ts'
import type { Change } from '../../store/changes/changes.ts'
import type { MemoryStore } from '../../store/memory-store.ts'
import { mergeContents } from '../../store/merge/content-merge.ts'
import type { Memory } from '../../store/snapshot/live-memory.ts'
import { textOfCandidate } from '../import/source.ts'
import { planDeletions } from './deletions.ts'
import { type LateText, ownName } from './folder.ts'
import { makeInMemory } from './in-memory.ts'
import type { AgreedFile, Mirror, MirrorState, PassNotes } from './mirror-state.ts'
import { findText, mirrorAuthor, type PassOptions, type PassParts, PassWork } from './pass-work.ts'
import { type FileStep, type MirrorPlan, planPass, type StoreStep } from './plan.ts'
import { StoreSteps } from './store-steps.ts'
import { pathOf, surveyMirror } from './survey.ts'

/** Steps of one kind in flight. */
const WINDOW = 64
export interface PassReport {
  /** Versions that files have become. */
  readonly saved: number
  readonly deleted: number
  /** Files that were written or removed. */
  readonly written: number
  readonly removed: number
  readonly notes: PassNotes
  /** Whether another pass is needed as soon as files have settled. */
  readonly isUnfinished: boolean
}

const SETTLE_MS = 300

/** The passes of one mirror, one at a time: hold its lock. */
export class MirrorPasses {
  readonly #parts: PassParts
  /** Since when files are waited for, and files that are missing. */
  readonly #waiting: Map<string, number> = new Map()
  readonly #missing: Map<string, number> = new Map()

  constructor(parts: PassParts) {
    this.#parts = parts
  }

  async run(state: MirrorState, options: PassOptions = {}): Promise<PassReport> {
    const { folder } = this.#parts
    try {
      return await this.#run(state, options)
    } catch (error) {
      if (error instanceof StoreError && !passing.has(error.code)) {
        await this.#stopped(state, reasonOf(error))
      }
      throw error
    } finally {
      folder.close()
    }
  }

  async #run(state: MirrorState, options: PassOptions): Promise<PassReport> {
    const { folder, mirror, files } = this.#parts
    const problem = findProblem(mirror)
    if (problem !== undefined) return this.#stopped(state, problem)
    const marker = folder.marker()
    if (marker !== undefined && marker !== mirror.id) {
      return this.#stopped(state, 'another mirror has its directory')
    }
    const { dev: device } = statSync(mirror.directory)
    if (marker === undefined) {
      const isElsewhere = state.device !== undefined && state.device !== device
      if (isElsewhere && options.isNamed !== true) {
        return this.#stopped(state, 'its directory is on another file system: name it to fill it')
      }
      // Written first: with the marker, files of the record that are missing were deleted.
      state.agreed.clear()
      state.deletions = []
      await files.writeState(mirror.id, state)
      await folder.mark()
    }
    state.device = device
    await folder.ignore()
    const kept = await folder.sweep((late) => this.#saveLate(late, options))
    const { settleMs = SETTLE_MS, signal } = options
    const shared = { ...this.#parts, state, settleMs, waiting: this.#waiting, signal }
    const surveyed = this.#parts.clock()
    const survey = await surveyMirror(shared)
    // A directory that was emptied or unmounted while it was read has lost its marker, too.
    if (!folder.isMarked()) {
      return this.#stopped(state, 'its directory was removed while it was read')
    }
    for (const name of kept) {
      survey.leftOut.set(`/${ownName}/${name}`, 'could not be saved, and is kept there')
    }
    const { limits } = (await this.#parts.store.status()).settings
    const parts = { ...this.#parts, state, survey, surveyed, options }
    return new Pass(new PassWork(parts, limits.contentBytes), this.#missing).run()
  }

  async #stopped(state: MirrorState, problem: string): Promise<PassReport> {
    const { clock, files, mirror } = this.#parts
    const none = { leftOut: [], deletions: [], unreviewed: [] }
    const notes = { time: clock(), ...none, problem }
    if (state.notes?.problem !== problem) {
      state.notes = notes
      await files.writeState(mirror.id, state)
    }
    return { saved: 0, deleted: 0, written: 0, removed: 0, notes, isUnfinished: false }
  }

  /**
   * Saves a text that an editor has written to a file after it was moved aside. False if it cannot
   * be a memory, or if the store has changed: the file is kept aside.
   */
  async #saveLate(
    { name, madeOf, bytes }: LateText,
    { author = mirrorAuthor }: PassOptions,
  ): Promise<boolean> {
    const { store, mirror } = this.#parts
    const path = `${mirror.at}${pathOf(name)}`
    const { limits } = (await store.status()).settings
    try {
      const text = textOfCandidate({ read: () => bytes }, limits.contentBytes)
      const memory = await store.read(path)
      const change: Change =
        memory === undefined
          ? { type: 'create', path, content: text }
          : await joined(store, memory, { text, madeOf, limit: limits.contentBytes })
      await store.as(author).apply([change])
      return true
    } catch (error) {
      if (!(error instanceof StoreError) || fatal.has(error.code)) throw error
      return false
    }
  }
}

/** The change that adds a text to a memory; both were made of the text with one SHA-256. */
async function joined(
  store: MemoryStore,
  { memoryId, content: current, sha256: expectedSha256 }: Memory,
  {
    text,
    madeOf,
    limit,
  }: { readonly text: string; readonly madeOf: string; readonly limit: number },
): Promise<Change> {
  const base = (await findText(store, memoryId, madeOf)) ?? ''
  const { content } = mergeContents({ base, older: current, newer: text }, limit)
  return { type: 'update', memoryId, content, expectedSha256 }
}

class Pass {
  readonly #work: PassWork
  readonly #steps: StoreSteps
  readonly #missing: Map<string, number>
  #heldDeletions: readonly string[] = []

  constructor(work: PassWork, missing: Map<string, number>) {
    this.#work = work
    this.#steps = new StoreSteps(work)
    this.#missing = missing
  }

  async run(): Promise<PassReport> {
    const { survey, state, folder, files, mirror, options } = this.#work.parts
    const plan = this.#chosen(planPass(survey.states))
    for (const memory of plan.agreed) this.#work.agree(memory.path, memory, true)
    for (const path of plan.gone) state.agreed.delete(path)
    this.#noteTraces()
    try {
      await this.#inWindows(plan.store, (step) => this.#steps.make(step))
      if (options.only === undefined) {
        const steps = [...plan.files, ...this.#steps.following]
        await this.#inWindows(steps, (step) => this.#changeFile(step))
      }
      await folder.settle()
    } finally {
      state.notes = this.#notes()
      await files.writeState(mirror.id, state)
    }
    return { ...this.#work.counts, notes: state.notes, isUnfinished: this.#work.isUnfinished }
  }

  /** The part of a plan that is carried out now. */
  #chosen(plan: MirrorPlan): MirrorPlan {
    const { survey, state, options, clock } = this.#work.parts
    const { only, isDeletionConfirmed = false, isRefill = false, settleMs = SETTLE_MS } = options
    if (only !== undefined) {
      const isOnly = (step: StoreStep) => 'path' in step && step.path === only
      return { store: plan.store.filter(isOnly), files: [], agreed: [], gone: [] }
    }
    const wanted = plan.store.flatMap((step) => (step.type === 'delete' ? [step.memory] : []))
    const now = clock()
    const chosen = planDeletions(wanted, {
      state,
      missing: this.#missing,
      now,
      settleMs,
      isConfirmed: isDeletionConfirmed,
      hasFiles: [...state.agreed.keys()].some((path) => survey.states.files.has(path)),
    })
    if (chosen.isWaiting) this.#work.isUnfinished = true
    const refilled = isRefill ? wanted : []
    this.#heldDeletions = isRefill ? [] : chosen.held
    const isChosen = new Set(isRefill ? [] : chosen.paths)
    return {
      ...plan,
      store: plan.store.filter((step) => {
        return step.type !== 'delete' || isChosen.has(step.memory.path)
      }),
      files: [
        ...plan.files,
        ...refilled.map((memory) => ({ type: 'put', memory, replaces: undefined }) as const),
      ],
    }
  }

  /** One that fails for a reason of its own is left out; the others continue. */
  async #inWindows<T extends StoreStep | FileStep>(
    steps: readonly T[],
    work: (step: T) => Promise<void>,
  ): Promise<void> {
    for (let at = 0; at < steps.length; at += WINDOW) {
      this.#work.parts.options.signal?.throwIfAborted()
      const window = steps.slice(at, at + WINDOW)
      const results = await Promise.allSettled(window.map(async (step) => work(step)))
      for (const [index, result] of results.entries()) {
        const step = window[index]
        if (result.status === 'rejected' && step !== undefined) this.#fail(step, result.reason)
      }
    }
  }

  #fail(step: StoreStep | FileStep, error: unknown): void {
    if (!(error instanceof StoreError) || fatal.has(error.code)) throw error
    const path = 'path' in step ? step.path : step.memory.path
    if (outdated.has(error.code)) this.#work.isUnfinished = true
    else this.#work.parts.survey.leftOut.set(path, reasonOf(error))
  }

  async #changeFile(step: FileStep): Promise<void> {
    const { folder, state } = this.#work.parts
    if (step.type === 'put') return this.#put(step)
    const name = this.#work.nameOf(step.path)
    if (folder.remove(name, step.expected)) {
      this.#work.counts.removed += 1
      folder.prune(name)
    }
    state.agreed.delete(step.path)
    this.#work.isUnfinished = true
  }

  async #put({ memory, replaces }: Extract<FileStep, { type: 'put' }>): Promise<void> {
    const { folder } = this.#work.parts
    const current = await this.#work.findCurrent(memory)
    if (current === undefined || (await this.#work.mustReview(current))) return
    const isDone = await folder.put(this.#work.nameOf(memory.path), utf8(current.content), replaces)
    this.#work.isUnfinished = true
    if (!isDone) return
    this.#work.counts.written += 1
    this.#work.agree(memory.path, current, false)
  }

  /** A file that holds the agreed text need not be read again until it changes. */
  #noteTraces(): void {
    const { state, survey } = this.#work.parts
    for (const [path, last] of state.agreed) {
      if (survey.states.files.get(path) !== last.sha256) continue
      const trace = this.#work.traceOf(path)
      if (trace !== last.trace) state.agreed.set(path, { ...last, trace } satisfies AgreedFile)
    }
  }

  #notes(): PassNotes {
    const { survey, clock } = this.#work.parts
    const leftOut = [...survey.leftOut].map(([path, reason]) => ({ path, reason }))
    return {
      time: clock(),
      leftOut,
      deletions: this.#heldDeletions,
      unreviewed: this.#work.unreviewed,
    }
  }
}

/** Codes of errors that say nothing about the directory. */
const passing: ReadonlySet<string> = new Set(['cancelled', 'locked', 'store_closed'])
/**
 * Codes that concern all paths alike. A store that takes no changes, from a reader or because it is
 * archived, is not among them: its changes still reach the files.
 */
const fatal: ReadonlySet<string> = new Set(['cancelled', 'locked', 'rolled_back', 'store_closed'])
/** The store has changed since it was looked at. */
const outdated: ReadonlySet<string> = new Set(['not_found', 'precondition_failed'])

function reasonOf(error: StoreError): string {
  const { message } = error
  return message.slice(0, 1).toLowerCase() + message.slice(1)
}

/** Why a directory cannot be mirrored now. */
function findProblem({ directory, isInMemory }: Mirror): string | undefined {
  const problem = isInMemory ? makeInMemory(directory) : undefined
  if (problem !== undefined) return problem
  try {
    return realpathSync(directory) === directory ? undefined : 'its directory is a link now'
  } catch {
    return 'its directory is missing'
  }
}
