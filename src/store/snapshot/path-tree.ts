// The directory tree of memories, current or past: path → memory, occupancy, and the sizes of
// directories. A directory exists only while a memory is below it. Kept in RAM only and never
// written.

import { StoreError } from '../../errors.ts'
import type { LiveMemory } from './live-memory.ts'

export interface PlacedMemory {
  readonly path: string
  /** Bytes of UTF-8. */
  readonly size: number
}

/** A file or a directory. A file has `memory` and no children. */
export interface PathNode<Memory extends PlacedMemory = LiveMemory> {
  readonly name: string
  /** Memories at or below this node. */
  count: number
  /** Sum of their contents in bytes of UTF-8. */
  bytes: number
  memory: Memory | undefined
  readonly children: Map<string, PathNode<Memory>>
}

export class PathTree<Memory extends PlacedMemory = LiveMemory> {
  readonly root: PathNode<Memory>

  constructor(root: PathNode<Memory> = newNode('')) {
    this.root = root
  }

  copy(): PathTree<Memory> {
    return new PathTree(copyOf(this.root))
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
    return this.#findOccupant(segmentsOf(path))
  }

  #findOccupant(names: readonly string[]): Memory | undefined {
    let node: PathNode<Memory> | undefined = this.root
    for (const name of names) {
      node = node.children.get(name)
      if (node === undefined) return undefined
      if (node.memory !== undefined) return node.memory
    }
    return memoriesBelow(node).next().value
  }

  /** Adds a memory. Throws, with nothing changed, if its path is not free (FORMAT §5.2). */
  add(memory: Memory): void {
    const names = segmentsOf(memory.path)
    if (this.#findOccupant(names) !== undefined) {
      throw new StoreError('row_path_conflict', 'A change puts two memories at overlapping paths')
    }
    let node = this.root
    grow(node, memory)
    for (const name of names) {
      let child = node.children.get(name)
      if (child === undefined) {
        child = newNode(name)
        node.children.set(name, child)
      }
      grow(child, memory)
      node = child
    }
    node.memory = memory
  }

  /** Removes a memory that was added. */
  remove(memory: Memory): void {
    let node = this.root
    shrink(node, memory)
    for (const name of segmentsOf(memory.path)) {
      const child = node.children.get(name)
      if (child === undefined) return
      shrink(child, memory)
      if (child.count === 0) {
        node.children.delete(name)
        return
      }
      node = child
    }
  }
}

/** All memories at or below a node, in no particular order. */
export function* memoriesBelow<Memory extends PlacedMemory>(
  node: PathNode<Memory>,
): Generator<Memory, undefined> {
  if (node.memory !== undefined) yield node.memory
  for (const child of node.children.values()) yield* memoriesBelow(child)
  return undefined
}

/** Children in code-unit order. */
export function sortedChildren<Memory extends PlacedMemory>(
  node: PathNode<Memory>,
): readonly PathNode<Memory>[] {
  return [...node.children.values()].toSorted((a, b) => (a.name < b.name ? -1 : 1))
}

function segmentsOf(path: string): readonly string[] {
  return path === '/' ? [] : path.slice(1).split('/')
}

function newNode<Memory extends PlacedMemory>(name: string): PathNode<Memory> {
  return { name, count: 0, bytes: 0, memory: undefined, children: new Map() }
}

function copyOf<Memory extends PlacedMemory>(node: PathNode<Memory>): PathNode<Memory> {
  const children = [...node.children].map(([name, child]) => [name, copyOf(child)] as const)
  return { ...node, children: new Map(children) }
}

function grow(node: PathNode<PlacedMemory>, memory: PlacedMemory): void {
  node.count += 1
  node.bytes += memory.size
}

function shrink(node: PathNode<PlacedMemory>, memory: PlacedMemory): void {
  node.count -= 1
  node.bytes -= memory.size
}
