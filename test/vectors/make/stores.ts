// Vectors of whole stores: a head in one pool of git objects, the secret that opens it, and what
// verifying it must say. FORMAT §6–§8.

import { utf8 } from '../../../src/bytes.ts'
import type { Directory } from '../../../src/format/directory.ts'
import { zeroHash } from '../../../src/format/record.ts'
import type { GitObject, Oid } from '../../../src/git/objects/object.ts'
import { formatIdentity, formatRecoveryKey } from '../../../src/keys/identity.ts'
import { type Fault, fields, plainSettings } from '../../support/forge-fault.ts'
import { idOf, put } from '../../support/forge-seal.ts'
import { Forge } from '../../support/forge.ts'
import {
  memory,
  nextRow,
  type Standard,
  standardHistory,
  version,
} from '../../support/standard-forge.ts'
import type { Vector } from '../vector.ts'
import { branched } from './branched.ts'
import { collect } from './collect.ts'

export interface StoreVectors {
  readonly vectors: readonly Vector[]
  readonly objects: ReadonlyMap<Oid, GitObject>
}

type Case = readonly [
  expect: string,
  name: string,
  clause: string,
  act: (forge: Forge) => Oid | undefined,
]

export async function stores(): Promise<StoreVectors> {
  const standard = await standardHistory('store vectors')
  const objects = new Map<Oid, GitObject>()
  const vectors: Vector[] = []
  const identity = formatIdentity(standard.forge.founder)
  const faults = [...placeFaults, ...contentFaults, ...memberFaults(standard)]
  const cases = [...accepted(standard), ...faults]
  for (const [expect, name, clause, act] of cases) {
    const forge = standard.forge.fork()
    const head = act(forge) ?? forge.head
    collect(forge, head, objects)
    vectors.push({ name, clause, expect, identity, head })
  }
  const { head } = standard.forge
  const member = formatIdentity(standard.reader)
  const recoveryKey = formatRecoveryKey(standard.forge.storeId, new Uint8Array(32).fill(7))
  vectors.push({
    name: 'by another member',
    clause: '7',
    expect: 'accepted',
    identity: member,
    head,
  })
  vectors.push({ name: 'by recovery key', clause: '7', expect: 'accepted', recoveryKey, head })
  vectors.push(...(await geneses(objects)), ...(await branched(objects)))
  return { vectors, objects }
}

const deletion = { memoryId: memory.b, operation: 'deleted', path: '/dir/b.md' } as const

function accepted({ writer }: Standard): readonly Case[] {
  return [
    ['accepted', 'a short history', '8', () => undefined],
    ['accepted', 'a change by a writer', '6.1', (f) => f.change([nextRow], { author: writer })],
    ['accepted', 'a rename', '5', (f) => f.change([{ ...nextRow, path: '/renamed.md' }])],
    ['accepted', 'a deletion', '6.4', (f) => f.change([deletion])],
    [
      'accepted',
      'a restored memory',
      '6.4',
      (f) => {
        f.change([deletion])
        return f.change([{ ...deletion, operation: 'created', content: 'back\n' }])
      },
    ],
    ['accepted', 'other settings', '5.1', (f) => f.settings({ ...plainSettings, name: 'other' })],
    [
      'accepted',
      'a gap of sequence numbers',
      '9',
      (f) => f.change([nextRow], fields({ sequence: 99 })),
    ],
    ['accepted', 'an earlier time', '6.5', (f) => f.change([nextRow], fields({ time: 1 }))],
    [
      'accepted',
      'a new epoch',
      '7.3',
      (f) => {
        f.keyring((next) => next, { epoch: f.newEpoch() })
        return f.change([nextRow])
      },
    ],
    [
      'accepted',
      'a redaction',
      '10',
      (f) => {
        f.redact([[memory.a, version.a1]])
        return f.rewrite(new Set([version.a1]))
      },
    ],
    [
      'accepted',
      '20 memories, and so directories',
      '2.1',
      (f) =>
        f.change(
          Array.from({ length: 20 }, (_, index) => ({
            memoryId: idOf(`m ${index}`),
            operation: 'created',
            path: `/many/${index}`,
            content: '',
          })),
        ),
    ],
  ]
}

const placeFaults: readonly Case[] = [
  ['record_height', 'another height', '6.1', (f) => f.change([nextRow], fields({ height: 9 }))],
  [
    'record_parents',
    'another parent',
    '6.1',
    (f) => f.change([nextRow], fields({ parents: [zeroHash] })),
  ],
  [
    'record_keyring',
    'an older keyring',
    '6.1',
    (f) => f.change([nextRow], fields({ keyring: f.entries[0]?.hash ?? zeroHash })),
  ],
  [
    'record_sequence',
    'a used sequence number',
    '8',
    (f) => f.change([nextRow], fields({ sequence: 2 })),
  ],
  [
    'record_sequence',
    'sequence number 0',
    '7',
    (f) => f.change([nextRow], fields({ sequence: 0, previous: zeroHash })),
  ],
  [
    'record_chain',
    'another previous record',
    '8',
    (f) => f.change([nextRow], fields({ previous: zeroHash })),
  ],
  [
    'device_signature_invalid',
    'another signature',
    '6.1',
    (f) => f.change([nextRow], { signature: (s) => put(0, 1, 2, 3)(s) }),
  ],
  [
    'record_device',
    'a stranger',
    '6.1',
    (f) => f.change([nextRow], fields({ deviceId: 'ab'.repeat(16) })),
  ],
  [
    'record_parents',
    'two parents',
    '6.4',
    (f) => f.change([nextRow], fields({ parents: [zeroHash, f.entries.at(-1)?.hash ?? zeroHash] })),
  ],
  ['upgrade_required', 'kind 7', '6.1', (f) => f.change([nextRow], { body: put(1, 7) })],
  [
    'commit_malformed',
    'a change without a detail',
    '6',
    (f) => f.change([nextRow], { parts: (p) => ({ ...p, detail: undefined }) }),
  ],
  [
    'record_epoch',
    'the epoch before',
    '7.1',
    (f) => {
      const { epoch } = f
      f.keyring((next) => next, { epoch: f.newEpoch() })
      return f.change([nextRow], { epoch })
    },
  ],
  [
    'tree_mismatch',
    'a file more',
    '6.4',
    (f) => f.change([nextRow], { root: (e) => [...e, ...e.slice(-1).map(renamed)] }),
  ],
  [
    'tree_mismatch',
    'a memory less',
    '6.4',
    (f) =>
      f.change([nextRow], {
        memories: (m) => new Map([...m].filter(([id]) => id !== f.idOf(memory.b))),
      }),
  ],
]

const lie: Fault = { details: (rows) => rows.map((row) => ({ ...row, path: '/lie.md' })) }

const contentFaults: readonly Case[] = [
  [
    'duplicate_record',
    'one record in two commits',
    '8.1',
    (f) => f.remake(f.head, (parts) => ({ ...parts, parents: [f.head] })),
  ],
  [
    'row_base_mismatch',
    'an older base',
    '6.4',
    (f) => f.change([{ ...nextRow, base: version.a1 }]),
  ],
  [
    'row_memory_exists',
    'a second creation',
    '6.4',
    (f) => f.change([{ ...nextRow, operation: 'created' }]),
  ],
  [
    'record_rows',
    'a new memory with the id of another one',
    '6.1',
    (f) => f.change([{ ...nextRow, operation: 'created', base: '00'.repeat(16) }]),
  ],
  [
    'row_memory_missing',
    'a memory that never was',
    '6.4',
    (f) => f.change([{ ...nextRow, memoryId: memory.other, base: version.a1 }]),
  ],
  ['detail_mismatch', 'a detail that lies', '6.2', (f) => f.change([nextRow], lie)],
  [
    'detail_mismatch',
    'a deletion at another path',
    '6.2',
    (f) => f.change([{ ...deletion, path: '/z' }]),
  ],
  [
    'detail_missing',
    'no detail of a row',
    '8.1',
    (f) => f.change([nextRow], { details: () => [] }),
  ],
  [
    'memory_mismatch',
    'a memory that lies',
    '8',
    (f) => f.change([nextRow], { blob: (b) => ({ ...b, created: 1 }) }),
  ],
  [
    'envelope_salt',
    'a record sealed with another salt',
    '3.2',
    (f) => f.change([nextRow], { recordSeal: { salt: put(0, 1, 2, 3) } }),
  ],
  [
    'envelope_salt',
    'a detail sealed with another salt',
    '3.2',
    (f) => f.change([nextRow], { detailSeal: { salt: put(0, 1, 2, 3) } }),
  ],
  [
    'envelope_salt',
    'a memory sealed with another salt',
    '3.2',
    (f) => f.change([nextRow], { blobSeal: { salt: put(0, 1, 2, 3) } }),
  ],
  [
    'envelope_padding',
    'a memory with other padding',
    '3.3',
    (f) => f.change([nextRow], { blobSeal: { padded: (b) => put(b.length - 1, 1)(b) } }),
  ],
  [
    'settings_mismatch',
    'settings of another hash',
    '6.1',
    (f) => f.settings(plainSettings, { swappedFile: put(80, 1, 2, 3) }),
  ],
  [
    'detail_missing',
    'a redaction without its record',
    '8.1',
    (f) => f.rewrite(new Set([version.a1])),
  ],
  [
    'redaction_undone',
    'a redaction without a rewritten history',
    '8.1',
    (f) => f.redact([[memory.a, version.a1]]),
  ],
  [
    'redact_target',
    'the redaction of a live memory',
    '6.4',
    (f) => {
      f.redact([[memory.a, version.a2]])
      return f.rewrite(new Set([version.a2]))
    },
  ],
]

function memberFaults({ writer, reader }: Standard): readonly Case[] {
  return [
    ['record_role', 'a change by a reader', '6.1', (f) => f.change([nextRow], { author: reader })],
    [
      'record_role',
      'settings by a writer',
      '6.1',
      (f) => f.settings(plainSettings, { author: writer }),
    ],
    [
      'record_role',
      'a keyring by a writer',
      '7.1',
      (f) => f.keyring((next) => next, { fault: { author: writer } }),
    ],
    [
      'keyring_chain',
      'a directory number that is skipped',
      '7.1',
      (f) => f.keyring((next) => ({ ...next, number: next.number + 1 })),
    ],
    [
      'keyring_chain',
      'another previous directory',
      '7.1',
      (f) => f.keyring((next) => ({ ...next, previous: zeroHash })),
    ],
    [
      'keyring_chain',
      'a device that vanished',
      '7.1',
      (f) => f.keyring((next) => ({ ...withoutWriter(next), removed: [...next.removed] })),
    ],
    [
      'keyring_chain',
      'a device removed without a new epoch',
      '7.3',
      (f) => f.keyring(withoutWriter),
    ],
    [
      'keyring_mismatch',
      'another directory number in the record',
      '7.1',
      (f) => f.keyring((next) => next, { fault: fields({ directoryNumber: 9 }) }),
    ],
  ]
}

/** Stores whose first commit is wrong. */
async function geneses(objects: Map<Oid, GitObject>): Promise<readonly Vector[]> {
  const founder = await Forge.create('another founder')
  founder.directory = { ...founder.directory, founderRandom: new Uint8Array(32) }
  founder.genesis()
  const readme = await Forge.create('another readme')
  const oid = readme.put('blob', utf8('# another\n'))
  readme.genesis({
    root: (entries) => entries.map((e) => (e.name === 'README.md' ? { ...e, oid } : e)),
  })
  const id = await Forge.create('another id')
  id.genesis({ storeId: '77'.repeat(16) })
  collect(founder, founder.head, objects)
  collect(id, id.head, objects)
  collect(readme, readme.head, objects)
  return [
    { name: 'another founder', clause: '7.1', expect: 'store_seed_mismatch', ...secretOf(founder) },
    { name: 'another store id', clause: '1', expect: 'store_id_mismatch', ...secretOf(id) },
    { name: 'another README.md', clause: '2', expect: 'public_file_mismatch', ...secretOf(readme) },
  ]
}

function secretOf(forge: Forge): { readonly identity: string; readonly head: Oid } {
  return { identity: formatIdentity(forge.founder), head: forge.head }
}

function renamed<T>(entry: T): T & { readonly name: string } {
  return { ...entry, name: 'zzz' }
}

function withoutWriter(next: Directory): Directory {
  return { ...next, devices: next.devices.filter(({ role }) => role !== 'writer') }
}
