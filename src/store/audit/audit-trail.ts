// The trail of a store as an auditor lists it, verified from genesis with A alone (FORMAT §8.4):
// the author, time and kind of each change, and the changes of access, by ids alone. Must not need
// paths or contents, record anything, or check whether the head was rolled back.

import type { WorkOptions } from '../../async.ts'
import { compareBytes, toHex } from '../../bytes.ts'
import type {
  Actor,
  GrantRole,
  GrantRow,
  Operation,
  RecordKind,
  RecordRow,
  RedactReason,
} from '../../format/change-record.ts'
import { treeOf } from '../../format/commit.ts'
import type { Directory, Givers, Role } from '../../format/directory.ts'
import { formatId, grantIdOf } from '../../format/id.ts'
import { bringsKeyring } from '../../format/record-rules.ts'
import { zeroId } from '../../format/record.ts'
import type { Oid } from '../../git/objects/object.ts'
import type { AuditKeys } from '../../keys/epoch.ts'
import type { Identity } from '../../keys/identity.ts'
import { openAuditKeyring, openDirectory } from '../../keys/keyring.ts'
import { inSlices } from '../../time-slice.ts'
import { readHeadKeyring } from '../access/authority.ts'
import { type CommitSource, type Epochs, readCommitBytes } from '../commits/decoded-commit.ts'
import { getBlob, getEntry, getTree, type ObjectSource } from '../snapshot/git-reads.ts'
import type { Snapshot } from '../snapshot/snapshot.ts'
import type { CheckedCommit } from '../verify/checked-commit.ts'
import { verifyHistory } from '../verify/verify.ts'

/** One version in the trail, by ids alone. */
export interface AuditedVersion {
  /** `mem_…` */
  readonly memoryId: string
  /** `memver_…` */
  readonly versionId: string
  readonly operation: Operation
  /** `memver_…`: empty for a new memory, two if a merge joined them. */
  readonly baseVersionIds: readonly string[]
  readonly isRedacted: boolean
}

/** The changes of access by a keyring record; for a join, those on either side. */
export interface AccessChange {
  /** New devices with their roles and names; ids are `dev_…`. */
  readonly added: readonly {
    readonly deviceId: string
    readonly role: Role
    readonly name: string
  }[]
  readonly changed: readonly { readonly deviceId: string; readonly role: Role }[]
  /** FORMAT §1.5: a name may be empty, and identifies nothing. */
  readonly renamed: readonly { readonly deviceId: string; readonly name: string }[]
  readonly removed: readonly string[]
  /** The types of the passphrases and recovery keys that were added, and of those removed. */
  readonly recoveryAdded: readonly ('passphrase' | 'recovery')[]
  readonly recoveryRemoved: readonly ('passphrase' | 'recovery')[]
  /** Those who may give grants from then on; undefined if that is unchanged. */
  readonly givers: Givers | undefined
  readonly isNewEpoch: boolean
}

/** The beginning or end of a grant (FORMAT §12). */
export interface AuditedGrant {
  /** The `deviceId` of what its holder writes. */
  readonly grantId: string
  /** `dev_…`: the device that gave it. */
  readonly grantedBy: string
  readonly role: GrantRole
  /** ms since 1970: when it ends by itself. */
  readonly expiresAt: number
  readonly isEnd: boolean
}

/** One commit of the trail. */
export interface AuditEntry {
  /** 40 hex digits. */
  readonly commit: string
  /** The hash of its record, 64 hex digits: redactions change the commit and not this. */
  readonly record: string
  /** Two for a merge. */
  readonly parents: readonly string[]
  readonly height: number
  readonly kind: RecordKind
  /** ms since 1970, by the clock of the device. */
  readonly time: number
  /** `dev_…`; of a passphrase, recovery key or grant, the id of its public key. */
  readonly deviceId: string
  readonly isRecovery: boolean
  /** `dev_…`: the device whose grant the author holds; undefined for another author. */
  readonly grantedBy: string | undefined
  readonly actor: Actor | undefined
  readonly session: string | undefined
  readonly versions: readonly AuditedVersion[]
  /** The versions, `memver_…`, that a redact record names, and its reason. */
  readonly redacts: readonly string[]
  readonly redactReason: RedactReason | undefined
  /** Defined for keyring records only. */
  readonly access: AccessChange | undefined
  readonly grants: readonly AuditedGrant[]
}

type NamedDevice = AccessChange['added'][number]

/** The parts of a keyring that the next one is compared with. */
interface ComparedKeyring {
  readonly kid: string
  readonly directory: Pick<Directory, 'devices' | 'recovery' | 'givers'>
}

/** The keyring before genesis. */
const emptyKeyring: ComparedKeyring = {
  kid: '',
  directory: { devices: [], recovery: [], givers: 'owners and writers' },
}

/** The parts of a verified commit that its entry is made of. */
export type AuditedCommit = Pick<CheckedCommit, 'oid' | 'tree' | 'parents' | 'record' | 'hash'>

/** A grant that was begun before a commit or by it, by its id in hex. */
type FindGrant = (grantId: string) => AuditedGrant | undefined

/** The entry of one commit; whether its versions were redacted is not known here. */
export function entryOf(
  source: CommitSource,
  { oid, tree, parents, record, hash }: AuditedCommit,
  findGrant: FindGrant,
): AuditEntry {
  const { kind, rows } = record
  const ofMemories = kind === 'redact' ? [] : rows
  const deviceId = formatId('device', record.deviceId)
  const grantedBy = findGrant(record.deviceId)?.grantedBy
  return {
    commit: oid,
    record: toHex(hash),
    parents,
    height: record.height,
    kind,
    time: record.time,
    deviceId,
    isRecovery: record.sequence === 0 && grantedBy === undefined,
    grantedBy,
    actor: record.actor,
    session: record.session,
    versions: ofMemories.map((row) => describeRow(row)),
    redacts: kind === 'redact' ? rows.map((row) => formatId('version', row.versionId)) : [],
    redactReason: record.reason,
    access: bringsKeyring(kind) ? readAccess(source, tree, parents) : undefined,
    grants: record.grants.flatMap((row) => describeGrant(row, record.deviceId, findGrant)),
  }
}

function readAccess(source: CommitSource, tree: Oid, parents: readonly Oid[]): AccessChange {
  const next = readKeyring(source, tree)
  const [first = compareKeyrings(emptyKeyring, next), second] = parents.map((parent) => {
    const before = readKeyring(source, treeOf(readCommitBytes(source.objects, parent)))
    return compareKeyrings(before, next)
  })
  return second === undefined ? first : ofEither(first, second)
}

function readKeyring({ objects, epochs }: CommitSource, tree: Oid): ComparedKeyring {
  const bytes = getBlob(objects, getEntry(getTree(objects, tree), 'keyring'), 'keyring_mismatch')
  const { epoch, directory } = openDirectory(bytes, epochs)
  return { kid: epoch.kid, directory }
}

function describeGrant(
  row: GrantRow,
  author: string,
  findGrant: FindGrant,
): readonly AuditedGrant[] {
  if (row.begins === undefined) {
    const begun = findGrant(row.grantId)
    return begun === undefined ? [] : [{ ...begun, isEnd: true }]
  }
  const { role, notAfter: expiresAt } = row.begins
  const grantId = formatId('device', grantIdOf(author, row.key))
  const grantedBy = formatId('device', author)
  return [{ grantId, grantedBy, role, expiresAt, isEnd: false }]
}

/** Collects commits as they are verified, parents before children. */
export class Trail {
  readonly #source: CommitSource
  readonly #found: { readonly hash: Uint8Array; readonly entry: AuditEntry }[] = []
  /** By `dev_…`, as it was begun: commits are verified parents first. */
  readonly #grants: Map<string, AuditedGrant> = new Map()

  constructor(source: CommitSource) {
    this.#source = source
  }

  add(commit: CheckedCommit): void {
    const entry = entryOf(this.#source, commit, (id) => this.#grants.get(formatId('device', id)))
    for (const grant of entry.grants) if (!grant.isEnd) this.#grants.set(grant.grantId, grant)
    this.#found.push({ hash: commit.hash, entry })
  }

  /** All entries in the canonical order, one in each step. `redacted` are hex ids. */
  *entries(redacted: ReadonlySet<string>): Generator<undefined, readonly AuditEntry[]> {
    const redactedIds = new Set(Array.from(redacted, (id) => formatId('version', id)))
    const sorted = this.#found.toSorted((a, b) => {
      return a.entry.height - b.entry.height || compareBytes(a.hash, b.hash)
    })
    const entries: AuditEntry[] = []
    for (const { entry } of sorted) {
      entries.push(markRedacted(entry, redactedIds))
      yield
    }
    return entries
  }
}

export interface VerifiedTrail {
  readonly snapshot: Snapshot
  readonly epochs: Epochs<AuditKeys>
  /** In the canonical order. */
  readonly entries: readonly AuditEntry[]
}

/** The identity of this device, and how to verify. */
export interface TrailKey extends Pick<WorkOptions, 'progress' | 'signal'> {
  readonly identity: Identity
}

/** Verifies the trail of any head whose keyring has a slot for this device. */
export async function verifyTrail(
  objects: ObjectSource,
  { storeId, head }: { readonly storeId: string; readonly head: Oid },
  { identity, progress, signal }: TrailKey,
): Promise<VerifiedTrail> {
  const keyring = readHeadKeyring(objects, head)
  const { epochs } = await openAuditKeyring(keyring, identity, signal)
  const source = { objects, storeId, epochs }
  const trail = new Trail(source)
  const onCommit = (commit: CheckedCommit): void => trail.add(commit)
  const { snapshot } = await verifyHistory(source, head, { progress, signal, onCommit })
  const entries = await inSlices(trail.entries(snapshot.redacted), signal)
  return { snapshot, epochs, entries }
}

function describeRow({
  memoryId,
  versionId,
  base,
  secondBase,
  operation,
}: RecordRow): AuditedVersion {
  const bases = [base, secondBase].filter((id) => id !== zeroId)
  return {
    memoryId: formatId('memory', memoryId),
    versionId: formatId('version', versionId),
    // Only rows of redact records have no operation, and this is not one.
    operation: operation ?? 'deleted',
    baseVersionIds: bases.map((id) => formatId('version', id)),
    isRedacted: false,
  }
}

function markRedacted(entry: AuditEntry, redacted: ReadonlySet<string>): AuditEntry {
  if (!entry.versions.some(({ versionId }) => redacted.has(versionId))) return entry
  const versions = entry.versions.map((version) => {
    return { ...version, isRedacted: redacted.has(version.versionId) }
  })
  return { ...entry, versions }
}

function compareKeyrings(before: ComparedKeyring, next: ComparedKeyring): AccessChange {
  const [old, now] = [devicesOf(before), devicesOf(next)]
  const kept = [...now.values()].filter(({ deviceId }) => old.has(deviceId))
  const changed = kept.filter(({ deviceId, role }) => old.get(deviceId)?.role !== role)
  const renamed = kept.filter(({ deviceId, name }) => old.get(deviceId)?.name !== name)
  const { givers } = next.directory
  return {
    added: [...now.values()].filter(({ deviceId }) => !old.has(deviceId)),
    changed: changed.map(({ deviceId, role }) => ({ deviceId, role })),
    renamed: renamed.map(({ deviceId, name }) => ({ deviceId, name })),
    removed: [...old.keys()].filter((deviceId) => !now.has(deviceId)),
    recoveryAdded: slotsMissing(next.directory, before.directory),
    recoveryRemoved: slotsMissing(before.directory, next.directory),
    givers: before.directory.givers === givers ? undefined : givers,
    isNewEpoch: before.kid !== next.kid,
  }
}

/** The active devices, by `dev_…`. */
function devicesOf({ directory }: ComparedKeyring): ReadonlyMap<string, NamedDevice> {
  const devices = directory.devices.map(({ deviceId, role, name }): NamedDevice => {
    return { deviceId: formatId('device', deviceId), role, name }
  })
  return new Map(devices.map((device) => [device.deviceId, device]))
}

/**
 * The changes by a join: those on at least one side, since the other side may already have them.
 */
function ofEither(a: AccessChange, b: AccessChange): AccessChange {
  return {
    added: [...a.added, ...b.added],
    changed: distinct([...a.changed, ...b.changed], ({ deviceId }) => deviceId),
    renamed: distinct([...a.renamed, ...b.renamed], ({ deviceId }) => deviceId),
    removed: distinct([...a.removed, ...b.removed], (deviceId) => deviceId),
    recoveryAdded: [...a.recoveryAdded, ...b.recoveryAdded],
    recoveryRemoved: [...a.recoveryRemoved, ...b.recoveryRemoved],
    givers: a.givers ?? b.givers,
    isNewEpoch: true,
  }
}

function distinct<T>(all: readonly T[], idOf: (one: T) => string): readonly T[] {
  return [...new Map(all.map((one) => [idOf(one), one])).values()]
}

/** The types of the recovery entries in one directory that another lacks. */
function slotsMissing(
  here: ComparedKeyring['directory'],
  there: ComparedKeyring['directory'],
): readonly ('passphrase' | 'recovery')[] {
  const known = new Set(there.recovery.map(({ slotId }) => slotId))
  return here.recovery.filter(({ slotId }) => !known.has(slotId)).map(({ type }) => type)
}
