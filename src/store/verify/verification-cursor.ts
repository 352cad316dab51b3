// The position of the snapshot while a history is verified, and the commits that are kept because
// not all later ones descend from them: the snapshot moves back to one to begin another branch, and
// a merge compares its parents with them. In a linear history only the newest commit is kept.

import { compareBytes } from '../../bytes.ts'
import type { Directory } from '../../format/directory.ts'
import type { Oid } from '../../git/objects/object.ts'
import { heldOf, lateOf, type SideCommit } from '../access/lateness.ts'
import { compareSnapshots, type OtherTip, type Touched } from '../commits/divergence.ts'
import { Frontier } from '../commits/frontier.ts'
import { beforeGenesis, type Head, type Snapshot, type Undo } from '../snapshot/snapshot.ts'
import type { CheckedCommit } from './checked-commit.ts'
import type { Cursor, OwnPart, Verified } from './verify-commit.ts'
import type { MergeContext, Merging } from './verify-rows.ts'

/** A verified commit. */
interface Node {
  readonly head: Head
  /** The parents that are kept. */
  parents: readonly Node[]
  readonly own: OwnPart
  /** The directory in force there. */
  readonly directory: Directory
  /** The number of children that are not verified yet. */
  childrenLeft: number
}

/** A commit that the snapshot has passed, and how to undo that. */
interface Passed {
  readonly node: Node
  readonly undo: Undo
}

/** At most this many commits are kept before unneeded ones are looked for. */
const KEPT_MIN = 32

export class VerificationCursor implements Cursor {
  readonly #snapshot: Snapshot
  readonly #children: ReadonlyMap<Oid, number>
  /** From the oldest commit that the snapshot may go back to, to its current one. */
  readonly #path: Passed[] = []
  readonly #mayRewind: boolean
  readonly #nodes: Map<Oid, Node> = new Map()
  #keptMax = KEPT_MIN
  /** The number of commits with children that are not verified yet. */
  #open = 0
  #elsewhere: { readonly at: Oid; readonly versionIds: ReadonlySet<string> } | undefined

  /**
   * Begins at the snapshot's head. `children` has the number of children of each commit that does
   * not have exactly one. With `mayRewind`, `rewind` can undo everything.
   */
  constructor(snapshot: Snapshot, children: ReadonlyMap<Oid, number>, mayRewind: boolean) {
    this.#snapshot = snapshot
    this.#children = children
    this.#mayRewind = mayRewind
    const { head } = snapshot
    if (head !== beforeGenesis) this.#advance(head, noChanges, [], () => undefined)
  }

  /**
   * Moves the snapshot to the parent of a commit, or to the parent of a merge that was verified
   * last. Without such a parent the snapshot does not move, and the commit is refused later.
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

  /** Notes that the snapshot has moved to a commit. */
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

  /** Moves the snapshot back to where the cursor began. */
  rewind(): void {
    for (const { undo } of this.#path.splice(0).toReversed()) undo()
  }

  #advance(head: Head, own: OwnPart, parents: readonly Node[], undo: Undo): void {
    const childrenLeft = this.#children.get(head.commit) ?? 1
    const { directory } = this.#snapshot.keyring
    const node = { head, parents, own, directory, childrenLeft }
    if (childrenLeft > 0) this.#open += 1
    this.#path.push({ node, undo })
    if (this.#open > 1) this.#nodes.set(head.commit, node)
    // Not each time: V8 keeps a chain of the tables of a map that is cleared often.
    else if (this.#nodes.size > 0) this.#nodes.clear()
  }

  #goBackTo(at: number): void {
    for (const { undo } of this.#path.splice(at + 1).toReversed()) undo()
  }

  /** Drops what no later commit needs. */
  #dropUnneeded(): void {
    // The last one is the snapshot's commit; the others serve to go back.
    while (!this.#mayRewind && this.#path.length > 1 && this.#path[0]?.node.childrenLeft === 0) {
      this.#path.shift()
    }
    if (this.#nodes.size > this.#keptMax) this.#dropCommonAncestors()
  }

  /** Drops the ancestors of every commit with children to come: no two of these differ in them. */
  #dropCommonAncestors(): void {
    const tips = [...this.#nodes.values()].filter(({ childrenLeft }) => childrenLeft > 0)
    // Otherwise one of them is not kept, and is an ancestor of all that are.
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

  /** Whether a version was written by a commit outside the past of the snapshot. */
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

  /** Undefined if one parent is an ancestor of the other. */
  #merge(ours: Node | undefined, theirs: Node | undefined): Merging | undefined {
    if (ours === undefined || theirs === undefined) return undefined
    const sides = divergenceOf(ours, theirs)
    if (sides.ours.length === 0 || sides.theirs.length === 0) return undefined
    const divergence = { ours: touchedBy(sides.ours), theirs: touchedBy(sides.theirs) }
    const tip = tipOf(theirs.head, inOrder(sides.theirs), this.#snapshot)
    const { other, open } = compareSnapshots(this.#snapshot, tip, divergence)
    const after = (other.keyring ?? this.#snapshot.keyring).directory
    const ofSide = { ours: commitsOf(sides.ours), theirs: commitsOf(sides.theirs) }
    const judgings = {
      ours: { before: ours.directory, after, other: ofSide.theirs },
      theirs: { before: theirs.directory, after, other: ofSide.ours },
    }
    const isLate =
      lateOf(ofSide.ours, judgings.ours).has(ours) ||
      lateOf(ofSide.theirs, judgings.theirs).has(theirs)
    const isOursFirst = compareBytes(ours.head.record, theirs.head.record) < 0
    const parents = [ours.head, theirs.head]
    return {
      other,
      open: new Map(open.map((one) => [one.memoryId, one])),
      parents: isOursFirst ? parents : parents.toReversed(),
      isOursFirst,
      isLate,
      needsOwner:
        heldOf(ofSide.ours, judgings.ours).length > 0 ||
        heldOf(ofSide.theirs, judgings.theirs).length > 0,
    }
  }
}

function commitsOf(nodes: readonly Node[]): readonly SideCommit<Node>[] {
  return inOrder(nodes).map((node) => {
    const { side, keyring } = node.own
    const bringsKeyring = keyring !== undefined
    return Object.assign({ key: node, parents: node.parents, bringsKeyring }, side)
  })
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

/** The commits in the past of one and not of the other. */
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

/** In the canonical order. */
function inOrder(nodes: readonly Node[]): readonly Node[] {
  return nodes.toSorted((a, b) => {
    return a.head.height - b.head.height || compareBytes(a.head.record, b.head.record)
  })
}

function touchedBy(nodes: readonly Node[]): Touched {
  const memories = new Set<string>()
  const devices = new Set<string>()
  const begun = new Set<string>()
  for (const { own } of nodes) {
    for (const memoryId of own.memories.keys()) memories.add(memoryId)
    for (const deviceId of own.devices.keys()) devices.add(deviceId)
    for (const [grantId, { ended }] of own.grants) if (!ended) begun.add(grantId)
  }
  return {
    memories,
    devices,
    begun,
    hasKeyring: nodes.some(({ own }) => own.keyring !== undefined),
  }
}

/** The state at a head of all that these commits touched: the last write is the newest. */
function tipOf(head: Head, nodes: readonly Node[], { keyring, settings }: Snapshot): OtherTip {
  return {
    head,
    current: new Map(nodes.flatMap(({ own }) => [...own.memories])),
    devices: new Map(nodes.flatMap(({ own }) => [...own.devices])),
    grants: new Map(nodes.flatMap(({ own }) => [...own.grants])),
    keyring: lastOf(nodes, ({ own }) => own.keyring) ?? keyring,
    settings: lastOf(nodes, ({ own }) => own.settings) ?? settings,
    redacted: noVersions,
  }
}

function lastOf<T>(nodes: readonly Node[], find: (node: Node) => T | undefined): T | undefined {
  const last = nodes.findLast((node) => find(node) !== undefined)
  return last && find(last)
}

/** Redacted versions belong to the whole head, not to its branches (FORMAT §8.1). */
const noVersions: ReadonlySet<string> = new Set()

const noChanges: OwnPart = {
  side: { author: undefined, isOwners: false, ends: [] },
  memories: new Map(),
  devices: new Map(),
  grants: new Map(),
  keyring: undefined,
  settings: undefined,
}
