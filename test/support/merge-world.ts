// Some clones of one store that change it and merge each other, in memory: what sync does, without
// remotes, and with the plainest decisions that the rules of a merge allow.

import { toHex, utf8 } from '../../src/bytes.ts'
import { sha256 } from '../../src/crypto/digest.ts'
import type { GitObject, Oid } from '../../src/git/objects/object.ts'
import type { EpochKeys } from '../../src/keys/epoch.ts'
import type { Identity } from '../../src/keys/identity.ts'
import { type Change, planChanges } from '../../src/store/changes/changes.ts'
import type { CommitContext, OtherParent } from '../../src/store/commits/commit-context.ts'
import {
  buildAdministration,
  buildChange,
  buildMerge,
  type BuiltCommit,
} from '../../src/store/commits/commit.ts'
import {
  compareSnapshots,
  findDivergence,
  type OpenVersions,
} from '../../src/store/commits/divergence.ts'
import type { MergeRow } from '../../src/store/commits/new-rows.ts'
import { sealSettings } from '../../src/store/devices/administration.ts'
import { catchUp } from '../../src/store/history/catch-up.ts'
import { ContentCache, type ContentSource, readMemory } from '../../src/store/history/contents.ts'
import { History, type HistorySource } from '../../src/store/history/history.ts'
import { followHead } from '../../src/store/session/current-state.ts'
import type { LiveMemory } from '../../src/store/snapshot/live-memory.ts'
import type { Snapshot } from '../../src/store/snapshot/snapshot.ts'
import { verifyHistory } from '../../src/store/verify/verify.ts'
import { countingRandom } from './forge-seal.ts'
import type { Clones } from './forged-clones.ts'
import type { Evidence } from './verdict.ts'

export interface Clone {
  readonly identity: Identity
  readonly history: History
  snapshot: Snapshot
}

const author = { actor: { type: 'user', id: 'world' } } as const
const firstTime = 1_800_000_000_000

export class MergeWorld {
  readonly objects: Map<Oid, GitObject>
  readonly storeId: string
  readonly epochs: ReadonlyMap<string, EpochKeys>
  readonly clones: Clone[] = []
  readonly source: HistorySource
  readonly #cache = new ContentCache()
  readonly #random = countingRandom('merge world')
  #time = firstTime

  private constructor(evidence: Evidence) {
    this.objects = new Map(evidence.objects)
    this.storeId = evidence.storeId
    this.epochs = evidence.epochs
    const { objects, storeId, epochs } = this
    this.source = { objects: { read: (oid) => objects.get(oid) }, storeId, epochs }
  }

  /** Two owners and a writer, in this order, each with a clone of the standard history. */
  static async create({ left, second, writer }: Clones): Promise<MergeWorld> {
    const world = new MergeWorld(left.evidence)
    for (const identity of [left.founder, second, writer]) {
      const { snapshot } = await verifyHistory(world.source, left.head)
      world.clones.push({ identity, history: new History(), snapshot })
    }
    return world
  }

  headOf({ snapshot }: Clone): Evidence {
    const { objects, storeId, epochs } = this
    return { objects, storeId, epochs, head: snapshot.head.commit }
  }

  /** False if the snapshot does not let it be done. */
  async change(clone: Clone, change: Change): Promise<boolean> {
    const { identity, snapshot } = clone
    const context = this.#contextOf(identity, snapshot)
    const { time: now } = context
    const readContent = (memory: LiveMemory): string => readMemory(this.#contents(), memory)
    const { rows } = await planChanges({ snapshot, now, readContent }, [change])
    if (rows.length > 0) this.#keep(clone, await buildChange(context, snapshot, rows, author))
    return rows.length > 0
  }

  async rename(clone: Clone, name: string): Promise<void> {
    const { identity, snapshot } = clone
    const context = this.#contextOf(identity, snapshot)
    const value = { ...snapshot.settings.value, name }
    const settings = { bytes: sealSettings(context, value), value }
    const fields = { kind: 'settings', actor: author.actor } as const
    this.#keep(clone, await buildAdministration(context, snapshot, fields, { settings }))
  }

  /** `ours` takes over what `theirs` has. */
  async sync(ours: Clone, theirs: Clone): Promise<'nothing' | 'moved' | 'merged'> {
    const { snapshot } = ours
    const [from, to] = [snapshot.head.commit, theirs.snapshot.head.commit]
    const divergence = await findDivergence(this.source, from, to)
    if (divergence.theirs.commits.length === 0) return 'nothing'
    if (divergence.ours.commits.length === 0) {
      const fill = async () => {
        await catchUp(ours.history, this.source, from, {})
        return ours.history
      }
      const known = { fill, findLeftFor: async () => undefined }
      ours.snapshot = (await followHead(this.source, snapshot, to, known)).snapshot
      return 'moved'
    }
    const { other, open } = compareSnapshots(snapshot, theirs.snapshot, divergence)
    const context = this.#contextOf(ours.identity, snapshot, other)
    const rows = open.map((one) => this.#unite(one))
    this.#keep(ours, await buildMerge(context, snapshot, other, { rows, author }))
    return 'merged'
  }

  /** Both texts, or a deletion if neither is left. The path is free: no two memories share one. */
  #unite({ memoryId, ours, theirs }: OpenVersions): MergeRow {
    const lives = [ours.live, theirs.live].flatMap((live) => live ?? [])
    const texts = lives.map((live) => readMemory(this.#contents(), live)).toSorted()
    const content = lives.length === 0 ? undefined : [...new Set(texts)].join('')
    const [base, secondBase] = [ours.versionId, theirs.versionId]
    return {
      memoryId,
      base,
      secondBase,
      operation: content === undefined ? 'deleted' : 'modified',
      path: lives[0]?.path ?? '/gone.md',
      content,
      size: Buffer.byteLength(content ?? ''),
      sha256: content === undefined ? '' : toHex(sha256(utf8(content))),
      created: ours.created,
    }
  }

  #contextOf(identity: Identity, snapshot: Snapshot, other?: OtherParent): CommitContext {
    const { deviceId, signing: pair } = identity
    const last = other?.devices.get(deviceId) ?? snapshot.devices.get(deviceId)
    const previous = last?.record ?? new Uint8Array(32)
    const signer = { deviceId, pair, sequence: (last?.sequence ?? 0) + 1, previous }
    const epoch = this.epochs.get((other?.keyring ?? snapshot.keyring).kid)
    if (epoch === undefined) throw new Error('The epoch is unknown')
    this.#time += 1000
    return { storeId: this.storeId, epoch, signer, time: this.#time, random: this.#random }
  }

  #contents(): ContentSource {
    return { ...this.source, cache: this.#cache }
  }

  #keep(clone: Clone, { objects, snapshot }: BuiltCommit): void {
    clone.snapshot = snapshot
    for (const { oid, type, body } of objects) this.objects.set(oid, { type, body })
  }
}
