// While a history is verified: where the snapshot stands, and what is kept of commits that not all
// later ones descend from. There the snapshot goes back to begin another branch, and a merge finds
// what its parents have each of its own. A line keeps nothing but its newest commit.

import { compareBytes } from '../../bytes.ts'
import type { Oid } from '../../git/objects/object.ts'
import type { KeyringChange, ParentHead } from '../access/keyring-change.ts'
import { compareSnapshots, type OtherTip, type Touched } from '../commits/divergence.ts'
import { Frontier } from '../commits/frontier.ts'
import { beforeGenesis, type Head, type Snapshot, type Undo } from '../snapshot/snapshot.ts'
import type { CheckedCommit } from './checked-commit.ts'
import type { MergeContext, Merging } from './merge-context.ts'
import type { Cursor, OwnPart, Verified } from './verify-commit.ts'

/** A verified commit. */
interface Node {
  readonly head: Head
  /** Those that are kept. */
  parents: readonly Node[]
  readonly own: OwnPart
  /** Children that are still to come. */
  childrenLeft: number
}

/** A commit that the snapshot has passed, and how it goes back before it. */
interface Passed {
  readonly node: Node
  readonly undo: Undo
}

/** So many commits are kept before it is worth to look which of them are still needed. */
const KEPT_MIN = 32

export class VerificationCursor implements Cursor {
  readonly #snapshot: Snapshot
  readonly #children: ReadonlyMap<Oid, number>
  /** From the oldest commit that the snapshot may go back to, to the one where it stands. */
  readonly #path: Passed[] = []
  readonly #mayRewind: boolean
  readonly #nodes: Map<Oid, Node> = new Map()
  #keptMax = KEPT_MIN
  /** Commits with children to come. */
  #open = 0
  #elsewhere: { readonly at: Oid; readonly versionIds: ReadonlySet<string> } | undefined

  /**
   * Begins where the snapshot stands. `children` says how many commits to come are children of
   * one, where that is not one. With `mayRewind`, `rewind` can take everything back.
   */
  constructor(snapshot: Snapshot, children: ReadonlyMap<Oid, number>, mayRewind: boolean) {
    this.#snapshot = snapshot
    this.#children = children
    this.#mayRewind = mayRewind
    const { head } = snapshot
    if (head !== beforeGenesis) this.#advance(head, nothing, [], () => undefined)
  }

  /**
   * Moves the snapshot to the parent of a commit, or to that parent of a merge that was reached
   * last. If there is none, the snapshot stays, and the commit does not fit to it.
   */
  enter(commit: CheckedCommit): MergeContext {
    const { parents } = commit
    const at = this.#path.findLastIndex(({ node }) => parents.includes(node.head.commit))
    if (at !== -1) this.#goBackTo(at)
    const isElsewhere = (versionId: string): boolean => this.#isElsewhere(versionId)
    const [one, two] = parents
    if (at === -1 || one === undefined || two === undefined) return { isElsewhere }
    const here = this.#snapshot.head.commit
    const merging = this.#merge(this.#nodes.get(here), this.#nodes.get(here === one ? two : one))
    return { isElsewhere, merging }
  }

  /** The snapshot has moved on to a commit. */
  add(commit: CheckedCommit, { own, undo }: Verified): void {
    const parents: Node[] = []
    for (const oid of commit.parents) {
      const onPath = this.#path.at(-1)?.node
      const node = onPath?.head.commit === oid ? onPath : this.#nodes.get(oid)
      if (node === undefined) continue
      node.childrenLeft -= 1
      if (node.childrenLeft === 0) this.#open -= 1
      if (this.#nodes.has(oid)) parents.push(node)
    }
    this.#advance(this.#snapshot.head, own, parents, undo)
    this.#dropUnneeded()
  }

  /** Takes back all that was verified. */
  rewind(): void {
    for (const { undo } of this.#path.splice(0).toReversed()) undo()
  }

  #advance(head: Head, own: OwnPart, parents: readonly Node[], undo: Undo): void {
    const childrenLeft = this.#children.get(head.commit) ?? 1
    const node = { head, parents, own, childrenLeft }
    if (childrenLeft > 0) this.#open += 1
    this.#path.push({ node, undo })
    if (this.#open > 1) this.#nodes.set(head.commit, node)
    // Not each time: a table that is cleared leads to the next one, and garbage would pile up.
    else if (this.#nodes.size > 0) this.#nodes.clear()
  }

  #goBackTo(at: number): void {
    for (const { undo } of this.#path.splice(at + 1).toReversed()) undo()
  }

  /** Lets go of what no commit to come can ask for. */
  #dropUnneeded(): void {
    // The last commit is where the snapshot stands; the others serve to go back.
    while (!this.#mayRewind && this.#path.length > 1 && this.#path[0]?.node.childrenLeft === 0) {
      this.#path.shift()
    }
    if (this.#nodes.size > this.#keptMax) this.#dropCommonAncestors()
  }

  /** What is an ancestor of every commit with children to come, no two of these differ in. */
  #dropCommonAncestors(): void {
    const tips = [...this.#nodes.values()].filter(({ childrenLeft }) => childrenLeft > 0)
    // Else one of them is an ancestor of all that is kept.
    if (tips.length === this.#open) {
      const pasts = tips.map((tip) => pastOf(tip))
      const [first = new Set<Node>(), ...others] = pasts
      const common = [...first].filter((node) => others.every((past) => past.has(node)))
      for (const { head } of common) this.#nodes.delete(head.commit)
      for (const node of this.#nodes.values()) {
        node.parents = node.parents.filter(({ head }) => this.#nodes.has(head.commit))
      }
    }
    this.#keptMax = Math.max(KEPT_MIN, 2 * this.#nodes.size)
  }

  /** Whether a version is of a commit that is not in the past of where the snapshot stands. */
  #isElsewhere(versionId: string): boolean {
    if (this.#nodes.size === 0) return false
    const { commit } = this.#snapshot.head
    if (this.#elsewhere?.at !== commit) {
      const here = this.#nodes.get(commit)
      const past = here === undefined ? new Set<Node>() : pastOf(here)
      const others = [...this.#nodes.values()].filter((node) => !past.has(node))
      this.#elsewhere = { at: commit, versionIds: versionsOf(others) }
    }
    return this.#elsewhere.versionIds.has(versionId)
  }

  /** Undefined if one of them is an ancestor of the other. */
  #merge(ours: Node | undefined, theirs: Node | undefined): Merging | undefined {
    if (ours === undefined || theirs === undefined) return undefined
    const sides = divergenceOf(ours, theirs)
    if (sides.ours.length === 0 || sides.theirs.length === 0) return undefined
    const divergence = { ours: touchedBy(sides.ours), theirs: touchedBy(sides.theirs) }
    const tip = tipOf(theirs.head, inOrder(sides.theirs), this.#snapshot)
    const { other, open } = compareSnapshots(this.#snapshot, tip, divergence)
    const parents = [parentHead(ours, sides.ours), parentHead(theirs, sides.theirs)]
    const isOursFirst = compareBytes(ours.head.record, theirs.head.record) < 0
    return {
      other,
      open: new Map(open.map((one) => [one.memoryId, one])),
      parents: isOursFirst ? parents : parents.toReversed(),
      isOursFirst,
    }
  }
}

/** `side` is what is in its past and not in that of the other parent. */
function parentHead({ head, own }: Node, side: readonly Node[]): ParentHead {
  const keyringChanges = side.flatMap(({ own: { keyringChange } }): readonly KeyringChange[] => {
    return keyringChange === undefined ? [] : [keyringChange]
  })
  return { head, authorId: own.authorId, keyringChanges }
}

function pastOf(tip: Node): ReadonlySet<Node> {
  const past = new Set([tip])
  for (const node of past) for (const parent of node.parents) past.add(parent)
  return past
}

function versionsOf(nodes: readonly Node[]): ReadonlySet<string> {
  const versionIds = new Set<string>()
  for (const { own } of nodes) {
    for (const { versionId } of own.memories.values()) versionIds.add(versionId)
  }
  return versionIds
}

/** What is in the past of one and not of the other. */
function divergenceOf(ours: Node, theirs: Node): Record<'ours' | 'theirs', readonly Node[]> {
  const sides: Record<'ours' | 'theirs', Node[]> = { ours: [], theirs: [] }
  const frontier = new Frontier<Node>(({ head }) => head.height)
  frontier.add(ours, 'ours')
  frontier.add(theirs, 'theirs')
  for (let next = frontier.take(); next !== undefined; next = frontier.take()) {
    if (next.reach !== 'both') sides[next.reach].push(next.commit)
    for (const parent of next.commit.parents) frontier.add(parent, next.reach)
  }
  return sides
}

/** The canonical order. */
function inOrder(nodes: readonly Node[]): readonly Node[] {
  return nodes.toSorted((a, b) => {
    return a.head.height - b.head.height || compareBytes(a.head.record, b.head.record)
  })
}

function touchedBy(nodes: readonly Node[]): Touched {
  const memories = new Set<string>()
  const devices = new Set<string>()
  for (const { own } of nodes) {
    for (const memoryId of own.memories.keys()) memories.add(memoryId)
    for (const deviceId of own.devices.keys()) devices.add(deviceId)
  }
  return { memories, devices, hasKeyring: nodes.some(({ own }) => own.keyring !== undefined) }
}

/** The state at a head, of what these commits touched: the last of each is the newest. */
function tipOf(head: Head, nodes: readonly Node[], { keyring, settings }: Snapshot): OtherTip {
  return {
    head,
    current: new Map(nodes.flatMap(({ own }) => [...own.memories])),
    devices: new Map(nodes.flatMap(({ own }) => [...own.devices])),
    keyring: lastOf(nodes, ({ own }) => own.keyring) ?? keyring,
    settings: lastOf(nodes, ({ own }) => own.settings) ?? settings,
    redacted: noVersions,
  }
}

function lastOf<T>(nodes: readonly Node[], find: (node: Node) => T | undefined): T | undefined {
  const last = nodes.findLast((node) => find(node) !== undefined)
  return last && find(last)
}

/** What redactions name is a matter of the whole head, not of its branches (FORMAT §8.1). */
const noVersions: ReadonlySet<string> = new Set()

const nothing: OwnPart = {
  authorId: '',
  memories: new Map(),
  devices: new Map(),
  keyring: undefined,
  keyringChange: undefined,
  settings: undefined,
}
