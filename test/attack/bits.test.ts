// T2: no stored bit can be changed, nothing truncated or appended, without being refused, each
// region of each structure with its own code. FORMAT §3, §6, §7, §8.

import { beforeAll, describe, expect, test } from 'vitest'
import { asciiText, concatBytes } from '../../src/bytes.ts'
import { type CommitParts, encodeCommit, parseCommit } from '../../src/format/commit.ts'
import {
  detailContext,
  type EnvelopeKeys,
  type EnvelopeType,
  memoryContext,
  openEnvelope,
  recordContext,
} from '../../src/format/envelope.ts'
import { zeroHash } from '../../src/format/record.ts'
import { openKeyring } from '../../src/keys/keyring.ts'
import { verifyDecodedCommit } from '../../src/store/commits/decoded-commit.ts'
import { checkDecodedAlone } from '../../src/store/verify/context-free-check.ts'
import { VerificationCursor } from '../../src/store/verify/verification-cursor.ts'
import { verifyChecked } from '../../src/store/verify/verify-commit.ts'
import { verifyHistory, VersionMap } from '../../src/store/verify/verify.ts'
import { atOnce } from '../../src/time-slice.ts'
import { flipBit, seal } from '../support/forge-seal.ts'
import type { Forge } from '../support/forge.ts'
import { openEnvelope as openByReference } from '../support/reference/envelope.ts'
import { full } from '../support/seed.ts'
import { memory, nextRow, refused, standardHistory, verdicts } from '../support/standard-forge.ts'
import { readOnlyObjects, verdictOf } from '../support/verdict.ts'

/** The expected codes from a byte on, up to the next region. */
type Regions = readonly (readonly [name: string, start: number, ...codes: readonly string[]])[]

interface Sealed {
  readonly type: EnvelopeType
  readonly keys: EnvelopeKeys
  readonly context: Uint8Array
  readonly bytes: Uint8Array
}

let forge: Forge
beforeAll(async () => {
  const standard = await standardHistory()
  forge = standard.forge
  forge.change([nextRow])
})

const envelopeRegions: Regions = [
  ['magic', 0, 'envelope_magic'],
  ['suite', 4, 'envelope_suite'],
  ['type', 5, 'envelope_type'],
  ['flags', 6, 'envelope_flags'],
  ['kid', 8, 'envelope_epoch'],
  ['salt', 24, 'envelope_commitment'],
  ['commitment', 48, 'envelope_commitment'],
  ['ciphertext and tag', 80, 'envelope_tag'],
]

/** One object of each type that a commit holds, from the newest commit. */
function sealedObject(type: 'record' | 'detail' | 'memory' | 'settings'): Sealed {
  const { epoch } = forge
  const last = forge.entries.at(-1)
  const memoryId = forge.idOf(memory.a)
  const parts = parseCommit(body(forge.head))
  const blob = last?.blobs.get(memoryId) ?? ''
  const store = recordContext(epoch)
  const settings = { type: 'settings', keys: epoch.settings, context: store } as const
  if (type === 'settings') return { ...settings, bytes: body(last?.settings ?? '') }
  if (type === 'record') return { type, keys: epoch.record, context: store, bytes: parts.record }
  if (type === 'memory') {
    return {
      type,
      keys: epoch.memory,
      context: memoryContext(epoch, memoryId),
      bytes: body(blob),
    }
  }
  const context = detailContext(epoch, last?.hash ?? zeroHash)
  return { type, keys: epoch.detail, context, bytes: parts.detail ?? new Uint8Array() }
}

describe('T2: a sealed object', () => {
  const types = ['record', 'detail', 'memory', 'settings'] as const

  test.each(types)(
    '%s: each bit flipped is refused by the code of its field',
    { tags: 'slow' },
    async (type) => {
      const { keys, context, bytes } = sealedObject(type)
      const open = (spoilt: Uint8Array) => openEnvelope(type, keys, context, spoilt)
      expect(await flipped(bytes, envelopeRegions, open)).toEqual([])
    },
  )

  test.each(types)('%s: the reference decoder agrees', async (type) => {
    const { keys, context, bytes } = sealedObject(type)
    const open = (spoilt: Uint8Array) => openByReference(type, keys, context, spoilt)
    expect(await flipped(bytes, envelopeRegions, open, full ? 1 : 13)).toEqual([])
  })

  test.each(types)('%s: cut off at each length, or with a byte more, is refused', async (type) => {
    const { keys, context, bytes } = sealedObject(type)
    const codes = new Map<string, number>()
    for (let length = 0; length < bytes.length; length += 1) {
      const cut = bytes.subarray(0, length)
      const code = await verdictOf(() => openEnvelope(type, keys, context, cut))
      codes.set(code, (codes.get(code) ?? 0) + 1)
    }
    const wanted = { envelope_truncated: 96, envelope_tag: bytes.length - 96 }
    expect(Object.fromEntries(codes)).toEqual(wanted)
    const longer = concatBytes(bytes, new Uint8Array(1))
    expect(await verdictOf(() => openEnvelope(type, keys, context, longer))).toBe('envelope_tag')
  })
})

describe('T2: a commit', () => {
  test('each bit flipped is refused', { tags: 'slow' }, async () => {
    const bytes = body(forge.head)
    const text = asciiText(bytes)
    const structure = ['commit_malformed', 'commit_not_canonical', 'group_signature_invalid']
    const sealed = envelopeRegions.flatMap(([, , ...codes]) => codes)
    const regions: Regions = [
      ['header', 0, ...structure],
      ['signature', text.indexOf('gpgsig '), ...structure],
      ['message', text.indexOf('\n\n'), ...structure],
      ['record', text.indexOf('RECORD-----\n') + 12, ...structure, ...sealed],
      ['detail', text.indexOf('-----END GITLOCKET RECORD'), ...structure],
    ]
    expect(await flipped(bytes, regions, verifyAlone)).toEqual([])
  })

  test('cut off at each length, or with a byte more, is refused', async () => {
    const bytes = body(forge.head)
    const codes = new Set<string>()
    for (let length = 0; length < bytes.length; length += 1) {
      codes.add(await verdictOf(() => verifyAlone(bytes.subarray(0, length))))
    }
    codes.add(await verdictOf(() => verifyAlone(concatBytes(bytes, Uint8Array.of(10)))))
    // Cut off exactly before the detail, it is a well-formed commit of another kind.
    expect([...codes].toSorted()).toEqual(['commit_malformed', 'group_signature_invalid'])
  })
})

const recordRegions: Regions = [
  ['version', 0, 'upgrade_required'],
  ['kind', 1, 'upgrade_required', 'record_malformed', 'record_rows'],
  ['parent count', 2, 'record_malformed', 'record_rows', 'envelope_padding'],
  ['reserved', 3, 'record_malformed'],
  ['height', 4, 'record_height', 'record_malformed'],
  ['device', 12, 'record_device'],
  ['sequence', 28, 'device_signature_invalid', 'record_malformed'],
  ['previous record', 36, 'device_signature_invalid'],
  ['keyring', 68, 'record_keyring'],
  ['parent', 100, 'record_parents'],
  ['time', 132, 'device_signature_invalid', 'record_malformed'],
  ['actor', 140, 'device_signature_invalid', 'record_malformed'],
  ['session', 206, 'record_malformed'],
  ['reason', 271, 'record_malformed'],
  ['directory number', 272, 'record_malformed'],
  ['keyring hash', 280, 'record_malformed'],
  ['settings hash', 312, 'record_malformed'],
  ['row count', 344, 'record_malformed', 'record_rows', 'envelope_padding'],
  ['memory', 346, 'device_signature_invalid'],
  ['base and second base', 362, 'device_signature_invalid'],
  ['operation', 394, 'device_signature_invalid', 'record_malformed', 'record_rows'],
  ['commitment', 395, 'device_signature_invalid'],
  ['signature', 427, 'device_signature_invalid'],
]

test(
  'T2: a record: each bit flipped by a holder of the epoch keys is refused',
  { tags: 'slow' },
  async () => {
    const { entries, epoch, storeId, objects, epochs } = forge
    const signed = entries.at(-1)?.signed ?? new Uint8Array()
    const before = entries.at(-2)?.oid ?? ''
    const parts = parseCommit(body(forge.head))
    const source = { objects: readOnlyObjects(objects, before), storeId, epochs }
    const { snapshot } = await verifyHistory(source, before)
    const place = { type: 'record', keys: epoch.record, context: recordContext(epoch) } as const
    const judge = (plaintext: Uint8Array): void => {
      const record = seal({ ...place, hedge: zeroHash, plaintext })
      const bytes = encodeCommit({ ...parts, record }, epoch.group)
      const commit = verifyDecodedCommit(storeId, epochs, '', bytes)
      const context = { ...source, redacted: new Set<string>(), versions: new VersionMap() }
      const cursor = new VerificationCursor(snapshot, new Map([['', 0]]))
      atOnce(verifyChecked(context, checkDecodedAlone(source, commit), cursor))
    }
    expect(signed.length).toBe(491)
    expect(await flipped(signed, recordRegions, judge)).toEqual([])
    expect(await verdictOf(() => judge(signed))).toBe('accepted')
  },
)

describe('T2: a keyring', () => {
  test(
    'each byte of what its owner reads, changed, is refused immediately',
    { tags: 'slow' },
    async () => {
      const keyring = body(forge.entries[0]?.keyring ?? '')
      const { founder, storeId } = forge
      const unlock = { type: 'identity', identity: founder } as const
      const codes = new Set<string>()
      const accepted: number[] = []
      for (let at = 0; at < keyring.length; at += full ? 1 : 23) {
        const spoilt = flipBit(8 * at + (at % 8))(keyring)
        const code = await verdictOf(() => openKeyring(spoilt, storeId, unlock))
        if (code === 'accepted') accepted.push(at)
        else codes.add(code)
      }
      const kinds = /^(?:keyring_\w+|upgrade_required|wrong_key|envelope_\w+)$/
      expect([...codes].filter((code) => !kinds.test(code))).toEqual([])
      // Slots of others are not opened: the hash in the record protects them.
      const slots = [40, 40 + 5 * 1724 + 16] as const
      expect(accepted.filter((at) => at < slots[0] || at >= slots[1])).toEqual([])
    },
  )

  test(
    'any bit of it, changed, is refused by the hash that its record names',
    { tags: 'slow' },
    async () => {
      const size = body(forge.entries[0]?.keyring ?? '').length
      for (let index = 0; index < 16; index += 1) {
        const spoilt = forge.fork()
        const swappedFile = flipBit(Math.floor((size * 8 * index) / 16) + index)
        spoilt.keyring((next) => next, { fault: { swappedFile } })
        expect(await verdicts(spoilt)).toEqual(refused('keyring_mismatch'))
      }
    },
  )
})

function body(oid: string): Uint8Array {
  return forge.objects.get(oid)?.body ?? new Uint8Array()
}

function verifyAlone(bytes: Uint8Array): CommitParts {
  return verifyDecodedCommit(forge.storeId, forge.epochs, '', bytes).parts
}

/** Every bit whose flip `judge` answers with another code than its region allows. */
async function flipped(
  bytes: Uint8Array,
  regions: Regions,
  judge: (spoilt: Uint8Array) => unknown,
  stride = 1,
): Promise<readonly string[]> {
  const wrong: string[] = []
  for (let bit = 0; bit < bytes.length * 8; bit += stride) {
    const code = await verdictOf(() => judge(flipBit(bit)(bytes)))
    const region = regions.findLast(([, start]) => start <= bit >>> 3)
    if (region?.slice(2).includes(code) !== true) wrong.push(`${region?.[0]} bit ${bit}: ${code}`)
  }
  return wrong
}
