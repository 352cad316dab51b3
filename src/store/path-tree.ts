// The directory tree of the live memories: path → memory, occupancy, and the sizes of directories.
// Directories exist only through memories: removing the last one below removes the directory.
// Held in RAM only; nothing of it is ever written.

import { StoreError } from '../errors.ts'
import type { LiveMemory } from './snapshot.ts'

/** A file or a directory. A file has `memory` and no children. */
export interface PathNode {
  readonly name: string
  /** Memories at or below this node. */
  count: number
  /** Sum of their contents in bytes of UTF-8. */
  bytes: number
  memory: LiveMemory | undefined
  readonly children: Map<string, PathNode>
}

export class PathTree {
  readonly root: PathNode = newNode('')

  find(path: string): PathNode | undefined {
    let node: PathNode | undefined = this.root
    for (const name of segmentsOf(path)) {
      node = node.children.get(name)
      if (node === undefined) return undefined
    }
    return node
  }

  findMemory(path: string): LiveMemory | undefined {
    return this.find(path)?.memory
  }

  /**
   * What keeps `path` from being free: the memory at or above it, else one below it. The Memory
   * Stores API calls this occupancy.
   */
  findOccupant(path: string): LiveMemory | undefined {
    let node: PathNode | undefined = this.root
    for (const name of segmentsOf(path)) {
      node = node.children.get(name)
      if (node === undefined) return undefined
      if (node.memory !== undefined) return node.memory
    }
    return memoriesBelow(node).next().value
  }

  /** Adds a memory; a path that is not free is refused (FORMAT §5.2) and nothing changes. */
  add(memory: LiveMemory): void {
    if (this.findOccupant(memory.path) !== undefined) {
      throw new StoreError('row_path_conflict', 'A change puts two memories at overlapping paths')
    }
    let node = this.root
    grow(node, memory)
    for (const name of segmentsOf(memory.path)) {
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

  /** Removes a memory that is there. */
  remove(memory: LiveMemory): void {
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
export function* memoriesBelow(node: PathNode): Generator<LiveMemory, undefined> {
  if (node.memory !== undefined) yield node.memory
  for (const child of node.children.values()) yield* memoriesBelow(child)
  return undefined
}

/** Children in code-unit order. */
export function sortedChildren(node: PathNode): readonly PathNode[] {
  return [...node.children.values()].toSorted((a, b) => (a.name < b.name ? -1 : 1))
}

function segmentsOf(path: string): readonly string[] {
  return path === '/' ? [] : path.slice(1).split('/')
}

function newNode(name: string): PathNode {
  return { name, count: 0, bytes: 0, memory: undefined, children: new Map() }
}

function grow(node: PathNode, memory: LiveMemory): void {
  node.count += 1
  node.bytes += memory.size
}

function shrink(node: PathNode, memory: LiveMemory): void {
  node.count -= 1
  node.bytes -= memory.size
}
