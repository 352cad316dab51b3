// A plain model for reverts: keeps every state that a store has been in, as it was read right
// after each commit, and finds by itself which paths are in each other's way.

import type { MemoryStore, Version } from '../../src/index.ts'
import type { LeftAlone } from '../../src/store/revert/revert-plan.ts'

export interface ModelText {
  readonly path: string
  readonly content: string
  readonly versionId: string
}

/** Live memories by id. */
export type State = ReadonlyMap<string, ModelText>

export interface ObservedCommit {
  readonly commit: string
  readonly time: number
  readonly state: State
}

export class Observed {
  readonly commits: ObservedCommit[] = []

  get state(): State {
    return this.commits.at(-1)?.state ?? new Map()
  }

  async look(store: MemoryStore, time: number): Promise<void> {
    const { head } = await store.status()
    const state = await readState(store)
    if (this.commits.at(-1)?.commit !== head) this.commits.push({ commit: head, time, state })
  }

  /** The ids of memories that have changed since `before`. */
  changedSince(before: State): ReadonlySet<string> {
    const ids = new Set([...before.keys(), ...this.state.keys()])
    return new Set([...ids].filter((id) => textKey(before.get(id)) !== textKey(this.state.get(id))))
  }
}

export async function readState(store: MemoryStore): Promise<State> {
  const state = new Map<string, ModelText>()
  const pending = [await store.list('/')]
  for (let node = pending.pop(); node !== undefined; node = pending.pop()) {
    const memory = node.type === 'file' ? await store.read(node.path) : undefined
    if (memory !== undefined) state.set(memory.memoryId, memory)
    pending.push(...node.children)
  }
  return state
}

/** Path and content, for comparisons. */
export function textKey(text: { path: string; content: string | undefined } | undefined): string {
  return text === undefined ? 'none' : JSON.stringify([text.path, text.content])
}

export function isAtOrBelow(path: string | undefined, directory: string): boolean {
  return path !== undefined && `${path}/`.startsWith(directory === '/' ? '/' : `${directory}/`)
}

function doOverlap(a: string, b: string): boolean {
  return isAtOrBelow(a, b) || isAtOrBelow(b, a)
}

/**
 * Whether a path that a revert calls taken is: by a memory, or by another one that would return to
 * it.
 */
export function isReallyTaken(taken: LeftAlone, state: State, left: readonly LeftAlone[]): boolean {
  const { path, memoryId } = taken
  if (path === undefined) return false
  const others = [...state].filter(([id]) => id !== memoryId).map(([, text]) => text.path)
  const rivals = left.filter((each) => each.memoryId !== memoryId && each.reason === 'path_taken')
  return [...others, ...rivals.map((each) => each.path ?? '')].some((other) => {
    return other !== '' && doOverlap(other, path)
  })
}

export async function allVersions(store: MemoryStore): Promise<readonly Version[]> {
  const found: Version[] = []
  let after: string | undefined
  do {
    const page = await store.history.versions({ limit: 1000, page: after })
    found.push(...page.data)
    after = page.nextPage
  } while (after !== undefined)
  return found.toReversed()
}
