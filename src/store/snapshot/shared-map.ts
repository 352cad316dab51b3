// An immutable map with text keys, in code-unit order: a B-tree. A change copies the nodes above
// one entry and shares all others with the map before it, so that keeping an earlier map costs
// little. Not a hash table, which keys that a hostile member chooses could slow down.

import { assert } from '../../errors.ts'

/** A node with more items is split. A node may have fewer than half as many. */
const ITEMS_MAX = 32

interface Leaf<V> {
  readonly keys: readonly string[]
  readonly values: readonly V[]
  readonly nodes?: undefined
}

/** `keys` are at most the least key of each node, and above all keys of the node before. */
interface Branch<V> {
  readonly keys: readonly string[]
  readonly nodes: readonly TrieNode<V>[]
}

type TrieNode<V> = Leaf<V> | Branch<V>

export class SharedMap<V> implements Iterable<readonly [key: string, V]> {
  readonly #root: TrieNode<V>
  readonly size: number

  private constructor(root: TrieNode<V>, size: number) {
    this.#root = root
    this.size = size
  }

  static of<V>(entries: Iterable<readonly [key: string, V]> = []): SharedMap<V> {
    const all = [...entries]
    return SharedMap.ofLists(
      all.map(([key]) => key),
      all.map(([, value]) => value),
    )
  }

  /** Of the keys in any order, and the value of each. Fast if the keys ascend. */
  static ofLists<V>(keys: readonly string[], values: readonly V[]): SharedMap<V> {
    if (!keys.every((key, at) => at === 0 || (keys[at - 1] ?? '') < key)) {
      const last = new Map(keys.map((key, at) => [key, at]))
      const sorted = [...last.keys()].toSorted(inCodeUnits)
      const order = sorted.map((key) => last.get(key) ?? 0)
      return SharedMap.ofLists(
        sorted,
        order.flatMap((at) => values.slice(at, at + 1)),
      )
    }
    let nodes: readonly TrieNode<V>[] = starts(keys.length).map((start) => ({
      keys: keys.slice(start, start + ITEMS_MAX),
      values: values.slice(start, start + ITEMS_MAX),
    }))
    while (nodes.length > 1) {
      const below = nodes
      nodes = starts(below.length).map((start) => branchOf(below.slice(start, start + ITEMS_MAX)))
    }
    const [root = { keys: [], values: [] }] = nodes
    return new SharedMap(root, keys.length)
  }

  get(key: string): V | undefined {
    let node = this.#root
    while (node.nodes !== undefined) node = childOf(node, key).node
    const at = indexOf(node.keys, key)
    return node.keys[at] === key ? node.values[at] : undefined
  }

  has(key: string): boolean {
    return this.get(key) !== undefined
  }

  with(key: string, value: V): SharedMap<V> {
    const nodes = put(this.#root, key, value)
    const [only, other] = nodes
    const root = other === undefined && only !== undefined ? only : branchOf(nodes)
    return new SharedMap(root, this.has(key) ? this.size : this.size + 1)
  }

  without(key: string): SharedMap<V> {
    if (!this.has(key)) return this
    const root = remove(this.#root, key)
    return root === undefined ? SharedMap.of<V>() : new SharedMap(root, this.size - 1)
  }

  /** The entries that an earlier map, with which this one shares nodes, does not have. */
  *changesSince(earlier: SharedMap<V>): Generator<readonly [key: string, V], undefined> {
    const shared = new Set(leavesOf(earlier.#root))
    for (const leaf of leavesOf(this.#root)) {
      if (shared.has(leaf)) continue
      for (const [at, value] of leaf.values.entries()) {
        const key = leaf.keys[at] ?? ''
        if (earlier.get(key) !== value) yield [key, value]
      }
    }
    return undefined
  }

  *values(): Generator<V, undefined> {
    for (const leaf of leavesOf(this.#root)) yield* leaf.values
    return undefined
  }

  *[Symbol.iterator](): Generator<readonly [key: string, V], undefined> {
    for (const { keys, values } of leavesOf(this.#root)) {
      for (const [at, value] of values.entries()) yield [keys[at] ?? '', value]
    }
    return undefined
  }
}

/** One node, or two if it has grown too large. */
function put<V>(node: TrieNode<V>, key: string, value: V): readonly TrieNode<V>[] {
  if (node.nodes !== undefined) {
    const { at, node: child } = childOf(node, key)
    const nodes = node.nodes.toSpliced(at, 1, ...put(child, key, value))
    if (nodes.length <= ITEMS_MAX) return [branchOf(nodes)]
    const half = halfOf(nodes.length, at)
    return [branchOf(nodes.slice(0, half)), branchOf(nodes.slice(half))]
  }
  const at = indexOf(node.keys, key)
  const replaced = node.keys[at] === key ? 1 : 0
  const keys = replaced === 1 ? node.keys : node.keys.toSpliced(at, 0, key)
  const values = node.values.toSpliced(at, replaced, value)
  if (keys.length <= ITEMS_MAX) return [{ keys, values }]
  const half = halfOf(keys.length, at)
  return [
    { keys: keys.slice(0, half), values: values.slice(0, half) },
    { keys: keys.slice(half), values: values.slice(half) },
  ]
}

/** Where a node is split: entries that are added in order leave full nodes behind. */
function halfOf(length: number, changed: number): number {
  return changed >= length - 2 ? length - 1 : Math.floor(length / 2)
}

/** Undefined if nothing is left. */
function remove<V>(node: TrieNode<V>, key: string): TrieNode<V> | undefined {
  if (node.nodes !== undefined) {
    const { at, node: child } = childOf(node, key)
    const rest = remove(child, key)
    const nodes = node.nodes.toSpliced(at, 1, ...(rest === undefined ? [] : [rest]))
    return nodes.length <= 1 ? nodes[0] : branchOf(nodes)
  }
  if (node.keys.length === 1) return undefined
  const at = indexOf(node.keys, key)
  return { keys: node.keys.toSpliced(at, 1), values: node.values.toSpliced(at, 1) }
}

function branchOf<V>(nodes: readonly TrieNode<V>[]): Branch<V> {
  return { keys: nodes.map(({ keys }) => keys[0] ?? ''), nodes }
}

function childOf<V>({ keys, nodes }: Branch<V>, key: string): { at: number; node: TrieNode<V> } {
  const above = indexOf(keys, key)
  const at = keys[above] === key ? above : Math.max(0, above - 1)
  const node = nodes[at]
  assert(node !== undefined, 'a branch has nodes')
  return { at, node }
}

/** The number of keys below `key`. */
function indexOf(keys: readonly string[], key: string): number {
  let low = 0
  let high = keys.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if ((keys[middle] ?? '') < key) low = middle + 1
    else high = middle
  }
  return low
}

function* leavesOf<V>(node: TrieNode<V>): Generator<Leaf<V>> {
  if (node.nodes === undefined) yield node
  else for (const child of node.nodes) yield* leavesOf(child)
}

/** The index of the first item of each node. */
function starts(length: number): readonly number[] {
  return Array.from({ length: Math.ceil(length / ITEMS_MAX) }, (_, at) => at * ITEMS_MAX)
}

function inCodeUnits(a: string, b: string): number {
  return a < b ? -1 : 1
}
