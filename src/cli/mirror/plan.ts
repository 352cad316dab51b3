// Plans a pass of a mirror from three states: the files, the memories, and the texts on which both
// agreed last. Pure. Each memory is followed by its id, so that a move on one side and an
// edit on the other both count. An edit wins over a deletion, as in a merge of clones.

/** A text that both sides agreed on. */
export interface Agreed {
  readonly memoryId: string
  readonly versionId: string
  /** SHA-256 of the text, in hex. */
  readonly sha256: string
}

export interface MirroredMemory extends Agreed {
  /** Below the place of the mirror, as all paths here: `/notes.md`. */
  readonly path: string
}

export interface MirrorStates {
  /** By path, as the two below. */
  readonly agreed: ReadonlyMap<string, Agreed>
  readonly memories: ReadonlyMap<string, MirroredMemory>
  /** The SHA-256 of each file whose text could be that of a memory. */
  readonly files: ReadonlyMap<string, string>
  /** Whether a file cannot be judged, or must not be written: nothing is done about its path. */
  readonly isBlocked: (path: string) => boolean
}

/** A change of the store, which is made before any file is touched. */
export type StoreStep =
  /** The file becomes a new memory. */
  | { readonly type: 'create'; readonly path: string }
  /** The text of the file becomes that of the memory. */
  | { readonly type: 'save'; readonly path: string; readonly memory: MirroredMemory }
  | { readonly type: 'move'; readonly memory: MirroredMemory; readonly to: string }
  | { readonly type: 'delete'; readonly memory: MirroredMemory }
  /** Both have changed. Without `agreed`, they never had a common text. */
  | {
      readonly type: 'merge'
      readonly path: string
      readonly memory: MirroredMemory
      readonly agreed: Agreed | undefined
    }

/** A change of a file. `replaces` and `expected` are the SHA-256 of the text that was seen. */
export type FileStep =
  | {
      readonly type: 'put'
      readonly memory: MirroredMemory
      readonly replaces: string | undefined
      /** It moves there from another path. */
      readonly from?: string
    }
  | { readonly type: 'remove'; readonly path: string; readonly expected: string }

export interface MirrorPlan {
  readonly store: StoreStep[]
  readonly files: FileStep[]
  /** Paths on which both sides agree, for the record. */
  readonly agreed: MirroredMemory[]
  /** Paths that neither side has any more. */
  readonly gone: string[]
}

export function planPass(states: MirrorStates): MirrorPlan {
  return new Planner(states).plan()
}

class Planner {
  readonly #states: MirrorStates
  readonly #plan: MirrorPlan = { store: [], files: [], agreed: [], gone: [] }
  readonly #byId: ReadonlyMap<string, MirroredMemory>
  /** Files at paths that neither the record nor the store has, by the SHA-256 of their text. */
  readonly #arrived: ReadonlyMap<string, readonly string[]>
  /** Files that are the target of a move. */
  readonly #moved: Set<string> = new Set()
  /** The memories that the record has, wherever they are now. */
  readonly #knownIds: ReadonlySet<string>

  constructor(states: MirrorStates) {
    const { agreed, memories, files, isBlocked } = states
    this.#states = states
    this.#knownIds = new Set([...agreed.values()].map(({ memoryId }) => memoryId))
    this.#byId = new Map([...memories.values()].map((memory) => [memory.memoryId, memory]))
    const arrived = new Map<string, string[]>()
    for (const [path, sha256] of files) {
      if (agreed.has(path) || memories.has(path) || isBlocked(path)) continue
      const same = arrived.get(sha256)
      if (same === undefined) arrived.set(sha256, [path])
      else same.push(path)
    }
    this.#arrived = arrived
  }

  plan(): MirrorPlan {
    const { agreed, files, memories, isBlocked } = this.#states
    for (const [path, last] of agreed) {
      const memory = this.#byId.get(last.memoryId)
      if (isBlocked(path) || (memory !== undefined && isBlocked(memory.path))) continue
      const file = files.get(path)
      if (file === undefined) this.#planMissing(path, last, memory)
      else if (memory === undefined) this.#planDeleted(path, last, file)
      else if (memory.path === path) this.#planBoth(last, memory, file)
      else this.#planMoved(path, last, memory, file)
    }
    for (const [path, sha256] of files) {
      if (!agreed.has(path) && !this.#moved.has(path) && !isBlocked(path)) {
        this.#planArrived(path, sha256)
      }
    }
    for (const memory of memories.values()) {
      const isNew = !this.#knownIds.has(memory.memoryId) && !files.has(memory.path)
      if (isNew && !isBlocked(memory.path)) this.#put(memory, undefined)
    }
    return this.#plan
  }

  /** The file is not there any more: it was deleted, or moved without an edit. */
  #planMissing(path: string, last: Agreed, memory: MirroredMemory | undefined): void {
    if (memory === undefined) {
      this.#plan.gone.push(path)
      return
    }
    const to = this.#findArrived(last.sha256)
    if (to !== undefined) this.#moved.add(to)
    if (memory.path !== path) {
      // It was moved there, too: the store has the name.
      this.#plan.gone.push(path)
      if (to !== undefined) this.#remove(to, last.sha256)
      this.#putAtFree(memory, to)
    } else if (to !== undefined) this.#plan.store.push({ type: 'move', memory, to })
    else if (memory.sha256 !== last.sha256) this.#put(memory, undefined)
    else this.#plan.store.push({ type: 'delete', memory })
  }

  /** The memory was deleted. */
  #planDeleted(path: string, last: Agreed, file: string): void {
    const other = this.#states.memories.get(path)
    if (file === last.sha256) {
      if (other === undefined) this.#remove(path, file)
      else if (other.sha256 === file) this.#agree(other)
      else this.#put(other, file)
    } else if (other === undefined) this.#plan.store.push({ type: 'create', path })
    else this.#planBoth(last, other, file)
  }

  /** Both are at one path. */
  #planBoth(last: Agreed, memory: MirroredMemory, file: string): void {
    const { path } = memory
    if (file === memory.sha256) this.#agree(memory)
    else if (memory.sha256 === last.sha256) this.#plan.store.push({ type: 'save', path, memory })
    else if (file === last.sha256) this.#put(memory, file)
    else this.#plan.store.push({ type: 'merge', path, memory, agreed: last })
  }

  /** The memory was moved, so the file moves too. Its edits are saved first. */
  #planMoved(path: string, last: Agreed, memory: MirroredMemory, file: string): void {
    if (file !== last.sha256 && file !== memory.sha256) {
      if (memory.sha256 === last.sha256) this.#plan.store.push({ type: 'save', path, memory })
      else this.#plan.store.push({ type: 'merge', path, memory, agreed: last })
      return
    }
    const there = this.#states.files.get(memory.path)
    const isOld = there !== undefined && there === this.#states.agreed.get(memory.path)?.sha256
    if (isOld) this.#put(memory, there, path)
    else this.#putAtFree(memory, path)
    const next = this.#states.memories.get(path)
    if (next === undefined) this.#remove(path, file)
    else if (!this.#knownIds.has(next.memoryId)) this.#put(next, file)
  }

  /** A file that the record does not have. */
  #planArrived(path: string, sha256: string): void {
    const memory = this.#states.memories.get(path)
    if (memory === undefined) this.#plan.store.push({ type: 'create', path })
    else if (!this.#knownIds.has(memory.memoryId)) this.#meet(memory, sha256)
  }

  /** Puts a memory where the record has no file; the user may have made one there. */
  #putAtFree(memory: MirroredMemory, from: string | undefined): void {
    const there = this.#states.files.get(memory.path)
    if (there === undefined) this.#put(memory, undefined, from)
    else if (!this.#states.agreed.has(memory.path)) this.#meet(memory, there)
  }

  /** A file and a memory at one path that never had a common text. */
  #meet(memory: MirroredMemory, file: string): void {
    const { path } = memory
    if (memory.sha256 === file) this.#agree(memory)
    else this.#plan.store.push({ type: 'merge', path, memory, agreed: undefined })
  }

  #findArrived(sha256: string): string | undefined {
    const candidates = (this.#arrived.get(sha256) ?? []).filter((path) => !this.#moved.has(path))
    // Of several copies no one can tell which it was.
    return candidates.length === 1 ? candidates[0] : undefined
  }

  #agree(memory: MirroredMemory): void {
    this.#plan.agreed.push(memory)
  }

  #put(memory: MirroredMemory, replaces: string | undefined, from?: string): void {
    const step = { type: 'put', memory, replaces } as const
    this.#plan.files.push(from === undefined ? step : { ...step, from })
  }

  #remove(path: string, expected: string): void {
    this.#plan.files.push({ type: 'remove', path, expected })
  }
}
