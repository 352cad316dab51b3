// Makes histories with real keys in which exactly one thing is wrong: an author that may do
// anything, with a hook at every layer of a commit. Whatever lies above a fault (seals, signatures,
// hashes, the commits on top) is made as if there were no fault. Keeps its own account of the
// history, so that a check that is missing in the product is not missing here too.

import { equalBytes, toHex } from '../../src/bytes.ts'
import { hash256 } from '../../src/crypto/digest.ts'
import type { Random } from '../../src/crypto/random.ts'
import { gitHash } from '../../src/crypto/sha1.ts'
import type {
  ChangeRecord,
  GrantRow,
  RecordBody,
  SignedRow,
} from '../../src/format/change-record.ts'
import { type CommitParts, encodeCommit, parseCommit } from '../../src/format/commit.ts'
import { detailCommitment, type DetailRow } from '../../src/format/detail.ts'
import { type Directory, directoryHash, type Role } from '../../src/format/directory.ts'
import { memoryContext, recordContext } from '../../src/format/envelope.ts'
import { grantIdOf, seedOf, storeIdOf } from '../../src/format/id.ts'
import { encodeMemoryBlob } from '../../src/format/memory-blob.ts'
import { readmeFile, storeFile } from '../../src/format/public-files.ts'
import { grantRowKey } from '../../src/format/record-rules.ts'
import { recordHash, zeroHash, zeroId, nameRows } from '../../src/format/record.ts'
import { encodeSettings, type Settings } from '../../src/format/settings.ts'
import type { GitObject, ObjectType, Oid } from '../../src/git/objects/object.ts'
import { type EpochKeys, epochKeys } from '../../src/keys/epoch.ts'
import { generateIdentity, type Identity } from '../../src/keys/identity.ts'
import { recoveryKeyIdentity } from '../../src/keys/recovery.ts'
import { quotaDefault } from '../../src/limits.ts'
import { baseRecord, encodeForged, forgeDetail, signForged, targetRow } from './forge-commit.ts'
import {
  type Chain,
  type Entry,
  type Fault,
  type ForgedAuthor,
  type ForgedGrantRow,
  memberOf,
  type MemoryState,
  type NewRow,
  plainSettings,
  withMember,
  withRemovals,
} from './forge-fault.ts'
import { forgeKeyring, type KeyringFault, type KeyringPlan } from './forge-keyring.ts'
import { fileInForce, inOrder, type MergedForks, mergeForks } from './forge-merge.ts'
import { countingRandom, encodeRawTree, inGitOrder, type RawEntry, seal } from './forge-seal.ts'
import { forgeTree } from './forge-tree.ts'
import type { Evidence } from './verdict.ts'

interface Draft {
  readonly fields: Pick<RecordBody, 'kind'> & Partial<RecordBody>
  /** By default the newest entry. */
  readonly parents?: readonly Entry[]
  readonly rows?: readonly NewRow[]
  readonly keyring?: Uint8Array
  readonly settings?: Uint8Array
}

export class Forge {
  readonly random: Random
  readonly founder: Identity
  readonly seed: string
  readonly objects: Map<Oid, GitObject>
  entries: readonly Entry[] = []
  epochs: ReadonlyMap<string, EpochKeys>
  epoch: EpochKeys
  directory: Directory
  keyringRecord: Uint8Array = zeroHash
  memories: ReadonlyMap<string, MemoryState> = new Map()
  chains: ReadonlyMap<string, Chain> = new Map()
  /** From genesis on. */
  #storeId: string | undefined
  /** The ids of the versions and memories written, by the labels of the test. */
  #ids: ReadonlyMap<string, string> = new Map()

  private constructor(random: Random, founder: Identity, directory: Directory, epoch: EpochKeys) {
    this.random = random
    this.founder = founder
    this.directory = directory
    this.epoch = epoch
    this.epochs = new Map([[epoch.kid, epoch]])
    this.seed = epoch.seed
    this.objects = new Map()
    this.put('blob', readmeFile)
  }

  /** Nothing but a founder with a recovery key of bytes 7; `genesis` comes next. */
  static async create(name = 'forge'): Promise<Forge> {
    const random = countingRandom(name)
    const founder = await generateIdentity(random)
    const founderRandom = random(32)
    const seed = seedOf(founder.signing.publicKey, founderRandom)
    const recovery = recoveryKeyIdentity({ seed }, new Uint8Array(32).fill(7))
    const keys = { signingKey: recovery.signing.publicKey, kemKey: recovery.kem.publicKey }
    const directory: Directory = {
      number: 0,
      previous: undefined,
      devices: [memberOf(founder, 'owner', 0)],
      removed: [],
      recovery: [{ slotId: 'aa'.repeat(16), type: 'recovery', ...keys }],
      quota: quotaDefault,
      givers: 'owners and writers',
      founderRandom,
    }
    return new Forge(random, founder, directory, epochKeys(seed, random(32), random(32)))
  }

  /** With a genesis. */
  static async started(name?: string): Promise<Forge> {
    const forge = await Forge.create(name)
    forge.genesis()
    return forge
  }

  get storeId(): string {
    if (this.#storeId === undefined) throw new Error('A forged store has no id before its genesis')
    return this.#storeId
  }

  get head(): Oid {
    return this.entries.at(-1)?.oid ?? ''
  }

  get evidence(): Evidence {
    const { objects, storeId, epochs, head } = this
    return { objects, storeId, epochs, head }
  }

  /** The same history, to go on with in another way. */
  fork(): Forge {
    const { random, founder, directory, epoch } = this
    const { entries, epochs, keyringRecord, memories, chains, objects } = this
    const copy = new Forge(random, founder, directory, epoch)
    for (const [oid, object] of objects) copy.objects.set(oid, object)
    copy.#storeId = this.#storeId
    copy.#ids = this.#ids
    return Object.assign(copy, { entries, epochs, keyringRecord, memories, chains })
  }

  /**
   * The id of the memory or version with this label; any other text is returned as the id itself.
   */
  idOf(label: string): string {
    return this.#ids.get(label) ?? label
  }

  put(type: ObjectType, body: Uint8Array): Oid {
    const oid = gitHash(type, body)
    this.objects.set(oid, { type, body })
    return oid
  }

  genesis(fault: Fault = {}, keyringFault?: KeyringFault): Oid {
    const keyring = forgeKeyring(this.#keyringPlan(this.directory, this.epoch, []), keyringFault)
    const settings = this.#sealSettings(plainSettings)
    const hashes = { keyringHash: hash256(keyring), settingsHash: hash256(settings) }
    return this.#append({ fields: { kind: 'genesis', ...hashes }, keyring, settings }, fault)
  }

  change(rows: readonly NewRow[], fault: Fault = {}): Oid {
    return this.#append({ fields: { kind: 'change' }, rows: this.#inOrder(rows) }, fault)
  }

  /**
   * A merge with a fork of this history. Settled rows follow from the history; the caller gives the
   * rows for conflicts, whose bases follow.
   */
  merge(other: Forge, rows: readonly NewRow[] = [], fault: Fault = {}): Oid {
    const { parents, based, keyringIsTheirs } = this.#meet(other, rows)
    if (keyringIsTheirs) {
      const { directory, epoch, epochs, keyringRecord } = other
      Object.assign(this, { directory, epoch, epochs, keyringRecord })
    }
    return this.#append({ fields: { kind: 'change' }, rows: based, parents }, fault)
  }

  redact(
    targets: readonly (readonly [memoryId: string, versionId: string])[],
    fault: Fault = {},
  ): Oid {
    const named = targets.map(([memory, version]) => {
      return targetRow(this.idOf(memory), this.idOf(version))
    })
    const rows = inOrder(named, ({ memoryId, base }) => memoryId + base)
    return this.#append({ fields: { kind: 'redact', reason: 'leaked_secret', rows } }, fault)
  }

  grants(rows: readonly ForgedGrantRow[], fault: Fault = {}): Oid {
    const grants = rows.map((row): GrantRow => {
      if (row.begins !== undefined || 'grantId' in row) return row
      return { grantId: this.grantIdOf(row.key), begins: undefined }
    })
    const sorted = inOrder(grants, (row) => toHex(grantRowKey(row)))
    return this.#append({ fields: { kind: 'grants', grants: sorted } }, fault)
  }

  /** The grant of a key that was begun last here, or would be the founder's. */
  grantIdOf(key: Uint8Array): string {
    const begun = this.entries.findLast(({ record }) => {
      return record.grants.some((row) => row.begins && equalBytes(row.key, key))
    })
    return grantIdOf(begun?.record.deviceId ?? this.founder.deviceId, key)
  }

  settings(settings: Settings, fault: Fault = {}): Oid {
    const sealed = this.#sealSettings(settings)
    const settingsHash = hash256(sealed)
    return this.#append({ fields: { kind: 'settings', settingsHash }, settings: sealed }, fault)
  }

  /** Replaces the directory; `change` makes it from one that differs by its number only. */
  keyring(
    change: (next: Directory) => Directory,
    options: { fault?: Fault; keyringFault?: KeyringFault; epoch?: EpochKeys } = {},
  ): Oid {
    const { fault = {}, keyringFault, epoch = this.epoch } = options
    const previous = directoryHash(this.seed, this.directory)
    const number = this.directory.number + 1
    const next = { ...this.directory, number, previous, founderRandom: undefined }
    const directory = withRemovals(next, change(next), this.chains)
    const older = [...this.epochs.values()].filter(({ kid }) => kid !== epoch.kid)
    const keyring = forgeKeyring(this.#keyringPlan(directory, epoch, older), keyringFault)
    const named = { keyringHash: hash256(keyring), directoryNumber: directory.number }
    const oid = this.#append({ fields: { kind: 'keyring', ...named }, keyring }, fault)
    this.directory = directory
    this.epoch = epoch
    this.epochs = new Map([...this.epochs, [epoch.kid, epoch]])
    return oid
  }

  newEpoch(): EpochKeys {
    return epochKeys(this.seed, this.random(32), this.random(32))
  }

  /** A new identity that a keyring makes a device. */
  async join(role: Role): Promise<Identity> {
    const identity = await generateIdentity(this.random)
    this.keyring((next) => withMember(next, identity, role))
    return identity
  }

  /** Makes the whole history again as rewrite(·, R) of FORMAT §10 does, on the same records. */
  rewrite(erased: ReadonlySet<string>, kept: { detail?: string; blob?: string } = {}): Oid {
    const redacted = new Set(Array.from(erased, (label) => this.idOf(label)))
    const [keptDetail, keptBlob] = [this.idOf(kept.detail ?? ''), this.idOf(kept.blob ?? '')]
    const shown = new Map<string, Oid>()
    let parent: Oid | undefined
    this.entries = this.entries.map((entry) => {
      const rows = entry.record.kind === 'change' ? entry.record.rows : []
      for (const { memoryId, versionId } of rows) {
        const blob = entry.blobs.get(memoryId)
        const gone = redacted.has(versionId) && versionId !== keptBlob
        if (blob === undefined || gone) shown.delete(memoryId)
        else shown.set(memoryId, blob)
      }
      const details = entry.details.filter((detail) => {
        const versionId = rows[detail.row]?.versionId ?? ''
        return !redacted.has(versionId) || versionId === keptDetail
      })
      const tree = forgeTree(this, shown, entry)
      const parents = parent === undefined ? [] : [parent]
      const bytes = encodeForged(this, { ...entry, details }, { tree, parents }, {})
      const oid = this.put('commit', bytes)
      parent = oid
      return { ...entry, oid }
    })
    return this.head
  }

  /** Takes a commit apart, changes its parts and signs it again: a fault of git's layer alone. */
  remake(oid: Oid, change: (parts: CommitParts) => CommitParts): Oid {
    const parts = parseCommit(this.objects.get(oid)?.body ?? new Uint8Array())
    return this.put('commit', encodeCommit(change(parts), this.epoch.group))
  }

  /** A tree of any entries, in git's order. */
  tree(entries: readonly RawEntry[]): Oid {
    return this.put('tree', encodeRawTree(inGitOrder(entries)))
  }

  /** What both heads make together, with bases for the rows that are due. */
  #meet(
    other: Forge,
    rows: readonly NewRow[],
  ): MergedForks & { readonly based: readonly NewRow[] } {
    const merged = mergeForks(this, other)
    const { entries, memories, chains, open } = merged
    for (const [oid, object] of other.objects) this.objects.set(oid, object)
    Object.assign(this, { entries, memories, chains })
    this.#ids = new Map([...other.#ids, ...this.#ids])
    const basesOf = (row: NewRow) => open.get(this.idOf(row.memoryId))
    return { ...merged, based: this.#inOrder(rows).map((row) => ({ ...basesOf(row), ...row })) }
  }

  /** New memories come first (FORMAT §6.1). */
  #inOrder(rows: readonly NewRow[]): readonly NewRow[] {
    return inOrder(rows, (row) => (this.#isNew(row) ? '' : this.idOf(row.memoryId)))
  }

  #isNew({ memoryId, operation, base = zeroId }: NewRow): boolean {
    return operation === 'created' && base === zeroId && !this.memories.has(this.idOf(memoryId))
  }

  #authorOf(author: ForgedAuthor): ForgedAuthor {
    const { heldKey } = author
    return heldKey === undefined ? author : { ...author, deviceId: this.grantIdOf(heldKey) }
  }

  #keyringPlan(directory: Directory, epoch: EpochKeys, older: readonly EpochKeys[]): KeyringPlan {
    return { directory, epoch, older }
  }

  #sealSettings(settings: Settings): Uint8Array {
    const context = recordContext(this)
    const parts = { type: 'settings', keys: this.epoch.settings, context } as const
    return seal({ ...parts, hedge: this.random(32), plaintext: encodeSettings(settings) })
  }

  #append(draft: Draft, fault: Fault): Oid {
    const epoch = fault.epoch ?? this.epoch
    const author = this.#authorOf(fault.author ?? this.founder)
    const parents = draft.parents ?? this.entries.slice(-1)
    const base = baseRecord(this, draft.fields, parents, author)
    const planned = draft.rows ?? []
    const details = planned.map((row, index) => forgeDetail(this.random, row, index, fault))
    const drafted = draft.rows ? { ...base, rows: this.#sign(planned, details) } : base
    const body = fault.record?.(drafted) ?? drafted
    const signed = signForged(this, body, author, fault)
    const hash = recordHash(this, signed)
    this.#storeId ??= this.#found(hash, fault)
    const record = nameRows(this.storeId, body, hash)
    const blobs = this.#write(planned, record, { details, epoch, fault })
    const spoil = fault.swappedFile ?? ((bytes: Uint8Array) => bytes)
    const keyring = draft.keyring
      ? this.put('blob', spoil(draft.keyring))
      : fileInForce(this.entries, 'keyring')
    const settings = draft.settings
      ? this.put('blob', spoil(draft.settings))
      : fileInForce(this.entries, 'settings')
    const shown = new Map<string, Oid>()
    for (const [id, { blob }] of this.memories) if (blob !== undefined) shown.set(id, blob)
    const tree = forgeTree(this, fault.memories?.(shown) ?? shown, { keyring, settings }, fault)
    const spoiled = fault.details?.(details) ?? details
    const made = { record, signed, hash, epoch, details: spoiled, blobs, keyring, settings }
    const parentOids = parents.map((parent) => parent.oid)
    const bytes = encodeForged(this, made, { tree, parents: parentOids }, fault)
    const oid = this.put('commit', bytes)
    this.entries = [...this.entries, { oid, ...made }]
    const chain = { sequence: record.sequence, hash, time: record.time }
    if (record.sequence > 0) this.chains = new Map([...this.chains, [record.deviceId, chain]])
    if (draft.keyring !== undefined) this.keyringRecord = hash
    return oid
  }

  /** The id that the record of the genesis gives the store, and the file that names it. */
  #found(genesis: Uint8Array, fault: Fault): string {
    const storeId = fault.storeId ?? storeIdOf(genesis)
    this.put('blob', storeFile(storeId))
    return storeId
  }

  #sign(rows: readonly NewRow[], details: readonly DetailRow[]): readonly SignedRow[] {
    return rows.map((row, index) => {
      const { operation, secondBase = zeroId } = row
      const before = this.memories.get(this.idOf(row.memoryId))
      const memoryId = this.#isNew(row) ? zeroId : this.idOf(row.memoryId)
      const base = this.idOf(row.base ?? before?.versionId ?? zeroId)
      const detail = details[index]
      const commitment = detail ? detailCommitment(detail.blinding, detail) : zeroHash
      return { memoryId, base, secondBase: this.idOf(secondBase), operation, commitment }
    })
  }

  /** Notes the versions of a record, which has its ids now, and makes their blobs. */
  #write(
    planned: readonly NewRow[],
    record: ChangeRecord,
    made: { details: readonly DetailRow[]; epoch: EpochKeys; fault: Fault },
  ): ReadonlyMap<string, Oid> {
    const blobs = new Map<string, Oid>()
    const memories = new Map(this.memories)
    const ids = new Map(this.#ids)
    planned.forEach((row, index) => {
      const { operation, path, content = '' } = row
      const [named, detail] = [record.rows[index], made.details[index]]
      if (named === undefined || detail === undefined) return
      const { memoryId, versionId } = named
      ids.set(row.memoryId, memoryId).set(row.versionId ?? versionId, versionId)
      const created = this.memories.get(memoryId)?.created ?? record.time
      const state = { versionId, operation, path, created }
      memories.set(memoryId, { ...state, blob: undefined })
      if (operation === 'deleted') return
      const honest = { path, content, versionId, created, sha256: detail.sha256 }
      const plaintext = encodeMemoryBlob(made.fault.blob?.(honest) ?? honest)
      const context = memoryContext(this, memoryId)
      const parts = { type: 'memory', keys: made.epoch.memory, context, plaintext } as const
      const blob = this.put('blob', seal({ ...parts, hedge: detail.blinding }, made.fault.blobSeal))
      memories.set(memoryId, { ...state, blob })
      blobs.set(memoryId, blob)
    })
    this.memories = memories
    this.#ids = ids
    return blobs
  }
}
