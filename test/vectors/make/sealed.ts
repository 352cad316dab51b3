// Vectors of envelopes, each fault of FORMAT §3 in the order in which a reader meets it, and of
// commits, §6.

import { asciiText, concatBytes, toHex, utf8 } from '../../../src/bytes.ts'
import { deriveKey } from '../../../src/crypto/digest.ts'
import { parseCommit } from '../../../src/format/commit.ts'
import {
  detailContext,
  type EnvelopeType,
  memoryContext,
  recordContext,
} from '../../../src/format/envelope.ts'
import { zeroHash } from '../../../src/format/record.ts'
import type { Fault } from '../../support/forge-fault.ts'
import { flipBit, put, seal, type SealFault, type SealParts } from '../../support/forge-seal.ts'
import { Forge } from '../../support/forge.ts'
import { memory, nextRow, standardHistory } from '../../support/standard-forge.ts'
import type { Group, Vector } from '../vector.ts'

export async function sealedForms(): Promise<Partial<Record<Group, readonly Vector[]>>> {
  const forge = await Forge.started('sealed vectors')
  return { envelopes: envelopes(forge), commits: await commits() }
}

type Case = readonly [expect: string, name: string, fault: SealFault]

const faults: readonly Case[] = [
  ['accepted', 'no fault', {}],
  ['envelope_truncated', 'nothing', { envelope: () => new Uint8Array() }],
  ['envelope_truncated', '95 bytes', { envelope: (bytes) => bytes.slice(0, 95) }],
  ['envelope_magic', 'another magic', { header: put(3, 0x32) }],
  ['envelope_suite', 'suite 0', { header: put(4, 0) }],
  ['envelope_suite', 'suite 2', { header: put(4, 2) }],
  ['envelope_type', 'type 0', { header: put(5, 0) }],
  ['envelope_type', 'type 9', { header: put(5, 9) }],
  ['envelope_flags', 'the lowest flag', { header: put(7, 1) }],
  ['envelope_flags', 'the highest flag', { header: put(6, 0x80) }],
  ['envelope_epoch', 'another kid', { header: put(23, 1) }],
  ['envelope_commitment', 'a salt changed after sealing', { envelope: flipBit(8 * 24) }],
  ['envelope_commitment', 'a commitment of zeros', { envelope: put(48, ...new Uint8Array(32)) }],
  ['envelope_commitment', 'the last bit of the commitment', { envelope: flipBit(8 * 80 - 1) }],
  ['envelope_tag', 'the first bit of the ciphertext', { envelope: flipBit(8 * 80) }],
  ['envelope_tag', 'the last bit of the tag', { envelope: (b) => flipBit(8 * b.length - 1)(b) }],
  ['envelope_tag', 'a byte less', { envelope: (bytes) => bytes.slice(0, -1) }],
  ['envelope_tag', 'a byte more', { envelope: (b) => concatBytes(b, Uint8Array.of(0)) }],
  ['envelope_tag', '96 bytes', { envelope: (bytes) => bytes.slice(0, 96) }],
  ['envelope_salt', 'sealed with another salt', { salt: flipBit(0) }],
]

function envelopes(forge: Forge): readonly Vector[] {
  const { epoch } = forge
  const store = recordContext(epoch)
  const hedge = forge.random(32)
  const text = utf8('plaintext')
  const parts: readonly SealParts[] = [
    { type: 'record', keys: epoch.record, context: store, hedge: zeroHash, plaintext: text },
    {
      type: 'memory',
      keys: epoch.memory,
      hedge,
      plaintext: text,
      context: memoryContext(epoch, memory.a),
    },
    {
      type: 'detail',
      keys: epoch.detail,
      hedge: zeroHash,
      plaintext: text,
      context: detailContext(epoch, hedge),
    },
    { type: 'settings', keys: epoch.settings, context: store, hedge, plaintext: text },
  ]
  const all = parts.flatMap((one) => faults.map((fault) => envelopeVector(one, fault)))
  return [...all, ...ladder(forge)].filter((vector) => !hasFreeSalt(vector))
}

/** Only the salts of records, details and memories are made again by a reader. */
function hasFreeSalt({ type, expect }: Vector): boolean {
  return type === 'settings' && expect === 'envelope_salt'
}

function envelopeVector(parts: SealParts, [expect, name, fault]: Case): Vector {
  const { type, keys, context, hedge } = parts
  const hedged: Vector = type === 'settings' ? {} : { hedge: toHex(hedge) }
  return {
    name: `${type}: ${name}`,
    clause: '3',
    expect,
    type,
    kid: keys.kid,
    key: toHex(keys.key),
    saltKey: toHex(keys.saltKey),
    context: toHex(context),
    ...hedged,
    bytes: toHex(seal(parts, fault)),
  }
}

/** Every size of the ladder that a short plaintext reaches. */
function ladder(forge: Forge): readonly Vector[] {
  const sizes: readonly (readonly [EnvelopeType, number])[] = [
    ...[0, 512, 513, 768, 1025].map((size) => ['record', size] as const),
    ...[0, 256, 257, 512, 769].map((size) => ['detail', size] as const),
    ...[0, 512, 513, 769, 1025, 1537].map((size) => ['memory', size] as const),
  ]
  return sizes.map(([type, size]) => {
    const keys = type === 'record' ? forge.epoch.record : forge.epoch.memory
    const context = recordContext(forge)
    const plaintext = new Uint8Array(size).fill(1)
    const parts = { type, keys, context, hedge: zeroHash, plaintext }
    return envelopeVector(parts, ['accepted', `${size} bytes`, {}])
  })
}

/** Changes of a commit's text after it was signed. */
const changedTexts: readonly (readonly [
  expect: string,
  name: string,
  change: (commit: string) => string,
])[] = [
  ['group_signature_invalid', 'another tree', (c) => c.replace(/^tree .{8}/, 'tree 00000000')],
  [
    'group_signature_invalid',
    'another parent',
    (c) => c.replace(/(parent ).{8}/, (_, name: string) => `${name}00000000`),
  ],
  [
    'group_signature_invalid',
    'another record',
    (c) => c.replace(/(RECORD-----\n.{20})./, otherLetter),
  ],
  ['commit_not_canonical', 'other lines', (c) => c.replace(/(RECORD-----\n.{40})/, '$1\n')],
  [
    'commit_not_canonical',
    'another time of the committer',
    (c) => c.replace(/(committer .* )1(\d{9})/, '$12$2'),
  ],
  ['commit_malformed', 'nothing', () => ''],
  ['commit_malformed', 'three parents', (c) => c.replace(/(parent .*\n)/, '$1$1$1')],
  ['commit_malformed', 'no author', (c) => c.replace(/author .*\n/, '')],
  ['commit_malformed', 'the zone -0000', (c) => c.replace('+0000', '-0000')],
  ['commit_malformed', 'an upper-case tree', (c) => c.replace(/^tree .{40}/, upperCaseOid)],
  ['commit_malformed', 'CRLF', (c) => c.replaceAll('\n', '\r\n')],
  ['commit_malformed', 'a header more', (c) => c.replace('gpgsig', 'extra x\ngpgsig')],
  ['commit_malformed', 'another subject', (c) => c.replace('gitlocket change', 'x')],
  ['commit_malformed', 'no newline at the end', (c) => c.slice(0, -1)],
  ['commit_malformed', 'a newline more at the end', (c) => `${c}\n`],
  [
    'commit_malformed',
    'no record',
    (c) => c.replace(/-----BEGIN GITLOCKET RECORD[^]*RECORD-----\n/, ''),
  ],
]

async function commits(): Promise<readonly Vector[]> {
  const { forge } = await standardHistory('commit vectors')
  const groupSeed = toHex(deriveKey(forge.epoch.auditKey, 2, 'GLK1keys'))
  const vector = (expect: string, name: string, fault: Fault): Vector => {
    const copy = forge.fork()
    const head = copy.change([nextRow], fault)
    const bytes = Buffer.from(copy.objects.get(head)?.body ?? new Uint8Array()).toString('base64')
    return { name, clause: '6', expect, groupSeed, bytes }
  }
  const first = forge.objects.get(forge.entries[0]?.oid ?? '')?.body ?? new Uint8Array()
  return [
    vector('accepted', 'a change', {}),
    vector('accepted', 'no detail', { parts: (parts) => ({ ...parts, detail: undefined }) }),
    vector('accepted', 'no parent', { parts: (parts) => ({ ...parts, parents: [] }) }),
    vector('accepted', 'two parents', {
      parts: (parts) => ({ ...parts, parents: [...parts.parents, ...parts.parents] }),
    }),
    vector('accepted', 'a genesis', { parts: () => parseCommit(first) }),
    vector('group_signature_invalid', 'another key', { group: forge.founder.signing }),
    ...changedTexts.map(([expect, name, change]) =>
      vector(expect, name, { bytes: (b) => Buffer.from(change(asciiText(b)), 'latin1') }),
    ),
  ]
}

function otherLetter(_: string, before: string): string {
  return `${before}${before.endsWith('A') ? 'B' : 'A'}`
}

function upperCaseOid(line: string): string {
  return `tree ${line.slice(5).toUpperCase()}`
}
