// Starts of a device: a start is read as it was made, and refusals that no vector shows. The faults
// of their bytes are vectors.

import { describe, expect, test } from 'vitest'
import { toHex, utf8 } from '../../../src/bytes.ts'
import { signingKeyPair } from '../../../src/crypto/signature.ts'
import { StoreError } from '../../../src/errors.ts'
import { deviceIdOf, storeIdOf } from '../../../src/format/id.ts'
import type { Start, StartFloor, StartMemory } from '../../../src/format/start.ts'
import { epochKeys } from '../../../src/keys/epoch.ts'
import { makeStart, openStart } from '../../../src/keys/start.ts'
import { startBytesMax } from '../../../src/limits.ts'
import { countingRandom, idOf } from '../../support/forge-seal.ts'
import { openBaseline as openByReference } from '../../support/reference/baselines.ts'
import { fullEpoch } from '../../support/reference/keys.ts'

type Said = Omit<Start, 'granter'>

const random = countingRandom('start')
const pair = signingKeyPair(random(32))
const seed = idOf('seed')
const genesis = { record: random(32), commit: toHex(random(20)) }
const storeId = storeIdOf(genesis.record)
const newest = { record: random(32), commit: toHex(random(20)) }
const epoch = epochKeys(seed, random(32), random(32))

function memoryAt(path: string, name = 'memory'): StartMemory {
  const live = { updated: 9, size: 6, sha256: random(32), kid: epoch.kid, path }
  const value = { versionId: idOf('version'), operation: 'created', created: 8, live } as const
  return { memoryId: idOf(name), value }
}

const said: Said = {
  counter: 3,
  time: 1_700_000_000_000,
  genesis: { ...genesis, time: 1_600_000_000_000 },
  keyrings: [newest],
  kids: [epoch.kid],
  redacted: [idOf('redacted')],
  state: {
    record: random(32),
    height: 9,
    commit: toHex(random(20)),
    tree: toHex(random(20)),
    keyring: { record: newest.record, blob: random(80) },
    settings: { record: random(32), height: 4, time: 5, blob: random(80) },
    devices: [{ deviceId: idOf('a'), value: { sequence: 4, record: random(32), forked: false } }],
    grants: [
      {
        granter: idOf('a'),
        key: random(32),
        value: { role: 'proposer', began: 6, notAfter: 7 },
      },
    ],
    memories: [memoryAt('/notes/ä.md')],
  },
  floor: undefined,
}

const floor: StartFloor = {
  ...said.state,
  height: 5,
  keyring: undefined,
  settings: { record: random(32), height: 2, time: 3, blob: random(8) },
  devices: [{ deviceId: idOf('a'), value: undefined }],
  grants: [],
  memories: [],
}

function made(what: Said = said, from = random): Uint8Array {
  return makeStart(epoch, what, { storeId, pair, random: from })
}

function withMemories(memories: readonly StartMemory[]): Said {
  return { ...said, state: { ...said.state, memories } }
}

describe('reads the statement of a device', () => {
  test.each([
    ['without a floor', said],
    ['with a floor', { ...said, floor }],
  ])('%s, as it was said, and with its name', (_, what) => {
    const granter = deviceIdOf(pair.publicKey)
    expect(openStart(made(what), epoch, pair.publicKey, storeId)).toEqual({ ...what, granter })
  })

  test('by the reference decoder too', () => {
    const own = fullEpoch(seed, epoch.auditKey, epoch.contentKey)
    const bytes = made({ ...said, floor })
    const read = openByReference(bytes, storeId, own, seed, pair.publicKey)
    expect(read).toMatchObject({ counter: 3 })
    expect(read['floor']).toMatchObject({ height: 5, keyring: undefined })
  })
})

test('one start made twice has two nonces, and depends on its randomness alone', () => {
  const salts = [made(), made()].map((bytes) => toHex(bytes.slice(128, 152)))
  expect(salts[0]).not.toBe(salts[1])
  expect(made(said, countingRandom('same'))).toEqual(made(said, countingRandom('same')))
})

test('a longer path does not show in the size', () => {
  const [short, long] = ['/a', '/a longer name.md'].map((path) =>
    made(withMemories([memoryAt(path)])),
  )
  expect(short).toHaveLength(long?.length ?? 0)
})

test('a start shows neither paths nor its granter', () => {
  const text = toHex(made())
  expect(text).not.toContain(toHex(utf8('notes')))
  expect(text).not.toContain(deviceIdOf(pair.publicKey))
})

test('a start of another epoch is distinguished from one of another store', () => {
  const [next, foreign] = [seed, idOf('other')].map((of) => epochKeys(of, random(32), random(32)))
  const opened = (keys = epoch): string =>
    codeOf(() => openStart(made(), keys, pair.publicKey, storeId))
  expect([opened(next), opened(foreign)]).toEqual(['envelope_epoch', 'baseline_malformed'])
})

describe('a start of more than 64 MiB', () => {
  // Were it read, its version would be refused.
  const newer = (length: number): Uint8Array => {
    const bytes = new Uint8Array(length)
    bytes.set([...utf8('GLKB'), 2])
    return bytes
  }

  test('is refused by its size, before anything is read', () => {
    const open = (length: number): string =>
      codeOf(() => openStart(newer(length), epoch, pair.publicKey, storeId))
    expect(startBytesMax).toBe(64 * 1024 * 1024)
    expect(open(startBytesMax)).toBe('upgrade_required')
    expect(open(startBytesMax + 1)).toBe('baseline_malformed')
  })

  test('is not made', { tags: 'slow' }, () => {
    const keyring = { record: newest.record, blob: new Uint8Array(48 * 1024 * 1024) }
    const large = { ...said, state: { ...said.state, keyring } }
    expect(codeOf(() => made(large))).toBe('change_too_large')
  })
})

describe('an error quotes nothing of a start', () => {
  const secret = 'hunter2'
  const other = memoryAt(`/${secret}/b`, 'other')
  test.each([
    ['a path with an empty segment', withMemories([memoryAt(`/${secret}//b`)])],
    ['a path without a slash', withMemories([memoryAt(secret)])],
    ['a path with a control character', withMemories([memoryAt(`/${secret}\u0007`)])],
    ['a path that is too long', withMemories([memoryAt(`/${secret.repeat(200)}`)])],
    ['one memory twice', withMemories([other, other])],
    ['an epoch that is not listed', { ...withMemories([other]), kids: [] }],
  ])('%s', (_, what) => {
    const error = errorOf(() => openStart(made(what), epoch, pair.publicKey, storeId))
    expect(error.code).toBe('baseline_malformed')
    expect([error.cause, error.details]).toEqual([undefined, {}])
    for (const part of [secret, idOf('other'), epoch.kid]) {
      expect(`${error.message} ${error.stack}`).not.toContain(part)
    }
  })
})

function codeOf(action: () => unknown): string {
  return errorOf(action).code
}

function errorOf(action: () => unknown): StoreError {
  try {
    action()
  } catch (error) {
    if (error instanceof StoreError) return error
    throw error
  }
  throw new Error('Nothing was refused')
}
