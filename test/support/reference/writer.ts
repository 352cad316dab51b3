// A minimal writer of stores, from docs/FORMAT.md alone, so that the reference decoder can be
// tested without the product and fed with faults. It keeps records, details and contents, and makes
// the whole git history anew each time, which FORMAT §0 (5) promises to be possible.

import { execFileSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { deflateSync } from 'node:zlib'
import { concat, fromHex, toHex, u8, utf8 } from './bytes.ts'
import { encodeCommit } from './commit.ts'
import { detailCommitment, type DetailRow, encodeDetail } from './detail.ts'
import { deviceKeys } from './device-card.ts'
import {
  type Device,
  type Directory,
  directoryHash,
  type LastRecord,
  type Role,
} from './directory.ts'
import {
  detailContext,
  memoryContext,
  recordContext,
  sealEnvelope,
  settingsContext,
  zeroHedge,
} from './envelope.ts'
import { H, sha256 } from './hash.ts'
import { deviceIdOf, type Identity, seedOf, storeIdOf } from './identity.ts'
import { encodeKeyring, type Keyring, makeKeyring } from './keyring.ts'
import { auditKeys, contentKeys, type Epoch, fullEpoch, groupSeed, recordHash } from './keys.ts'
import { encodeMemoryBlob } from './memory.ts'
import { readmeFile, storeFile } from './public-files.ts'
import {
  type ChangeRecord,
  encodeSignedBody,
  type Operation,
  type Row,
  signRecord,
  zeroHash,
  zeroId,
} from './record.ts'
import { type NamedRow, nameRows } from './rows.ts'
import { encodeSettings, type Settings } from './settings.ts'
import { publicKeyOf } from './signature.ts'
import { buildTree, gitOid, type ObjectType } from './tree.ts'

/** What a memory row should say; ids are hex. */
export interface NewRow {
  /** Without it, and with the operation created, the row creates a memory. */
  readonly memoryId?: string
  readonly operation: Operation
  readonly path: string
  readonly content: string
  readonly note?: string
  readonly base?: string
}

interface Entry {
  readonly record: ChangeRecord
  readonly body: Uint8Array
  readonly signature: Uint8Array
  readonly hash: string
  readonly epoch: Epoch
  /** Those of the record, with their ids. */
  readonly rows: readonly NamedRow[]
  readonly details: readonly DetailRow[]
  /** By row. */
  readonly contents: readonly string[]
  readonly keyring: Uint8Array
  readonly settings: Uint8Array
}

export interface NewKeyring {
  readonly directory: Directory
  readonly epoch: Epoch
  /** Makes a faulty one of the right one. */
  readonly alter?: (keyring: Keyring) => Keyring
}

export class StoreWriter {
  readonly seed: string
  readonly founder: Identity
  readonly #founderRandom: Uint8Array
  readonly #entries: Entry[] = []
  readonly #current = new Map<string, string>()
  readonly #created = new Map<string, number>()
  readonly #chains = new Map<string, { sequence: number; hash: string }>()
  #epochs: Epoch[]
  #directory: Directory
  #keyringHash = zeroHash
  #storeId = zeroId
  #counter = 0

  constructor() {
    const seeds = { signingSeed: this.random(), kemSeed: this.random() }
    this.founder = { ...seeds, localSecret: this.random() }
    this.#founderRandom = this.random()
    const signingKey = publicKeyOf(seeds.signingSeed)
    this.seed = seedOf(signingKey, this.#founderRandom)
    this.#epochs = [this.newEpoch()]
    const devices = [newDevice(this.founder, 'owner', 0)]
    const lists = { previous: undefined, devices, removed: [], recoveries: [], quota: 2 }
    this.#directory = { number: 0, ...lists, founderRandom: this.#founderRandom }
  }

  get directory(): Directory {
    return this.#directory
  }

  /** Known from genesis on. */
  get storeId(): string {
    return this.#storeId
  }

  get epoch(): Epoch {
    return this.#epochs.at(-1) ?? this.newEpoch()
  }

  /** What a directory says of a device that it removes. */
  lastRecord(deviceId: string): LastRecord {
    const { sequence, hash } = this.#chains.get(deviceId) ?? { sequence: 0, hash: zeroHash }
    return { sequence, record: hash }
  }

  /** 32 bytes that differ from call to call and not from run to run. */
  random(): Uint8Array {
    this.#counter += 1
    return H(utf8(`random ${this.#counter}`))
  }

  newEpoch(): Epoch {
    return fullEpoch(this.seed, this.random(), this.random())
  }

  /** `founding` changes the first directory. */
  genesis(settings: Settings, founding: Partial<Directory> = {}): void {
    this.#directory = { ...this.#directory, ...founding }
    const plan = { directory: this.#directory, epoch: this.epoch }
    const [keyring, sealed] = [this.#makeKeyring(plan), this.#sealSettings(settings)]
    const hashes = { keyringHash: toHex(H(keyring)), settingsHash: toHex(H(sealed)) }
    this.#append({ kind: 'genesis', ...hashes }, { keyring, settings: sealed })
  }

  /**
   * `tweak` changes fields before they are signed; `signingSeed` names another author. Rows that
   * create memories stay in their order. Returns the rows of the record.
   */
  change(
    rows: readonly NewRow[],
    tweak: Partial<ChangeRecord> = {},
    signingSeed: Uint8Array = this.founder.signingSeed,
  ): readonly NamedRow[] {
    const sorted = rows.toSorted((a, b) => compare(a.memoryId ?? zeroId, b.memoryId ?? zeroId))
    const details: DetailRow[] = []
    const recordRows = sorted.map((row, index): Row => {
      const { memoryId = zeroId, operation } = row
      const base = row.base ?? this.#current.get(memoryId) ?? zeroId
      const detail = this.#detail(row, index)
      details.push(detail)
      const commitment = detailCommitment(detail.blinding, detail)
      return { memoryId, base, secondBase: zeroId, operation, commitment }
    })
    const made = { details, contents: sorted.map(({ content }) => content) }
    const entry = this.#append({ kind: 'change', rows: recordRows, ...tweak }, made, signingSeed)
    for (const { memoryId, versionId } of entry.rows) {
      this.#current.set(memoryId, versionId)
      if (!this.#created.has(memoryId)) this.#created.set(memoryId, entry.record.time)
    }
    return entry.rows
  }

  redact(targets: readonly Pick<NamedRow, 'memoryId' | 'versionId'>[]): void {
    const bare = { secondBase: zeroId, operation: undefined, commitment: zeroHash }
    const rows = targets.map(({ memoryId, versionId: base }) => ({ memoryId, base, ...bare }))
    const sorted = rows.toSorted((a, b) => compare(a.memoryId + a.base, b.memoryId + b.base))
    this.#append({ kind: 'redact', reason: 'leaked_secret', rows: sorted }, {})
  }

  settings(settings: Settings): void {
    const sealed = this.#sealSettings(settings)
    this.#append({ kind: 'settings', settingsHash: toHex(H(sealed)) }, { settings: sealed })
  }

  /** `tweak` can name another author, with the seed that signs. */
  keyring(next: NewKeyring, tweak: Partial<ChangeRecord> = {}, signingSeed?: Uint8Array): void {
    const previous = directoryHash(this.seed, this.#directory)
    const directory = { ...next.directory, previous, founderRandom: undefined }
    const older = this.#epochs.filter((epoch) => epoch.kid !== next.epoch.kid)
    const bytes = this.#makeKeyring({ ...next, directory }, older)
    const named = { keyringHash: toHex(H(bytes)), directoryNumber: directory.number }
    this.#append({ kind: 'keyring', ...named, ...tweak }, { keyring: bytes }, signingSeed)
    this.#directory = directory
    this.#epochs = [...older, next.epoch]
  }

  /** Makes a bare repository of the whole history, as rewrite(·, redacted). Returns the head. */
  write(directory: string, redacted: ReadonlySet<string> = this.redactions()): string {
    execFileSync('git', ['init', '--quiet', '--bare', '--initial-branch=main', directory])
    const put = (type: ObjectType, body: Uint8Array) => putObject(directory, type, body)
    const constant = {
      readme: put('blob', readmeFile),
      storeFile: put('blob', storeFile(this.storeId)),
    }
    const memories = new Map<string, string>()
    let head: string | undefined
    for (const entry of this.#entries) {
      for (const [index, row] of entry.record.kind === 'change' ? entry.rows.entries() : []) {
        memories.delete(row.memoryId)
        const kept = row.operation !== 'deleted' && !redacted.has(row.versionId)
        if (kept) memories.set(row.memoryId, put('blob', this.#sealMemory(entry, row, index)))
      }
      const files = { keyring: put('blob', entry.keyring), settings: put('blob', entry.settings) }
      const built = buildTree({ ...constant, ...files, memories })
      for (const body of built.trees.values()) put('tree', body)
      const parents = head === undefined ? [] : [head]
      const sealed = { record: this.#sealRecord(entry), detail: this.#sealDetail(entry, redacted) }
      const commit = { tree: built.root, parents, height: entry.record.height, ...sealed }
      head = put('commit', encodeCommit(commit, groupSeed(entry.epoch)))
    }
    writeFileSync(join(directory, 'refs/heads/main'), `${head}\n`)
    return head ?? ''
  }

  /** R: the versions that redact records name. */
  redactions(): Set<string> {
    const redacts = this.#entries.filter((entry) => entry.record.kind === 'redact')
    return new Set(redacts.flatMap((entry) => entry.rows.map((row) => row.versionId)))
  }

  #nextTime(): number {
    return 1_700_000_000_000 + this.#entries.length * 1000
  }

  #detail(row: NewRow, index: number): DetailRow {
    const { operation, path } = row
    const content = utf8(row.content)
    const gone = operation === 'deleted'
    const facts = gone
      ? { size: 0, sha256: zeroHash }
      : { size: content.length, sha256: toHex(sha256(content)) }
    const note = index === 0 ? (row.note ?? '') : ''
    return { row: index, path, note, ...facts, blinding: toHex(this.random()) }
  }

  #append(
    fields: Partial<ChangeRecord> & Pick<ChangeRecord, 'kind'>,
    made: Partial<Pick<Entry, 'details' | 'contents' | 'keyring' | 'settings'>>,
    signingSeed: Uint8Array = this.founder.signingSeed,
  ): Entry {
    const parent = this.#entries.at(-1)
    const deviceId = deviceIdOf(publicKeyOf(signingSeed))
    const chain = this.#chains.get(deviceId) ?? { sequence: 0, hash: zeroHash }
    const record: ChangeRecord = {
      parents: parent === undefined ? [] : [parent.hash],
      height: this.#entries.length,
      deviceId,
      sequence: chain.sequence + 1,
      previous: chain.hash,
      keyring: this.#keyringHash,
      time: this.#nextTime(),
      actor: { type: 'session', id: 'sesn_1' },
      session: undefined,
      reason: undefined,
      directoryNumber: 0,
      keyringHash: zeroHash,
      settingsHash: zeroHash,
      rows: [],
      grants: [],
      ...fields,
    }
    const body = encodeSignedBody(record)
    const signature = signRecord(this.seed, body, signingSeed)
    const hash = recordHash(this.seed, body, signature)
    this.#chains.set(deviceId, { sequence: record.sequence, hash })
    if (record.keyringHash !== zeroHash) this.#keyringHash = hash
    if (record.kind === 'genesis') this.#storeId = storeIdOf(hash)
    const { keyring = utf8(''), settings = utf8('') } = { ...parent, ...made }
    const { details = [], contents = [] } = made
    const rows = nameRows(this.#storeId, hash, record)
    const signed = { record, body, signature, hash, rows, epoch: this.epoch }
    const entry = { ...signed, details, contents, keyring, settings }
    this.#entries.push(entry)
    return entry
  }

  #makeKeyring(
    { directory, epoch, alter = (keyring) => keyring }: NewKeyring,
    older: readonly Epoch[] = [],
  ): Uint8Array {
    return encodeKeyring(alter(makeKeyring(this.seed, epoch, older, directory)))
  }

  #sealSettings(settings: Settings): Uint8Array {
    const [keys, context] = [contentKeys(this.epoch, 'settings'), settingsContext(this.seed)]
    return sealEnvelope('settings', keys, context, this.random(), encodeSettings(settings))
  }

  #sealRecord({ epoch, body, signature }: Entry): Uint8Array {
    const [keys, context] = [auditKeys(epoch, 'record'), recordContext(this.seed)]
    return sealEnvelope('record', keys, context, zeroHedge, concat(body, signature))
  }

  #sealDetail(
    { record, epoch, hash, rows, details }: Entry,
    redacted: ReadonlySet<string>,
  ): Uint8Array | undefined {
    if (record.kind !== 'change') return undefined
    const kept = details.filter(({ row }) => !redacted.has(rows[row]?.versionId ?? ''))
    const [keys, context] = [contentKeys(epoch, 'detail'), detailContext(this.seed, hash)]
    return sealEnvelope('detail', keys, context, zeroHedge, encodeDetail(kept))
  }

  #sealMemory(entry: Entry, { memoryId, versionId }: NamedRow, index: number): Uint8Array {
    const detail = entry.details[index]
    const content = entry.contents[index]
    const created = this.#created.get(memoryId)
    if (detail === undefined || content === undefined || created === undefined) {
      throw new Error('The row has no blob')
    }
    const { path, sha256: hash, blinding } = detail
    const blob = encodeMemoryBlob({ path, content, versionId, created, sha256: hash })
    const keys = contentKeys(entry.epoch, 'memory')
    const context = memoryContext(this.seed, memoryId)
    return sealEnvelope('memory', keys, context, fromHex(blinding), blob)
  }
}

/** A device that an owner adds at a directory number. */
export function newDevice(
  identity: Pick<Identity, 'signingSeed' | 'kemSeed'>,
  role: Role,
  number: number,
): Device {
  const keys = deviceKeys(identity)
  const known = { deviceId: deviceIdOf(keys.signingKey), ...keys, role }
  return { ...known, admittedBy: 1, slotId: zeroId, added: number, name: '' }
}

function compare(a: string, b: string): number {
  if (a === b) return 0
  return a < b ? -1 : 1
}

/** Writes a loose object. */
function putObject(directory: string, type: ObjectType, body: Uint8Array): string {
  const oid = gitOid(type, body)
  const folder = join(directory, 'objects', oid.slice(0, 2))
  mkdirSync(folder, { recursive: true })
  writeFileSync(
    join(folder, oid.slice(2)),
    deflateSync(concat(utf8(`${type} ${body.length}`), u8(0), body)),
  )
  return oid
}
