// The steps of a pass that change the store: files that are new, changed, moved or deleted, and the
// merge of a file and a memory that both have changed.

import { sha256OfText } from '../../crypto/digest.ts'
import { hasCode, StoreError } from '../../errors.ts'
import type { Change } from '../../store/changes/changes.ts'
import { mergeContents } from '../../store/merge/content-merge.ts'
import type { Memory, MemoryInfo } from '../../store/snapshot/live-memory.ts'
import { findText, findVersion, type PassWork } from './pass-work.ts'
import type { FileStep, StoreStep } from './plan.ts'

const BASE_ERASED = 'was edited, and the text that it was made of is erased'
const BASE_NEEDED =
  'was edited here and elsewhere since this clone began: `gitlocket fetch --all` gets the text ' +
  'that both were made of'

export class StoreSteps {
  /** Changes of files that follow from merges. */
  readonly following: FileStep[] = []
  readonly #work: PassWork

  constructor(work: PassWork) {
    this.#work = work
  }

  async make(step: StoreStep): Promise<void> {
    switch (step.type) {
      case 'create':
        return this.#create(step.path)
      case 'save':
        return this.#save(step)
      case 'move':
        return this.#move(step)
      case 'delete':
        return this.#delete(step)
      case 'merge':
        return this.#merge(step)
      default:
        throw new StoreError('invalid_input', 'There is no such step')
    }
  }

  async #create(path: string): Promise<void> {
    const content = this.#work.read(path)
    if (content === undefined) return
    const { store, mirror } = this.#work.parts
    const change: Change = { type: 'create', path: `${mirror.at}${path}`, content }
    try {
      const memory = await this.#work.apply(change)
      if (memory !== undefined) this.#work.agree(path, memory, true)
    } catch (error) {
      // Another process may have created it since; a file above or below it is left out.
      if (!hasCode(error, 'path_conflict') || (await store.read(change.path)) === undefined) {
        throw error
      }
      this.#work.isUnfinished = true
    }
  }

  async #save({ path, memory }: Extract<StoreStep, { type: 'save' }>): Promise<void> {
    const content = this.#work.read(path)
    if (content === undefined) return
    const { memoryId, sha256: expectedSha256 } = memory
    const saved = await this.#work.apply({ type: 'update', memoryId, content, expectedSha256 })
    if (saved === undefined) return
    if (memory.path === path) this.#work.agree(path, saved, true)
    else this.#work.isUnfinished = true
  }

  async #move({ memory, to }: Extract<StoreStep, { type: 'move' }>): Promise<void> {
    const { state, mirror } = this.#work.parts
    const last = state.agreed.get(memory.path)
    const { memoryId } = memory
    await this.#work.apply({ type: 'update', memoryId, path: `${mirror.at}${to}` })
    state.agreed.delete(memory.path)
    if (last !== undefined) state.agreed.set(to, { ...last, trace: this.#work.traceOf(to) })
    if (memory.sha256 !== last?.sha256) this.#work.isUnfinished = true
  }

  async #delete({ memory }: Extract<StoreStep, { type: 'delete' }>): Promise<void> {
    const { store, state, clock } = this.#work.parts
    const { memoryId, sha256: expectedSha256 } = memory
    await store.as(this.#work.author).apply([{ type: 'delete', memoryId, expectedSha256 }])
    state.agreed.delete(memory.path)
    state.deletions = [...state.deletions, [clock(), 1]]
    this.#work.counts.deleted += 1
  }

  async #merge(step: Extract<StoreStep, { type: 'merge' }>): Promise<void> {
    const { path, agreed } = step
    const theirs = await this.#work.findCurrent(step.memory)
    const ours = this.#work.read(path)
    if (theirs === undefined || ours === undefined) return
    if (await this.#work.mustReview(theirs)) return
    const { store, survey } = this.#work.parts
    const replaces = survey.states.files.get(path)
    if (agreed === undefined) {
      const older = await findText(store, theirs.memoryId, replaces)
      // The file is as the memory was once.
      if (older !== undefined) return this.#follow(step, theirs)
    }
    try {
      const base = agreed === undefined ? '' : await findVersion(store, agreed.versionId)
      if (base === undefined) survey.leftOut.set(path, BASE_ERASED)
      else this.#follow(step, await this.#unite(path, { base, ours, theirs }))
    } catch (error) {
      if (!hasCode(error, 'history_needed')) throw error
      survey.leftOut.set(path, BASE_NEEDED)
    }
  }

  /** Makes both texts one in the store, and versions of both. */
  async #unite(
    path: string,
    { base, ours, theirs }: { base: string; ours: string; theirs: Memory },
  ): Promise<MemoryInfo> {
    const { memoryId } = theirs
    const isOurs = (this.#work.parts.survey.seen.get(path)?.changed ?? 0) >= theirs.updatedAt
    const [older, newer] = isOurs ? [theirs.content, ours] : [ours, theirs.content]
    const { content, how } = mergeContents({ base, older, newer }, this.#work.limit)
    let expectedSha256 = theirs.sha256
    if (how === 'newer_kept' && !isOurs) {
      // The text of the file would be lost otherwise.
      await this.#work.apply({ type: 'update', memoryId, content: ours, expectedSha256 })
      expectedSha256 = sha256OfText(ours)
    }
    const change: Change = { type: 'update', memoryId, content, expectedSha256 }
    return (await this.#work.apply(change)) ?? theirs
  }

  /** Writes the merged memory into the file. */
  #follow(step: Extract<StoreStep, { type: 'merge' }>, current: MemoryInfo): void {
    const { survey, mirror } = this.#work.parts
    const seen = survey.states.files.get(step.path)
    if (seen === undefined) return
    const { memoryId, versionId, sha256 } = current
    const memory = { memoryId, versionId, sha256, path: current.path.slice(mirror.at.length) }
    if (memory.path === step.path) {
      this.following.push({ type: 'put', memory, replaces: seen })
      return
    }
    this.following.push({ type: 'put', memory, replaces: undefined })
    this.following.push({ type: 'remove', path: step.path, expected: seen })
  }
}
