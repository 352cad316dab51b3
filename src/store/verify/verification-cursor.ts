// The verified commits that are kept because not all later ones descend from them: another branch
// begins at the snapshot of one, and a merge compares its parents with them. In a linear history
// only the newest commit is kept.

import { compareBytes } from '../../bytes.ts'
import type { Directory } from '../../format/directory.ts'
import type { Oid } from '../../git/objects/object.ts'
import { heldOf, lateOf, type SideCommit } from '../access/lateness.ts'
import { compareSnapshots, type Touched } from '../commits/divergence.ts'
import { Frontier } from '../commits/frontier.ts'
import { beforeGenesis, type Head, type Snapshot } from '../snapshot/snapshot.ts'
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
  /** Undefined once all children are verified. */
  snapshot: Snapshot | undefined
}

/** At most this many commits are kept before unneeded ones are looked for. */
const KEPT_MIN = 32

export class VerificationCursor implements Cursor {
  /** At the newest commit. */
  #snapshot: Snapshot
  readonly #children: ReadonlyMap<Oid, number>
  /** The commits with children that are not verified yet, the newest last. */
  #open: readonly Node[] = []
  readonly #nodes: Map<Oid, Node> = new Map()
  #keptMax = KEPT_MIN
  #elsewhere: { readonly at: Oid; readonly versionIds: ReadonlySet<string> } | undefined

  /**
   * Begins at the snapshot's head. `children` has the number of children of each commit that does
   * not have exactly one.
   */
  constructor(snapshot: Snapshot, children: ReadonlyMap<Oid, number>) {
    this.#snapshot = snapshot
    this.#children = children
    if (snapshot.head !== beforeGenesis) this.#keep(snapshot, noChanges, [])
  }

  get snapshot(): Snapshot {
    return this.#snapshot
  }

  /**
   * The snapshot of the parent of a commit, or of the parent of a merge that was verified last. A
   * commit without such a parent gets the newest one, and is refused later.
   */
  enter({ parents }: CheckedCommit): MergeContext & { readonly snapshot: Snapshot } {
    const parent = this.#open.findLast(({ head }) => parents.includes(head.commit))
    const snapshot = parent?.snapshot ?? this.#snapshot
    const here = snapshot.head.commit
    const isElsewhere = (versionId: string): boolean => this.#isElsewhere(here, versionId)
    const [one, two] = parents
    if (parent === undefined || one === undefined || two === undefined) {
      return { snapshot, isElsewhere }
    }
    const merging = this.#merge(this.#nodes.get(here), this.#nodes.get(here === one ? two : one))
    return { snapshot, isElsewhere, merging }
  }

  add(commit: CheckedCommit, { own, snapshot }: Verified): void {
    const parents: Node[] = []
    for (const oid of commit.parents) {
      const node = this.#open.find(({ head }) => head.commit === oid)
      if (node === undefined) continue
      node.childrenLeft -= 1
      if (node.childrenLeft === 0) {
        node.snapshot = undefined
        this.#open = this.#open.filter((other) => other !== node)
      }
      if (this.#nodes.has(oid)) parents.push(node)
    }
    this.#snapshot = snapshot
    this.#keep(snapshot, own, parents)
    if (this.#nodes.size > this.#keptMax) this.#dropCommonAncestors()
  }

  #keep(snapshot: Snapshot, own: OwnPart, parents: readonly Node[]): void {
    const { head, keyring } = snapshot
    const childrenLeft = this.#children.get(head.commit) ?? 1
    const node = { head, parents, own, directory: keyring.directory, childrenLeft, snapshot }
    if (childrenLeft > 0) this.#open = [...this.#open, node]
    if (this.#open.length > 1) this.#nodes.set(head.commit, node)
    // Not each time: V8 keeps a chain of the tables of a map that is cleared often.
    else if (this.#nodes.size > 0) this.#nodes.clear()
  }

  /** Drops the ancestors of every commit with children to come: no two of these differ in them. */
  #dropCommonAncestors(): void {
    const tips = [...this.#nodes.values()].filter(({ childrenLeft }) => childrenLeft > 0)
    // Otherwise one of them is not kept, and is an ancestor of all that are.
    if (tips.length === this.#open.length) {
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

  /** Whether a version was written by a commit outside the past of `commit`. */
  #isElsewhere(commit: Oid, versionId: string): boolean {
    if (this.#nodes.size === 0) return false
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
    if (ours?.snapshot === undefined || theirs?.snapshot === undefined) return undefined
    const sides = divergenceOf(ours, theirs)
    if (sides.ours.length === 0 || sides.theirs.length === 0) return undefined
    const divergence = { ours: touchedBy(sides.ours), theirs: touchedBy(sides.theirs) }
    const { other, open } = compareSnapshots(ours.snapshot, theirs.snapshot, divergence)
    const after = (other.keyring ?? ours.snapshot.keyring).directory
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
    const directory = keyring?.directory
    return Object.assign({ key: node, parents: node.parents, directory }, side)
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
    for (const [grantId, state] of own.grants) if (state !== undefined) begun.add(grantId)
  }
  return {
    memories,
    devices,
    begun,
    ended: new Set(nodes.flatMap(({ own }) => own.side.ends)),
    directories: nodes.flatMap(({ own }) => own.keyring?.directory ?? []),
  }
}

const noChanges: OwnPart = {
  side: { author: undefined, isOwners: false, ends: [] },
  memories: new Map(),
  devices: new Map(),
  grants: new Map(),
  keyring: undefined,
  settings: undefined,
}
