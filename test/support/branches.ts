// A store of several devices whose branches part and meet, with real commits in RAM. Each commit is
// kept with the contents of the store at it and the commits below it: a plain account next to the
// product's. Merges by one simple rule: the merged texts do not matter here.

import { toHex } from '../../src/bytes.ts'
import { sha256 } from '../../src/crypto/digest.ts'
import type { Random } from '../../src/crypto/random.ts'
import { zeroHash, zeroId } from '../../src/format/record.ts'
import type { GitObject, Oid } from '../../src/git/objects/object.ts'
import type { Identity } from '../../src/index.ts'
import type { CommitContext } from '../../src/store/commits/commit-context.ts'
import { buildChange, buildMerge, type BuiltVersions } from '../../src/store/commits/commit.ts'
import { compareSnapshots, type OpenVersions } from '../../src/store/commits/divergence.ts'
import type { MergeRow, PlannedRow } from '../../src/store/commits/new-rows.ts'
import { ContentCache, type ContentSource } from '../../src/store/history/contents.ts'
import type { Snapshot } from '../../src/store/snapshot/snapshot.ts'
import { verifyHistory } from '../../src/store/verify/verify.ts'
import { countingRandom } from './forge-seal.ts'
import { Forge } from './forge.ts'

/** A row with the ids that its commit gave it. */
type WrittenRow = MergeRow & { readonly versionId: string }

export interface MemoryThen {
  readonly versionId: string
  readonly path: string
  readonly content: string
}

export interface Node {
  readonly oid: Oid
  readonly height: number
  readonly hash: string
  readonly time: number
  readonly parents: readonly Node[]
  /** Itself included. */
  readonly past: ReadonlySet<Node>
  readonly rows: readonly WrittenRow[]
  /** As it was right after this commit. */
  readonly snapshot: Snapshot
  readonly memories: ReadonlyMap<string, MemoryThen | undefined>
  /** The id of the memory with this name; empty if none was written yet. */
  readonly idOf: (name: string) => string
}

/** What a device writes: undefined deletes. Memories are named by any text. */
export interface Write {
  readonly memory: string
  readonly path: string
  readonly content: string | undefined
}

export interface Step {
  /** The number of a device. */
  readonly by: number
  readonly time: number
  readonly session?: string
}

export class Branches {
  readonly root: Node
  /** Parents come before their children. */
  readonly nodes: Node[]
  readonly contents: ContentSource
  readonly #objects: Map<Oid, GitObject>
  readonly #devices: readonly Identity[]
  readonly #forge: Forge
  readonly #random: Random
  /** The ids of memories by name. */
  readonly #ids: Map<string, string>

  private constructor(
    forge: Forge,
    devices: readonly Identity[],
    root: Node,
    ids: Map<string, string>,
  ) {
    this.#forge = forge
    this.#ids = ids
    this.#devices = devices
    this.#random = countingRandom('branches')
    this.root = root
    this.nodes = [root]
    this.#objects = forge.objects
    const { storeId, epochs } = forge
    const objects = { read: (oid: Oid) => this.#objects.get(oid) }
    this.contents = { objects, storeId, epochs, cache: new ContentCache() }
  }

  /** The root is the commit that brought the last device. Times start at that of the root. */
  static async start(devices: number): Promise<Branches> {
    const forge = await Forge.started('branches')
    const identities: Identity[] = []
    while (identities.length < devices) identities.push(await forge.join('writer'))
    const { objects, storeId, epochs, head } = forge
    const source = { objects: { read: (oid: Oid) => objects.get(oid) }, storeId, epochs }
    const { snapshot } = await verifyHistory(source, head)
    const time = forge.entries.at(-1)?.record.time ?? 0
    const { height, record } = snapshot.head
    const place = { oid: head, height, hash: toHex(record), time, parents: [], rows: [] }
    const ids = new Map<string, string>()
    const idOf = (name: string): string => ids.get(name) ?? ''
    const root: Node = { ...place, snapshot, memories: new Map(), past: new Set(), idOf }
    Object.assign(root, { past: new Set([root]) })
    return new Branches(forge, identities, root, ids)
  }

  get source(): Pick<ContentSource, 'objects' | 'storeId' | 'epochs'> {
    return this.contents
  }

  async write(on: Node, step: Step, writes: readonly Write[]): Promise<Node> {
    const { snapshot } = on
    const planned = writes
      .map((write) => ({ write, row: this.#plan(on, write, step) }))
      .toSorted((a, b) => (a.row.memoryId < b.row.memoryId ? -1 : 1))
    const rows = planned.map(({ row }) => row)
    const context = this.#context(snapshot, step)
    const built = await buildChange(context, snapshot, rows, authorOf(step))
    const merged = rows.map((row) => ({ ...row, secondBase: zeroId }))
    const node = this.#add(step, [on], merged, built)
    for (const [index, { write }] of planned.entries()) {
      this.#ids.set(write.memory, node.rows[index]?.memoryId ?? '')
    }
    return node
  }

  /** Undefined if one is in the past of the other. */
  async merge(
    ours: Node,
    theirs: Node,
    step: Step,
    resolve: Resolve = unite,
    more: (ours: Node, theirs: Node) => readonly MergeRow[] = () => [],
  ): Promise<Node | undefined> {
    if (ours.past.has(theirs) || theirs.past.has(ours)) return undefined
    const { snapshot } = ours
    const sides = { ours: sideOf(ours, theirs), theirs: sideOf(theirs, ours) }
    const { other, open } = compareSnapshots(snapshot, theirs.snapshot, sides)
    const rows = open
      .map((memory) => this.#planMerge(memory, ours, theirs, resolve))
      .concat(more(ours, theirs))
      .toSorted((a, b) => (a.memoryId < b.memoryId ? -1 : 1))
    const { deviceId } = this.#device(step)
    const own = other.devices.get(deviceId) ?? snapshot.devices.get(deviceId)
    const context = this.#context(snapshot, step, own)
    const built = await buildMerge(context, snapshot, other, { rows, author: authorOf(step) })
    return this.#add(step, [ours, theirs], rows, built)
  }

  /** A row for a settled memory that a merge makes different. */
  settledRow(memoryId: string, settled: MemoryThen, next: Write): MergeRow {
    const operation = next.content === undefined ? 'deleted' : 'modified'
    const row = this.#row(memoryId, settled.versionId, operation, next, this.root.time)
    return { ...row, secondBase: zeroId }
  }

  #plan(on: Node, write: Write, { time }: Step): PlannedRow {
    const memoryId = this.#ids.get(write.memory) ?? zeroId
    const known = on.snapshot.current.get(memoryId)
    const isNew = known === undefined || known.operation === 'deleted'
    const kept = isNew ? 'created' : 'modified'
    const operation = write.content === undefined ? 'deleted' : kept
    return this.#row(memoryId, known?.versionId ?? zeroId, operation, write, known?.created ?? time)
  }

  #planMerge(
    { memoryId, ours, theirs }: OpenVersions,
    a: Node,
    b: Node,
    resolve: Resolve,
  ): MergeRow {
    const sides = [a, b].map((node) => node.memories.get(memoryId))
    const next = resolve(sides[0], sides[1])
    const created = Math.min(ours.created, theirs.created)
    const operation = next?.content === undefined ? 'deleted' : 'modified'
    const write = next ?? { path: '/gone', content: undefined }
    const row = this.#row(memoryId, ours.versionId, operation, write, created)
    return { ...row, secondBase: theirs.versionId }
  }

  #row(
    memoryId: string,
    base: string,
    operation: PlannedRow['operation'],
    { path, content }: Pick<Write, 'path' | 'content'>,
    created: number,
  ): PlannedRow {
    const bytes = Buffer.from(content ?? '')
    const facts = { memoryId, base, operation, path, content, created }
    const hash = content === undefined ? '' : toHex(sha256(bytes))
    return { ...facts, size: bytes.length, sha256: hash }
  }

  #device({ by }: Step): Identity {
    const device = this.#devices[by]
    if (device === undefined) throw new RangeError('There are not so many devices')
    return device
  }

  #context(
    snapshot: Snapshot,
    step: Step,
    own = snapshot.devices.get(this.#device(step).deviceId),
  ): CommitContext {
    const { deviceId, signing } = this.#device(step)
    const sequence = (own?.sequence ?? 0) + 1
    const signer = { deviceId, pair: signing, sequence, previous: own?.record ?? zeroHash }
    const { storeId, epoch } = this.#forge
    return { storeId, epoch, signer, time: step.time, random: this.#random }
  }

  #add(
    { time }: Step,
    parents: readonly Node[],
    rows: readonly MergeRow[],
    { snapshot, objects, versionIds }: BuiltVersions,
  ): Node {
    for (const { oid, type, body } of objects) this.#objects.set(oid, { type, body })
    const named = rows.map((row, index) => ({ ...row, versionId: versionIds[index] ?? '' }))
    const byVersion = new Map(named.map((row) => [row.versionId, row]))
    const memories = new Map<string, MemoryThen | undefined>()
    for (const [memoryId, { versionId, live }] of snapshot.current) {
      const row = byVersion.get(versionId)
      const known = parents
        .map((parent) => parent.memories.get(memoryId))
        .find((memory) => memory?.versionId === versionId)
      const next = row?.content === undefined ? known : { ...row, content: row.content }
      memories.set(memoryId, live && next && { versionId, path: next.path, content: next.content })
    }
    const { head } = snapshot
    const place = { oid: head.commit, height: head.height, hash: toHex(head.record), time }
    const past = new Set<Node>(parents.flatMap((parent) => [...parent.past]))
    const { idOf } = this.root
    const written = rowsOf(named, snapshot)
    const node: Node = { ...place, parents, past, rows: written, snapshot, memories, idOf }
    past.add(node)
    this.nodes.push(node)
    return node
  }
}

type Resolve = (
  ours: MemoryThen | undefined,
  theirs: MemoryThen | undefined,
) => Pick<Write, 'path' | 'content'> | undefined

/** An edit beats a deletion; of two texts, every line once, those of the smaller text first. */
function unite(
  ours: MemoryThen | undefined,
  theirs: MemoryThen | undefined,
): Pick<Write, 'path' | 'content'> | undefined {
  if (ours === undefined || theirs === undefined) return ours ?? theirs
  const [first, second] = ours.content < theirs.content ? [ours, theirs] : [theirs, ours]
  const lines = new Set([...first.content.split('\n'), ...second.content.split('\n')])
  lines.delete('')
  const content = [...lines].map((line) => `${line}\n`).join('')
  return { path: first.path, content }
}

/** Ascending (record height, record hash): the order of the history. */
export function inCanonicalOrder(nodes: Iterable<Node>): readonly Node[] {
  return [...nodes].toSorted((a, b) => a.height - b.height || (a.hash < b.hash ? -1 : 1))
}

function sideOf(node: Node, other: Node) {
  const own = [...node.past].filter((one) => !other.past.has(one))
  const { devices } = node.snapshot
  return {
    memories: new Set(own.flatMap(({ rows }) => rows.map(({ memoryId }) => memoryId))),
    devices: new Set(
      [...devices].flatMap(([id, { record }]) => {
        return own.some(({ hash }) => hash === toHex(record)) ? [id] : []
      }),
    ),
    begun: new Set<string>(),
    ended: new Set<string>(),
    directories: [],
  }
}

/** A new memory is the one whose current version its row wrote. */
function rowsOf(rows: readonly WrittenRow[], { current }: Snapshot): readonly WrittenRow[] {
  if (rows.every(({ memoryId }) => memoryId !== zeroId)) return rows
  const memories = new Map([...current].map(([memoryId, { versionId }]) => [versionId, memoryId]))
  return rows.map((row) => ({ ...row, memoryId: memories.get(row.versionId) ?? row.memoryId }))
}

function authorOf({ session = 'agent' }: Step) {
  return { actor: { type: 'session' as const, id: session }, session }
}
