// Vectors of rows in a database that servers share: FORMAT §14.

import { createHash } from 'node:crypto'
import { concatBytes, fromHex, toHex, utf8 } from '../../../src/bytes.ts'
import type { NewObject, Oid } from '../../../src/git/objects/object.ts'
import { OidList, OidSet } from '../../../src/git/objects/oid-list.ts'
import { encodeEntry, encodeObjects } from '../../../src/git/replica/log-entry.ts'
import { formatIdentity, generateIdentity, type Identity } from '../../../src/keys/identity.ts'
import { lengthOf, sealCache, type SealPlace } from '../../../src/store/local/sealed-cache.ts'
import { countingRandom, flipBit, idOf, put, type Spoil } from '../../support/forge-seal.ts'
import type { Group, Vector } from '../vector.ts'
import { hostRows, listHeads } from './host-rows.ts'

const random = countingRandom('rows')
const storeId = idOf('store')
const partsId = idOf('parts')

export async function rows(): Promise<Partial<Record<Group, readonly Vector[]>>> {
  const identity = await generateIdentity(random)
  const other = await generateIdentity(random)
  return {
    'log-rows': logRows(identity, other),
    'log-entries': logEntries(),
    'log-bases': logBases(),
    'host-rows': hostRows({ identity, random }, other),
    'list-heads': listHeads({ identity, random }, other),
  }
}

function logRows(identity: Identity, other: Identity): readonly Vector[] {
  const text = utf8('an entry')
  const owner = { identity, storeId, random }
  const cases = (role: 'entry' | 'part'): readonly Vector[] => {
    const place: SealPlace = { role, generation: 3 }
    const start = role === 'part' ? fromHex(partsId) : new Uint8Array()
    const plain = concatBytes(start, lengthOf(text), text)
    const of = (expect: string, name: string, bytes: Uint8Array): Vector => ({
      name: `${role}: ${name}`,
      clause: '14.1',
      expect,
      identity: formatIdentity(identity),
      storeId,
      role,
      number: '3',
      id: partsId,
      bytes: toHex(bytes),
    })
    const sealed = sealCache(owner, place, plain)
    const as = (one: Partial<SealPlace>, by: Partial<typeof owner> = {}): Uint8Array => {
      return sealCache({ ...owner, ...by }, { ...place, ...one }, plain)
    }
    const elsewhere = role === 'entry' ? 'part' : 'entry'
    const long = concatBytes(start, lengthOf(new Uint8Array(2000)), text)
    const empty = concatBytes(start, lengthOf(new Uint8Array()))
    return [
      of('accepted', 'no fault', sealed),
      of('accepted', 'no bytes', sealCache(owner, place, empty)),
      of('accepted', '2000 bytes', sealCache(owner, place, withLength(start, 2000))),
      of('envelope_commitment', 'another number', as({ generation: 4 })),
      of('envelope_commitment', 'the other role', as({ role: elsewhere })),
      of('envelope_commitment', 'another store', as({}, { storeId: idOf('another store') })),
      of('envelope_commitment', 'another identity', as({}, { identity: other })),
      of('envelope_tag', 'cut by a byte', sealed.slice(0, -1)),
      of('envelope_tag', 'a bit flipped', flipBit(8 * 100)(sealed)),
      of('envelope_truncated', 'cut to 95 bytes', sealed.slice(0, 95)),
      of('envelope_truncated', 'a length beyond the end', sealCache(owner, place, long)),
    ]
  }
  const foreign = concatBytes(fromHex(idOf('other parts')), lengthOf(text), text)
  const moved = cases('part')
    .slice(0, 1)
    .map((vector) => ({
      ...vector,
      name: 'part: another id',
      expect: 'envelope_truncated',
      bytes: toHex(sealCache(owner, { role: 'part', generation: 3 }, foreign)),
    }))
  return [...cases('entry'), ...cases('part'), ...moved]
}

function withLength(start: Uint8Array, length: number): Uint8Array {
  const bytes = new Uint8Array(length).fill(1)
  return concatBytes(start, lengthOf(bytes), bytes)
}

function object(type: NewObject['type'], text: string): NewObject {
  const body = utf8(text)
  const head = `${type} ${body.length}\0`
  const oid = createHash('sha1').update(head).update(body).digest('hex')
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- no object is secret here
  return { type, oid, body } as unknown as NewObject
}

const oid = (byte: string): Oid => byte.repeat(20)
const [first, second, third] = [oid('1a'), oid('2b'), oid('3c')] as const
const objects = [object('blob', 'a'), object('tree', ''), object('commit', 'c')]
const parts = { id: partsId, count: 2 }

function logEntries(): readonly Vector[] {
  const of = (clause: string, expect: string, name: string, bytes: Uint8Array): Vector => {
    const form = clause === '14.2' ? 'entry' : 'objects'
    return { name, clause, expect, form, bytes: toHex(bytes) }
  }
  const made = { objects, expected: undefined, next: first }
  const moved = { objects: [], expected: first, next: second }
  const dead = new OidSet(OidList.of([third, first]))
  const commit = encodeEntry({ kind: 'commit', transitions: [made, moved] })
  const erasing = encodeEntry({ kind: 'commit', transitions: [{ ...moved, dead }] })
  const none = encodeEntry({
    kind: 'commit',
    transitions: [{ ...moved, dead: new OidSet(OidList.of([])) }],
  })
  const ref = encodeEntry({ kind: 'ref', name: 'origin', commit: first })
  const accepted: readonly (readonly [string, Uint8Array])[] = [
    ['two transitions', commit],
    ['a commit with parts', encodeEntry({ kind: 'commit', transitions: [moved], parts })],
    ['a redaction', erasing],
    ['a redaction that erases nothing', none],
    ['packs', encodeEntry({ kind: 'packs', parts, counts: [1, 1] })],
    ['a ref', ref],
    ['a ref removed', encodeEntry({ kind: 'ref', name: 'origin', commit: null })],
    ['a remote', encodeEntry({ kind: 'remote', name: 'origin', url: 'https://example.com/ä' })],
    ['a remote removed', encodeEntry({ kind: 'remote', name: 'origin', url: null })],
    ['a member that is not known', headed({ kind: 'remote', name: 'a', url: null, extra: 1 })],
  ]
  const faults: readonly (readonly [string, Uint8Array])[] = [
    ['nothing', new Uint8Array()],
    ['a version alone', commit.slice(0, 1)],
    ['cut in the head', commit.slice(0, 12)],
    ['cut in a frame', commit.slice(0, -1)],
    ['cut in the oids', erasing.slice(0, erasing.length - 100)],
    ['a byte more in a commit', concatBytes(commit, Uint8Array.of(0))],
    ['a byte more in a ref', concatBytes(ref, Uint8Array.of(0))],
    ['another kind', headed({ kind: 'branch', name: 'a' })],
    ['no kind', headed({ name: 'a' })],
    ['a head that is not JSON', put(5, 0x7c)(ref)],
    ['a redaction without a frame', headed({ kind: 'commit', dead: 0 })],
    ['an object of type 4', typed(4)(commit)],
    ['an object of type 0', typed(0)(commit)],
  ]
  const part = encodeObjects(objects)
  return [
    ...accepted.map(([name, bytes]) => of('14.2', 'accepted', name, bytes)),
    ...[0, 2, 255].map((version) => {
      return of('14.2', 'upgrade_required', `version ${version}`, put(0, version)(commit))
    }),
    ...faults.map(([name, bytes]) => of('14.2', 'journal_corrupt', name, bytes)),
    of('14.3', 'accepted', 'a part of objects', part),
    of('14.3', 'accepted', 'a part without objects', encodeObjects([])),
    of('14.3', 'journal_corrupt', 'a part of objects, cut', part.slice(0, -1)),
    of('14.3', 'journal_corrupt', 'a part whose frame is too short', put(3, 41)(part)),
  ]
}

function headed(head: object): Uint8Array {
  const json = utf8(JSON.stringify(head))
  return concatBytes(Uint8Array.of(1), lengthOf(json), json)
}

/** The type of the first object of a commit. */
function typed(type: number): Spoil {
  return (bytes) => {
    const headLength = new DataView(bytes.buffer, bytes.byteOffset).getUint32(1)
    return put(5 + headLength + 44, type)(bytes)
  }
}

function logBases(): readonly Vector[] {
  const [pack, index] = [`pack-${first}.pack`, `pack-${first}.idx`] as const
  const manifest = {
    version: 1,
    number: 7,
    partBytes: 4,
    head: second,
    tracked: [['origin', first]],
    remotes: [{ name: 'origin', url: 'https://example.com/memory' }],
    files: [
      { name: pack, bytes: 6 },
      { name: index, bytes: 2 },
    ],
  }
  const contents = ['504143', '4b0000', '0102']
  const named = (name: string): object => ({ ...manifest, files: [{ name, bytes: 2 }] })
  const of = (expect: string, name: string, list: object, rest = contents): Vector => ({
    name,
    clause: expect === 'upgrade_required' ? '14.7' : '14.4',
    expect,
    number: '7',
    parts: [toHex(utf8(JSON.stringify(list))), ...rest].join(' '),
  })
  return [
    of('accepted', 'two files', manifest),
    of('accepted', 'parts of other sizes', manifest, ['5041434b', '0000', '0102']),
    of('accepted', 'an empty file', { ...manifest, files: [{ name: pack, bytes: 0 }] }, []),
    of('accepted', 'no files', { ...manifest, files: [], tracked: [], remotes: [] }, []),
    of('accepted', 'a member that is not known', { ...manifest, extra: 1 }),
    of('upgrade_required', 'version 2', { ...manifest, version: 2 }),
    of('upgrade_required', 'no version', { ...manifest, version: undefined }),
    of('journal_corrupt', 'another number', { ...manifest, number: 8 }),
    of('journal_corrupt', 'a part less', manifest, contents.slice(0, 2)),
    of('journal_corrupt', 'a part across two files', manifest, ['504143', '4b00000102']),
    of('journal_corrupt', 'an empty part', manifest, ['504143', '', '4b0000', '0102']),
    of('journal_corrupt', 'a path', named(`../pack-${first}.pack`), ['0102']),
    of('journal_corrupt', 'a multi-pack index', named('multi-pack-index'), ['0102']),
    of('journal_corrupt', 'upper case', named(`pack-${first.toUpperCase()}.pack`), ['0102']),
    { ...of('journal_corrupt', 'a list that is not JSON', {}), parts: '7c' },
  ]
}
