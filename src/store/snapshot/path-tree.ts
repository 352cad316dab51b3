// The directory tree of memories, current or past: path → memory, occupancy, and the sizes of
// directories. Immutable: a change shares all other directories with the tree before it. A
// directory exists only while a memory is below it. Kept in RAM only and never written.

import { StoreError } from '../../errors.ts'
import { atOnce } from '../../time-slice.ts'
import type { LiveMemory } from './live-memory.ts'
import { SharedMap } from './shared-map.ts'

export interface PlacedMemory {
  readonly path: string
  /** Bytes of UTF-8. */
  readonly size: number
  /** When its current version was written, ms since 1970. */
  readonly updated: number
}

/** A file or a directory. A file has `memory` and no children. */
export interface PathNode<Memory extends PlacedMemory = LiveMemory> {
  readonly name: string
  /** Memories at or below this node. */
  readonly count: number
  /** Sum of their contents in bytes of UTF-8. */
  readonly bytes: number
  readonly memory: Memory | undefined
  /** By name, in code-unit order. */
  readonly children: SharedMap<PathNode<Memory>>
}

export class PathTree<Memory extends PlacedMemory = LiveMemory> {
  readonly root: PathNode<Memory>

  private constructor(root: PathNode<Memory>) {
    this.root = root
  }

  /** Throws if two paths overlap (FORMAT §5.2). */
  static of<Memory extends PlacedMemory = LiveMemory>(
    memories: Iterable<Memory> = [],
  ): PathTree<Memory> {
    return atOnce(PathTree.making([...memories]))
  }

  /** `of` in steps. */
  static *making<Memory extends PlacedMemory = LiveMemory>(
    memories: readonly Memory[],
  ): Generator<undefined, PathTree<Memory>> {
    return new PathTree(yield* directoryOf('', memories, 1))
  }

  find(path: string): PathNode<Memory> | undefined {
    let node: PathNode<Memory> | undefined = this.root
    for (const name of segmentsOf(path)) {
      node = node.children.get(name)
      if (node === undefined) return undefined
    }
    return node
  }

  findMemory(path: string): Memory | undefined {
    return this.find(path)?.memory
  }

  /**
   * The memory that occupies `path`: the one at or above it, otherwise one below it (occupancy in
   * the Memory Stores API).
   */
  findOccupant(path: string): Memory | undefined {
    let node: PathNode<Memory> | undefined = this.root
    for (const name of segmentsOf(path)) {
      node = node.children.get(name)
      if (node === undefined) return undefined
      if (node.memory !== undefined) return node.memory
    }
    return memoriesBelow(node).next().value
  }

  /**
   * Adds a memory, in the place of one that is at the same path. Throws if the path is not free
   * (FORMAT §5.2).
   */
  with(memory: Memory, replaced?: Memory): PathTree<Memory> {
    return new PathTree(added(this.root, segmentsOf(memory.path), 0, memory, replaced))
  }

  /** The tree without a memory that is in it. */
  without(memory: Memory): PathTree<Memory> {
    const root = removed(this.root, segmentsOf(memory.path), 0, memory)
    return root === undefined ? PathTree.of<Memory>() : new PathTree(root)
  }
}

/** All memories at or below a node. */
export function* memoriesBelow<Memory extends PlacedMemory>(
  node: PathNode<Memory>,
): Generator<Memory, undefined> {
  if (node.memory !== undefined) yield node.memory
  for (const child of node.children.values()) yield* memoriesBelow(child)
  return undefined
}

function segmentsOf(path: string): readonly string[] {
  return path === '/' ? [] : path.slice(1).split('/')
}

/** A directory of memories whose paths are equal up to `start`, where the next name begins. */
function* directoryOf<Memory extends PlacedMemory>(
  name: string,
  memories: readonly Memory[],
  start: number,
): Generator<undefined, PathNode<Memory>> {
  const files: PathNode<Memory>[] = []
  const below = new Map<string, Memory[]>()
  for (const [index, memory] of memories.entries()) {
    if (index % STEP === 0) yield
    const end = memory.path.indexOf('/', start)
    if (end === -1) files.push(fileOf(memory.path.slice(start), memory))
    else {
      const child = memory.path.slice(start, end)
      const known = below.get(child)
      if (known === undefined) below.set(child, [memory])
      else known.push(memory)
    }
  }
  const directories: PathNode<Memory>[] = []
  for (const [child, some] of below) {
    directories.push(yield* directoryOf(child, some, start + child.length + 1))
  }
  const nodes = [...files, ...directories]
  const names = nodes.map((node) => node.name)
  const children = SharedMap.ofLists(names, nodes)
  if (children.size < nodes.length) throw pathConflict()
  const bytes = nodes.reduce((sum, node) => sum + node.bytes, 0)
  return { name, count: memories.length, bytes, memory: undefined, children }
}

function fileOf<Memory extends PlacedMemory>(name: string, memory: Memory): PathNode<Memory> {
  return { name, count: 1, bytes: memory.size, memory, children: noChildren }
}

function added<Memory extends PlacedMemory>(
  node: PathNode<Memory> | undefined,
  names: readonly string[],
  at: number,
  memory: Memory,
  replaced: Memory | undefined,
): PathNode<Memory> {
  const name = names[at - 1] ?? ''
  if (at === names.length) {
    if ((node === undefined) !== (replaced === undefined)) throw pathConflict()
    return fileOf(name, memory)
  }
  if (node?.memory !== undefined) throw pathConflict()
  const { count, bytes, children } = node ?? emptyDirectory<Memory>()
  const next = names[at] ?? ''
  const child = added(children.get(next), names, at + 1, memory, replaced)
  return {
    name,
    count: replaced === undefined ? count + 1 : count,
    bytes: bytes + memory.size - (replaced?.size ?? 0),
    memory: undefined,
    children: children.with(next, child),
  }
}

/** Undefined if no memory is left below the node. */
function removed<Memory extends PlacedMemory>(
  node: PathNode<Memory>,
  names: readonly string[],
  at: number,
  memory: Memory,
): PathNode<Memory> | undefined {
  if (node.count === 1) return undefined
  const name = names[at] ?? ''
  const child = node.children.get(name)
  if (child === undefined) return node
  const rest = removed(child, names, at + 1, memory)
  const children = rest === undefined ? node.children.without(name) : node.children.with(name, rest)
  return { ...node, count: node.count - 1, bytes: node.bytes - memory.size, children }
}

function emptyDirectory<Memory extends PlacedMemory>(): Pick<
  PathNode<Memory>,
  'count' | 'bytes' | 'children'
> {
  return { count: 0, bytes: 0, children: noChildren }
}

/** Shared by all files. */
/** Memories that are sorted into directories between two pauses. */
const STEP = 256
const noChildren: SharedMap<never> = SharedMap.of()

function pathConflict(): StoreError {
  return new StoreError('row_path_conflict', 'A change puts two memories at overlapping paths')
}
