// Decides which memories can move: a path is taken by a memory at, above or below it that does not
// move away itself. Never guesses: of two memories with overlapping destinations neither moves.
// Reads the directory tree, changes nothing.

import { parentPaths } from '../../format/path.ts'
import { memoriesBelow, type PathTree } from '../snapshot/path-tree.ts'
import type { Snapshot } from '../snapshot/snapshot.ts'

/** The new path of a memory; undefined to delete it. */
export interface Destination {
  readonly memoryId: string
  readonly path: string | undefined
}

/** The ids of the memories that cannot move. Yields for each memory. */
export function* findBlocked(
  snapshot: Snapshot,
  destinations: readonly Destination[],
): Generator<undefined, ReadonlySet<string>> {
  const pathOf = (memoryId: string): string | undefined => {
    return snapshot.current.get(memoryId)?.live?.path
  }
  const moves = destinations.filter(({ memoryId, path }) => path !== pathOf(memoryId))
  const moving = new Set(moves.map(({ memoryId }) => memoryId))
  const claims = yield* Claims.of(moves)
  const blocked = new Set<string>()
  /** A memory that is left alone blocks those whose destinations overlap its path, and so on. */
  const block = (first: string): void => {
    const pending = [first]
    for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
      const path = pathOf(next)
      const isNew = !blocked.has(next)
      blocked.add(next)
      if (isNew && path !== undefined) pending.push(...claims.overlapping(path))
    }
  }
  for (const { memoryId, path } of moves) {
    yield
    if (path !== undefined && isTaken(snapshot.paths, path, moving)) block(memoryId)
  }
  for (const { memoryId, path } of moves) {
    yield
    if (path === undefined || blocked.has(memoryId)) continue
    const rivals = claims.overlapping(path).filter((rival) => !blocked.has(rival))
    // The memory itself is one of them.
    if (rivals.length > 1) for (const rival of rivals) block(rival)
  }
  return blocked
}

/** Whether a memory that does not move is at, above or below a path. */
function isTaken(paths: PathTree, path: string, moving: ReadonlySet<string>): boolean {
  for (const above of [...parentPaths(path), path]) {
    const memory = paths.findMemory(above)
    if (memory !== undefined && !moving.has(memory.memoryId)) return true
  }
  const node = paths.find(path)
  if (node === undefined) return false
  for (const memory of memoriesBelow(node)) if (!moving.has(memory.memoryId)) return true
  return false
}

/** Memories by their destinations, and by the directories above these. */
class Claims {
  readonly #at: Map<string, string[]> = new Map()
  readonly #below: Map<string, string[]> = new Map();

  static *of(destinations: readonly Destination[]): Generator<undefined, Claims> {
    const claims = new Claims()
    for (const { memoryId, path } of destinations) {
      yield
      if (path === undefined) continue
      add(claims.#at, path, memoryId)
      for (const above of parentPaths(path)) add(claims.#below, above, memoryId)
    }
    return claims
  }

  /** The memories with a destination at, above or below this path. */
  overlapping(path: string): readonly string[] {
    const found = [...parentPaths(path), path].flatMap((above) => this.#at.get(above) ?? [])
    return [...found, ...(this.#below.get(path) ?? [])]
  }
}

function add(lists: Map<string, string[]>, key: string, value: string): void {
  const list = lists.get(key)
  if (list === undefined) lists.set(key, [value])
  else list.push(value)
}
