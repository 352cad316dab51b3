// Vectors of the records of a host in a database, and of the heads of their lists: FORMAT §14.5,
// §14.6.

import { fromHex, toHex, utf8 } from '../../../src/bytes.ts'
import { hash256 } from '../../../src/crypto/digest.ts'
import type { Random } from '../../../src/crypto/random.ts'
import { systemDisk } from '../../../src/disk/system-disk.ts'
import { formatId } from '../../../src/format/id.ts'
import { catalogueTables, type HostedStore } from '../../../src/hosting/catalogue.ts'
import { credentialTables } from '../../../src/hosting/credentials.ts'
import type { RecordTable } from '../../../src/hosting/host-records.ts'
import { noRows, RowDigest, sealHead, stateOfRow } from '../../../src/hosting/list-head.ts'
import { type SealedRow, type SealedRowPlace, sealRow } from '../../../src/hosting/sealed-row.ts'
import { formatIdentity, type Identity } from '../../../src/keys/identity.ts'
import { sealCache } from '../../../src/store/local/sealed-cache.ts'
import { idOf } from '../../support/forge-seal.ts'
import type { Vector } from '../vector.ts'

const GENERATION = 5
const storeId = formatId('store', idOf('store'))
const [workspaceId, keyId] = ['wrkspc_1', 'apikey_1']
const [createdAt, expiresAt] = [1_700_000_000_000, 1_800_000_000_000]
const hash = 'ab'.repeat(32)
const workspace = { workspaceId, name: 'Default', createdAt }
const store: HostedStore = {
  storeId,
  workspaceId,
  createdAt,
  updatedAt: createdAt + 1,
  name: 'Notes',
  description: 'ä',
  metadata: { team: 'a' },
  archivedAt: undefined,
}
const key = { keyId, name: 'deploy', workspaceId, createdAt, revokedAt: undefined, hash }
const session = { sessionId: 'sesn_1', keyId, workspaceId, expiresAt, hash, attached: [] }

interface Sealer {
  readonly identity: Identity
  readonly random: Random
}

type Change = (row: SealedRow) => Partial<SealedRow>

export function hostRows(sealer: Sealer, other: Identity): readonly Vector[] {
  const owner = { ...sealer, storeId: '', disk: systemDisk }
  const catalogue = { owner, role: 'catalogue' } as const
  const credentials = { owner, role: 'credentials' } as const
  const { workspaces, stores } = catalogueTables
  const { keys, sessions } = credentialTables
  const ofWorkspaces = accepted({ ...catalogue, name: 'workspaces', table: workspaces })
  const ofStores = accepted({ ...catalogue, name: 'stores', table: stores })
  const ofSessions = accepted({ ...credentials, name: 'sessions', table: sessions })
  const keyPlace = { ...credentials, name: 'keys', table: keys } as const
  const foreign = { ...owner, identity: other }
  const changes: readonly (readonly [string, Change])[] = [
    ['another generation', () => ({ generation: 4 })],
    ['another id', () => ({ id: 'apikey_2' })],
    ['another scope', () => ({ scope: 'wrkspc_2' })],
    ['another time', () => ({ time: createdAt + 1 })],
    ['another weight', () => ({ weight: 1 })],
    ['cut', ({ body }) => ({ body: body.slice(0, -1) })],
    ['another table', () => sealRow({ ...keyPlace, name: 'sessions' }, key, GENERATION)],
    ['another role', () => sealRow({ ...keyPlace, role: 'catalogue' }, key, GENERATION)],
    ['another identity', () => sealRow({ ...keyPlace, owner: foreign }, key, GENERATION)],
  ]
  const later = (): Partial<SealedRow> => {
    const place = { ...owner, storeId: toHex(hash256(utf8(`keys ${keyId}`)).subarray(0, 16)) }
    const plain = utf8(JSON.stringify({ version: 2, record: key }))
    return { body: sealCache(place, { role: 'credentials', generation: GENERATION }, plain) }
  }
  const attached = [[storeId, 'read_only'] as const]
  const instructions = [[storeId, 'read 𝄞 first'] as const]
  return [
    ofWorkspaces(workspace, 'no fault'),
    ofStores(store, 'no fault'),
    ofStores({ ...store, archivedAt: createdAt + 2 }, 'archived'),
    accepted(keyPlace)(key, 'no fault'),
    accepted(keyPlace)({ ...key, revokedAt: createdAt + 1 }, 'revoked'),
    ofSessions({ ...session, attached }, 'no fault'),
    ofSessions({ ...session, instructions }, 'with instructions'),
    ...changes.map(([title, change]) => vectorOf(keyPlace, key, ['wrong_key', title], change)),
    vectorOf(keyPlace, key, ['upgrade_required', 'version 2'], later),
  ]
}

export function listHeads(sealer: Sealer, other: Identity): readonly Vector[] {
  const owner = { ...sealer, storeId: '', disk: systemDisk }
  const digests = new RowDigest(owner, 'credentials')
  const digestOf = (rows: readonly string[]): Uint8Array => {
    return rows.reduce((digest, text) => {
      const [kind = '', generation, id = '', body = ''] = text.split(' ')
      const state = stateOfRow(Number(generation), fromHex(body))
      return digests.moved(digest, { kind, id }, undefined, state)
    }, noRows)
  }
  const place = { owner, role: 'credentials' } as const
  const { keys, sessions } = credentialTables
  const rowOf = <R>(name: string, table: RecordTable<R>, record: R, generation: number): string => {
    const { id, body } = sealRow({ ...place, name, table }, record, generation)
    return `${name} ${generation} ${id} ${toHex(body)}`
  }
  const second = { ...key, keyId: 'apikey_2' }
  const rows = [
    rowOf('keys', keys, key, 2),
    rowOf('keys', keys, { ...second, revokedAt: createdAt + 1 }, 7),
    rowOf('sessions', sessions, session, 9),
  ] as const
  // As a change that failed had sealed it: it opens.
  const kept = rowOf('keys', keys, second, 7)
  const head = { generation: 9, digest: digestOf(rows), since: 1 }
  const bytes = sealHead(owner, 'credentials', head)
  const of = (expect: string, name: string, more: Partial<Vector> = {}): Vector => ({
    name,
    clause: expect === 'upgrade_required' ? '14.7' : '14.6',
    expect,
    identity: formatIdentity(sealer.identity),
    role: 'credentials',
    number: '9',
    rows: rows.join('; '),
    bytes: toHex(bytes),
    ...more,
  })
  const empty = sealHead(owner, 'credentials', { ...head, digest: noRows })
  const foreign = sealHead({ ...owner, identity: other }, 'credentials', head)
  const plain = utf8(JSON.stringify({ version: 2, digest: toHex(head.digest), since: 1 }))
  const ofList = { ...owner, storeId: 'f'.repeat(32) }
  const reserved = { version: 1, digest: toHex(head.digest), since: 1, anchors: hash }
  const more = utf8(JSON.stringify(reserved))
  const anchors = sealCache(ofList, { role: 'credentials', generation: 9 }, more)
  const later = sealCache(ofList, { role: 'credentials', generation: 9 }, plain)
  return [
    of('accepted', 'three rows'),
    of('accepted', 'three rows in another order', { rows: rows.toReversed().join('; ') }),
    of('accepted', 'three rows and anchors', { bytes: toHex(anchors) }),
    of('accepted', 'no rows', { rows: '', bytes: toHex(empty) }),
    of('rolled_back', 'an older row', { rows: rows.join('; ').replace(' 7 ', ' 3 ') }),
    of('rolled_back', 'another body of the same id and generation', {
      rows: [rows[0], kept, rows[2]].join('; '),
    }),
    of('rolled_back', 'a row less', { rows: rows.slice(1).join('; ') }),
    of('rolled_back', 'a row more', {
      rows: [...rows, rowOf('keys', keys, { ...key, keyId: 'apikey_3' }, 8)].join('; '),
    }),
    of('rolled_back', 'a row of another table', {
      rows: rows.join('; ').replace('sessions', 'keys'),
    }),
    of('envelope_commitment', 'another generation', { number: '8' }),
    of('envelope_commitment', 'another role', { role: 'catalogue' }),
    of('envelope_commitment', 'another identity', { bytes: toHex(foreign) }),
    of('envelope_tag', 'cut', { bytes: toHex(bytes.slice(0, -1)) }),
    of('upgrade_required', 'version 2', { bytes: toHex(later) }),
  ]
}

function accepted<R>(place: SealedRowPlace<R>) {
  return (record: R, title: string): Vector => vectorOf(place, record, ['accepted', title])
}

function vectorOf<R>(
  place: SealedRowPlace<R>,
  record: R,
  [expect, title]: readonly [string, string],
  change: Change = () => ({}),
): Vector {
  const row = sealRow(place, record, GENERATION)
  const { id, scope, time, weight, generation, body } = { ...row, ...change(row) }
  return {
    name: `${place.name}: ${title}`,
    clause: expect === 'upgrade_required' ? '14.7' : '14.5',
    expect,
    identity: formatIdentity(place.owner.identity),
    role: place.role,
    table: place.name,
    id,
    scope,
    time: String(time),
    weight: String(weight),
    number: String(generation),
    bytes: toHex(body),
  }
}
