// Accounts for the bytes that changes take in the packs of a closed store, field by field (FORMAT
// §3, §5 and §6), as stock git lists their objects.

import { deflateSync } from 'node:zlib'
// Internal: what an envelope adds.
import { envelopeOverhead } from '../../dist/crypto/aead.js'
import { run } from './machine.ts'
import { noteBytes } from './workload.ts'

export interface Part {
  readonly object: string
  readonly field: string
  /** Bytes in the object; undefined if it is not part of one. */
  readonly raw?: number
  /** Bytes in packs and their indexes. */
  readonly packed: number
}

/** oid 20, CRC-32 4, offset 4: version 2 of a pack's index, without its fixed part. */
const indexRow = 28
/** FORMAT §5, all before the path. */
const memoryFields = 64
/** FORMAT §6.1 with one row and one parent, then the signature, and what both are padded to. */
const [recordFields, signatureBytes, recordPadded] = [427, 64, 512]
/** Of the path `/d/nn.md`, of one or two digits. */
const pathBytes = 7.9
/** FORMAT §6.2, of one row without a note. */
const [detailFields, detailPadded] = [77 + pathBytes, 256]

interface Listed {
  readonly oid: string
  readonly type: string
  readonly size: number
  /** Of its entry in the pack, header included. */
  readonly disk: number
  readonly isDelta: boolean
}

/** Means over the newest `changes` commits, of which each replaces a text in one memory of 1 kB. */
export function accountOf(cwd: string, changes: number): readonly Part[] {
  const objects = objectsOf(cwd, changes)
  const of = (type: string) => objects.filter((object) => object.type === type)
  const mean = (list: readonly Listed[], value: (object: Listed) => number) =>
    list.reduce((sum, object) => sum + value(object), 0) / changes
  const trees = of('tree')
  const [whole, deltas] = [false, true].map((is) => trees.filter(({ isDelta }) => isDelta === is))
  return [
    ...memoryParts(
      mean(of('blob'), ({ size }) => size),
      mean(of('blob'), ({ disk }) => disk),
    ),
    ...commitParts(cwd, of('commit'), changes),
    treePart('whole', whole ?? [], changes),
    treePart('as deltas', deltas ?? [], changes),
    {
      object: 'index',
      field: `rows of ${(objects.length / changes).toFixed(1)} objects`,
      packed: (indexRow * objects.length) / changes,
    },
  ]
}

function objectsOf(cwd: string, changes: number): readonly Listed[] {
  const range = `main~${changes}..main`
  const names = run('git', ['rev-list', '--objects', '--no-object-names', range], { cwd })
  const format = '%(objectname) %(objecttype) %(objectsize) %(objectsize:disk) %(deltabase)'
  const args = ['cat-file', `--batch-check=${format}`]
  const lines = run('git', args, { cwd, input: names }).toString().trimEnd().split('\n')
  return lines.map((line) => {
    const [oid = '', type = '', size, disk, base = ''] = line.split(' ')
    return { oid, type, size: Number(size), disk: Number(disk), isDelta: !/^0+$/.test(base) }
  })
}

function memoryParts(size: number, disk: number): readonly Part[] {
  const padding = size - envelopeOverhead - memoryFields - pathBytes - noteBytes
  const object = 'memory'
  return [
    { object, field: 'content', raw: noteBytes, packed: noteBytes },
    { object, field: 'path', raw: pathBytes, packed: pathBytes },
    { object, field: 'its other fields', raw: memoryFields, packed: memoryFields },
    { object, field: 'padding', raw: padding, packed: padding },
    { object, field: 'envelope', raw: envelopeOverhead, packed: envelopeOverhead },
    { object, field: 'entry, zlib', packed: disk - size },
  ]
}

const armors: readonly (readonly [string, RegExp])[] = [
  ['group signature', /gpgsig [\s\S]*?END SSH SIGNATURE-----\n/],
  ['record', /-----BEGIN GITLOCKET RECORD-----[\s\S]*?END GITLOCKET RECORD-----\n/],
  ['detail', /-----BEGIN GITLOCKET DETAIL-----[\s\S]*?END GITLOCKET DETAIL-----\n/],
]

/** An armor takes what the entry would be shorter without it. */
function commitParts(cwd: string, commits: readonly Listed[], changes: number): readonly Part[] {
  const sums = new Map<string, { raw: number; packed: number }>()
  const add = (field: string, raw: number, packed: number) => {
    const sum = sums.get(field) ?? { raw: 0, packed: 0 }
    sums.set(field, { raw: sum.raw + raw / changes, packed: sum.packed + packed / changes })
  }
  for (const { oid, size, disk } of commits) {
    const text = run('git', ['cat-file', 'commit', oid], { cwd }).toString()
    const full = deflateSync(text).length
    let [raw, packed] = [size, disk]
    for (const [field, pattern] of armors) {
      const without = text.replace(pattern, '')
      const part = [text.length - without.length, full - deflateSync(without).length] as const
      add(field, ...part)
      raw -= part[0]
      packed -= part[1]
    }
    add('tree, parent, time; entry, zlib', raw, packed)
  }
  return [...sums].flatMap(([field, sum]) => split(field, sum))
}

/** Of base64, what each sealed field takes: they do not get smaller alone. */
function split(field: string, { raw, packed }: { raw: number; packed: number }): readonly Part[] {
  const object = 'commit'
  const inside = insides[field]
  if (inside === undefined) return [{ object, field, raw, packed }]
  const known = inside.reduce((sum, [, bytes]) => sum + bytes, 0)
  return [
    ...inside.map(([part, bytes]) => ({
      object,
      field: `${field}: ${part}`,
      raw: bytes,
      packed: bytes,
    })),
    { object, field: `${field}: base64 and its frame`, raw: raw - known, packed: packed - known },
  ]
}

const insides: Readonly<Record<string, readonly (readonly [string, number])[]>> = {
  record: [
    ['fields', recordFields],
    ['device signature', signatureBytes],
    ['padding', recordPadded - recordFields - signatureBytes],
    ['envelope', envelopeOverhead],
  ],
  detail: [
    ['fields', detailFields],
    ['padding', detailPadded - detailFields],
    ['envelope', envelopeOverhead],
  ],
}

function treePart(field: string, trees: readonly Listed[], changes: number): Part {
  const sum = (value: (object: Listed) => number) =>
    trees.reduce((all, object) => all + value(object), 0) / changes
  return {
    object: 'trees',
    field: `${(trees.length / changes).toFixed(2)} ${field}`,
    raw: sum(({ size }) => size),
    packed: sum(({ disk }) => disk),
  }
}
