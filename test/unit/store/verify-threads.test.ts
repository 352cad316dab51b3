// Verification with threads: the same result as without, on valid and forged histories, also if a
// thread dies. FORMAT §8.

import { cpSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import { unwatched } from '../../../src/async.ts'
import { signingKeyPair } from '../../../src/crypto/signature.ts'
import { openDiskObjectStore } from '../../../src/git/disk-store/disk-object-store.ts'
import type { Oid } from '../../../src/git/objects/object.ts'
import { checkPack } from '../../../src/git/pack/pack-resolve.ts'
import { generateIdentity, type Identity } from '../../../src/keys/identity.ts'
import type { CommitSource } from '../../../src/store/commits/decoded-commit.ts'
import { createStore } from '../../../src/store/create.ts'
import { verifyHistory, type VerifyOptions } from '../../../src/store/verify/verify.ts'
import { atOnce } from '../../../src/time-slice.ts'
import { type Fault, fields } from '../../support/forge-fault.ts'
import { flipBit, idOf } from '../../support/forge-seal.ts'
import type { Forge } from '../../support/forge.ts'
import { writeForged } from '../../support/forged-disk.ts'
import { inRam } from '../../support/hostile-packs.ts'
import { sample } from '../../support/seed.ts'
import { memory, standardHistory, version } from '../../support/standard-forge.ts'
import { sharedDirectory, temporaryDirectory } from '../../support/temporary.ts'
import { verdictOf } from '../../support/verdict.ts'

/** Three batches. */
const length = 300
let long: Forge
/** The beginning of every forged history, packed once. */
const longDirectory = join(sharedDirectory(), 'store')

beforeAll(async () => {
  const { forge, writer } = await standardHistory('threads')
  for (let index = forge.entries.length; index < length; index += 1) {
    forge.change([rowOf(index)], index % 7 === 0 ? { author: writer } : {})
  }
  long = forge
  await writeForged(long, longDirectory)
})

function rowOf(index: number) {
  const [memoryId, path] = index % 3 === 0 ? [memory.b, '/dir/b.md'] : [memory.a, '/a.md']
  return { memoryId, operation: 'modified', path, content: `text ${index}\n` } as const
}

interface Stored {
  readonly source: CommitSource
  readonly founder: Identity
  readonly head: Oid
  /** The number of objects that this thread has read. */
  readonly reads: () => number
  close(): Promise<void>
}

/** The forged history in a repository on disk, all of it packed. */
async function store(forge: Forge): Promise<Stored> {
  const directory = join(temporaryDirectory(), 'store')
  cpSync(longDirectory, directory, { recursive: true })
  if (forge !== long) await writeForged(forge, directory)
  const objects = await openDiskObjectStore({ directory })
  let reads = 0
  const read = (oid: Oid) => {
    reads += 1
    return objects.read(oid)
  }
  const { packDirectories } = objects
  const { storeId, epochs, head, founder } = forge
  const source = { objects: { read, packDirectories }, storeId, epochs }
  return { source, founder, head, reads: () => reads, close: () => objects.close() }
}

async function verdictWith(stored: Stored, options: VerifyOptions): Promise<string> {
  return verdictOf(() => verifyHistory(stored.source, stored.head, options))
}

/** The same for the device that wrote nearly all of it. */
async function verdictOfFounder({ source, founder, head }: Stored): Promise<string> {
  const identity = founder
  return verdictOf(() => verifyHistory({ ...source, identity }, head, { threads: 1 }))
}

test.each(sample([1, 2, 3], 2))(
  'with %i threads a history is verified as without threads',
  { tags: 'slow' },
  async (threads) => {
    const stored = await store(long)
    const alone = await verifyHistory(stored.source, stored.head, { threads: 0 })
    const readAlone = stored.reads()
    const seen: number[] = []
    const together = await verifyHistory(stored.source, stored.head, {
      threads,
      progress: (done) => seen.push(done),
    })
    expect(together.snapshot.head).toEqual(alone.snapshot.head)
    expect([...together.snapshot.current]).toEqual([...alone.snapshot.current])
    expect(together.versions.size).toBe(alone.versions.size)
    expect(seen).toEqual(seen.toSorted((a, b) => a - b))
    expect(seen.at(-1)).toBe(length)
    // The threads did some of the work.
    expect(stored.reads() - readAlone).toBeLessThan(readAlone)
    await stored.close()
  },
)

test('threads read what the check of a received pack has kept', { tags: 'slow' }, async () => {
  const stored = await store(long)
  const { packDirectories = [] } = stored.source.objects
  const packs = packDirectories.flatMap((directory) =>
    readdirSync(directory).flatMap((name) => (name.endsWith('.pack') ? join(directory, name) : [])),
  )
  const [pack = ''] = packs.toSorted((a, b) => statSync(b).size - statSync(a).size)
  const { hashed } = atOnce(checkPack(inRam(readFileSync(pack)), { watch: unwatched }))
  expect(hashed).toBeDefined()
  const alone = await verifyHistory(stored.source, stored.head, { threads: 0 })
  // Without any other place to read from.
  const objects = { ...stored.source.objects, packDirectories: [], hashed }
  const source = { ...stored.source, objects }
  const before = stored.reads()
  const together = await verifyHistory(source, stored.head, { threads: 2 })
  expect([...together.snapshot.current]).toEqual([...alone.snapshot.current])
  expect(stored.reads() - before).toBeLessThan(before)
  await stored.close()
})

test('commits are accepted in their order, each once', { tags: 'slow' }, async () => {
  const stored = await store(long)
  const heights: number[] = []
  await verifyHistory(stored.source, stored.head, {
    threads: 2,
    onCommit: ({ record }) => heights.push(record.height),
  })
  expect(heights).toEqual(Array.from({ length }, (_, index) => index))
  await stored.close()
})

describe('a fault in a history that threads check has the same code as without threads', () => {
  const next = rowOf(length)
  const other = new Uint8Array(32).fill(0xab)
  const cases: readonly (readonly [code: string, name: string, fault: Fault])[] = [
    ['commit_not_canonical', 'a trailing byte', { bytes: (bytes) => withLine(bytes) }],
    ['group_signature_invalid', 'no group key', { group: foreignPair() }],
    ['record_malformed', 'a reason in a change', fields({ reason: 'legal' })],
    ['record_height', 'another height', { parts: (parts) => ({ ...parts, height: 9 }) }],
    ['record_parents', 'another parent', fields({ parents: [other] })],
    ['record_keyring', 'another keyring', fields({ keyring: other })],
    ['record_sequence', 'a used number', fields({ sequence: 4 })],
    ['record_chain', 'another chain', fields({ previous: other })],
    ['device_signature_invalid', 'no signature', { signature: (bytes) => flipBit(7)(bytes) }],
    ['record_device', 'an unknown device', fields({ deviceId: idOf('nobody') })],
    ['detail_missing', 'no detail row', { details: () => [] }],
    [
      'detail_mismatch',
      'a detail with another path',
      { details: (rows) => rows.map((row) => ({ ...row, path: '/other.md' })) },
    ],
    [
      'memory_mismatch',
      'a memory with another version',
      { blob: (blob) => ({ ...blob, versionId: idOf('other version') }) },
    ],
    [
      'memory_mismatch',
      'a memory with another creation',
      { blob: (blob) => ({ ...blob, created: 1 }) },
    ],
    [
      'object_missing',
      'no blob',
      { memories: (shown) => new Map([...shown, [next.memoryId, 'ab'.repeat(20)]]) },
    ],
    [
      'tree_mismatch',
      'a memory too many',
      { memories: (shown) => new Map([...shown, [memory.other, [...shown.values()][0] ?? '']]) },
    ],
  ]

  test.each(sample(cases, 8))('%s: %s', { tags: 'slow' }, async (code, _, fault) => {
    const forge = long.fork()
    forge.change([next], fault)
    const stored = await store(forge)
    expect(await verdictWith(stored, { threads: 0 })).toBe(code)
    expect(await verdictWith(stored, { threads: 1 })).toBe(code)
    expect(await verdictOfFounder(stored)).toBe(code)
    await stored.close()
  })

  test.each<[code: string, name: string, forging: (forge: Forge) => void]>([
    ['detail_missing', 'content that is missing', (forge) => forge.rewrite(new Set([version.a1]))],
    [
      'redaction_undone',
      'content that is back',
      (forge) => {
        forge.redact([[memory.a, version.a1]])
        forge.rewrite(new Set([version.a1]), { detail: version.a1, blob: version.a1 })
      },
    ],
    [
      'accepted',
      'a redaction',
      (forge) => {
        forge.redact([[memory.a, version.a1]])
        forge.rewrite(new Set([version.a1]))
        forge.change([next])
      },
    ],
    [
      'duplicate_record',
      'one record twice',
      (forge) => {
        const twice = forge.remake(forge.head, (parts) => ({ ...parts, parents: [forge.head] }))
        forge.entries = forge.entries.map((entry, index) => {
          return index === forge.entries.length - 1 ? { ...entry, oid: twice } : entry
        })
      },
    ],
  ])('%s: %s', { tags: 'slow' }, async (code, _, forging) => {
    const forge = long.fork()
    forging(forge)
    const stored = await store(forge)
    expect(await verdictWith(stored, { threads: 0 })).toBe(code)
    expect(await verdictWith(stored, { threads: 1 })).toBe(code)
    expect(await verdictOfFounder(stored)).toBe(code)
    await stored.close()
  })
})

test(
  'the main thread checks the part of a thread that cannot start or dies',
  { tags: 'slow' },
  async () => {
    const stored = await store(long)
    const file = join(temporaryDirectory(), 'file')
    writeFileSync(file, '')
    for (const directory of [file, join(file, 'below')]) {
      const objects = { ...stored.source.objects, packDirectories: [directory] }
      const source = { ...stored.source, objects }
      const { snapshot } = await verifyHistory(source, stored.head, { threads: 2 })
      expect(snapshot.head.height).toBe(length - 1)
    }
    await stored.close()
  },
)

test(
  'commits that are only in the journal are checked in the main thread',
  { tags: 'slow' },
  async () => {
    const root = temporaryDirectory()
    const places = { directory: join(root, 'store'), stateDirectory: join(root, 'state') }
    const { store: opened } = await createStore({ ...places, identity: await generateIdentity() })
    const author = { actor: { type: 'user', id: 'me' } } as const
    for (let index = 0; index < 5; index += 1) {
      await opened.as(author).apply([{ type: 'create', path: `/${index}.md`, content: 'text\n' }])
    }
    expect(await opened.maintenance.verify({ threads: 2 })).toMatchObject({
      commits: 6,
      memories: 5,
    })
    await opened.close()
  },
)

test('a cancelled verification ends, and no thread continues', { tags: 'slow' }, async () => {
  const stored = await store(long)
  const abort = new AbortController()
  const options = { threads: 2, signal: abort.signal, progress: () => abort.abort() }
  expect(await verdictWith(stored, options)).toBe('cancelled')
  await stored.close()
})

function withLine(bytes: Uint8Array): Uint8Array {
  const text = Buffer.from(bytes).toString('latin1')
  return Buffer.from(text.replace('committer gitlocket', 'committer  gitlocket'), 'latin1')
}

function foreignPair(): NonNullable<Fault['group']> {
  return signingKeyPair(new Uint8Array(32).fill(5))
}
