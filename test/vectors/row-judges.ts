// How the vectors of rows in a database are read (FORMAT §14).

import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { equalBytes, fromHex, toHex } from '../../src/bytes.ts'
import { systemRandom } from '../../src/crypto/random.ts'
import { unsyncedDisk } from '../../src/disk/unsynced-disk.ts'
import { StoreError } from '../../src/errors.ts'
import { listOf } from '../../src/git/objects/oid-list.ts'
import { fetchBase } from '../../src/git/replica/base.ts'
import { decodeEntry, decodeObjects, type Entry } from '../../src/git/replica/log-entry.ts'
import { catalogueTables } from '../../src/hosting/catalogue.ts'
import { credentialTables } from '../../src/hosting/credentials.ts'
import { noRows, openHead, RowDigest, stateOfRow } from '../../src/hosting/list-head.ts'
import { openRow } from '../../src/hosting/sealed-row.ts'
import { decodeIdentity } from '../../src/keys/identity.ts'
import { SealedLog } from '../../src/store/local/sealed-log.ts'
import * as reference from '../support/reference/engine-rows.ts'
import { parseIdentity } from '../support/reference/identity.ts'
import { VolatileLog } from '../support/volatile-shared-log.ts'
import { bytesField, field, type Judge, type Vector } from './vector.ts'

type RowGroup = 'log-rows' | 'log-entries' | 'log-bases' | 'host-rows' | 'list-heads'

export const rowJudges: Readonly<Record<RowGroup, Judge>> = {
  'log-rows': {
    product: logRowByProduct,
    reference(v) {
      const role = field(v, 'role') === 'part' ? 'part' : 'entry'
      const place = { ...placeOf(v), role, storeId: field(v, 'storeId') } as const
      return toHex(reference.openLogRow(place, field(v, 'id'), bytesField(v, 'bytes')))
    },
  },
  'log-entries': {
    product(v) {
      const bytes = bytesField(v, 'bytes')
      const isPart = field(v, 'form') === 'objects'
      return isPart ? decodeObjects(bytes).map(objectText) : entryByProduct(decodeEntry(bytes))
    },
    reference(v) {
      const bytes = bytesField(v, 'bytes')
      const isPart = field(v, 'form') === 'objects'
      return isPart
        ? reference.readFrames(bytes).flatMap(({ objects }) => objects.map(objectText))
        : entryByReference(reference.readEntry(bytes))
    },
  },
  'log-bases': {
    product: baseByProduct,
    reference: (v) => reference.readBase(Number(field(v, 'number')), partsOf(v)),
  },
  'host-rows': {
    product: hostRowByProduct,
    reference(v) {
      const row = { ...factsOf(v), table: field(v, 'table') }
      const place = { ...placeOf(v), role: hostRole(v) }
      return reference.openHostRow(place, row, bytesField(v, 'bytes'))
    },
  },
  'list-heads': {
    product(v) {
      const [role, { generation }] = [hostRole(v), placeOf(v)]
      const owner = { ...ownerOf(v), storeId: '', disk: unsyncedDisk }
      const { digest, since } = openHead(owner, role, generation, bytesField(v, 'bytes'))
      const digests = new RowDigest(owner, role)
      let sum = noRows
      for (const row of rowsOf(v)) {
        const { table: kind, id, generation: number, body } = row
        sum = digests.moved(sum, { kind, id }, undefined, stateOfRow(number, body))
      }
      if (!equalBytes(sum, digest)) throw new StoreError('rolled_back', 'Other rows')
      return { digest: toHex(digest), since }
    },
    reference(v) {
      const place = { ...placeOf(v), role: hostRole(v) }
      return reference.openHead(place, rowsOf(v), bytesField(v, 'bytes'))
    },
  },
}

async function logRowByProduct(v: Vector): Promise<string> {
  const [id, number, body] = [field(v, 'id'), Number(field(v, 'number')), bytesField(v, 'bytes')]
  const owner = { ...ownerOf(v), storeId: field(v, 'storeId') }
  const volatile = new VolatileLog()
  const log = new SealedLog(volatile.server(), owner)
  if (field(v, 'role') === 'entry') {
    volatile.rows.set(number, { body, parts: undefined })
    const [entry] = await log.entries(number - 1, 1)
    return toHex(entry?.body ?? new Uint8Array())
  }
  // A reader takes parts from the first one on.
  const before = volatile.server()
  const sealed = new SealedLog(before, owner)
  for (let part = 0; part < number; part += 1) await sealed.putPart(id, part, new Uint8Array())
  await before.putPart(id, number, body)
  let last = new Uint8Array()
  for await (const part of log.parts(id)) last = new Uint8Array(part)
  return toHex(last)
}

function entryByProduct(entry: Entry): unknown {
  if (entry.kind !== 'commit') return { head: plain(entry), dead: [], frames: [] }
  const { kind, parts, transitions } = entry
  const erased = transitions[0]?.dead
  const dead = erased && toHex(listOf(erased).bytes)
  const frames = transitions.map(({ expected = '0'.repeat(40), next, objects }) => {
    return [expected, next, ...objects.map(objectText)]
  })
  const head = { kind, parts, dead: dead === undefined ? undefined : dead.length / 40 }
  return { head: plain(head), dead: dead?.match(/.{40}/g) ?? [], frames }
}

function entryByReference({ head, dead, frames }: reference.LogEntry): unknown {
  const texts = frames.map(({ expected, next, objects }) => {
    return [expected, next, ...objects.map(objectText)]
  })
  return { head, dead, frames: texts }
}

interface AnyObject {
  readonly type: string
  readonly oid: string
  readonly body: Uint8Array | string
}

function objectText({ type, oid, body }: AnyObject): string {
  return `${type} ${oid} ${body instanceof Uint8Array ? toHex(body) : body}`
}

async function baseByProduct(v: Vector): Promise<unknown> {
  const [number, id] = [Number(field(v, 'number')), '0'.repeat(32)]
  const volatile = new VolatileLog()
  const log = volatile.server()
  for (const [at, part] of partsOf(v).entries()) await log.putPart(id, at, part)
  const directory = mkdtempSync(join(tmpdir(), 'gitlocket-base-'))
  const packs = join(directory, 'objects/pack')
  try {
    mkdirSync(packs, { recursive: true })
    mkdirSync(join(directory, 'refs/heads'), { recursive: true })
    const { tracked, remotes } = await fetchBase(unsyncedDisk, log, { number, id }, directory)
    const head = readFileSync(join(directory, 'refs/heads/main'), 'ascii').trim()
    const files = readdirSync(packs).map((name) => {
      return [name, readFileSync(join(packs, name), 'hex')] as const
    })
    return { head, tracked, remotes, files: Object.fromEntries(files) }
  } finally {
    rmSync(directory, { recursive: true })
  }
}

function hostRowByProduct(v: Vector): unknown {
  const row = { ...factsOf(v), generation: placeOf(v).generation, body: bytesField(v, 'bytes') }
  const owner = { ...ownerOf(v), storeId: '', disk: unsyncedDisk }
  const table = field(v, 'table')
  const [catalogue, credentials] = [
    { owner, role: 'catalogue', name: table },
    { owner, role: 'credentials', name: table },
  ] as const
  if (table === 'workspaces') return openRow({ ...catalogue, table: catalogueTables[table] }, row)
  if (table === 'stores') return openRow({ ...catalogue, table: catalogueTables[table] }, row)
  if (table === 'keys') return openRow({ ...credentials, table: credentialTables[table] }, row)
  if (table === 'sessions') return openRow({ ...credentials, table: credentialTables[table] }, row)
  throw new Error('No such table')
}

function placeOf(v: Vector) {
  return { identity: parseIdentity(field(v, 'identity')), generation: Number(field(v, 'number')) }
}

function hostRole(v: Vector): 'catalogue' | 'credentials' {
  return field(v, 'role') === 'catalogue' ? 'catalogue' : 'credentials'
}

/** `table generation id body; …` */
function rowsOf(v: Vector): readonly reference.ListedRow[] {
  const texts = field(v, 'rows').split('; ')
  return texts.filter(Boolean).map((text) => {
    const [table = '', generation, id = '', body = ''] = text.split(' ')
    return { table, generation: Number(generation), id, body: fromHex(body) }
  })
}

function ownerOf(v: Vector) {
  return { identity: decodeIdentity(field(v, 'identity')), random: systemRandom }
}

function factsOf(v: Vector) {
  const [time, weight] = [Number(field(v, 'time')), Number(field(v, 'weight'))]
  return { id: field(v, 'id'), scope: field(v, 'scope'), time, weight }
}

function partsOf(v: Vector): readonly Uint8Array[] {
  return field(v, 'parts').split(' ').map(fromHex)
}

/** Without its members that are undefined. */
function plain(value: object): unknown {
  return JSON.parse(JSON.stringify(value))
}
