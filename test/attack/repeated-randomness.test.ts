// T16: a cloned machine, which draws the same random bytes again, never uses a nonce for two
// plaintexts; and without a key equal contents cannot be distinguished from different ones. T7,
// T30: nor can such a machine, or a writer that repeats a row, make two histories that cannot be
// merged. FORMAT §1, §3.2, §11.

import { beforeAll, describe, expect, test } from 'vitest'
import { toHex } from '../../src/bytes.ts'
import type { SignedRow } from '../../src/format/change-record.ts'
import { parseCommit } from '../../src/format/commit.ts'
import { memoryContext, sealEnvelope } from '../../src/format/envelope.ts'
import { formatId } from '../../src/format/id.ts'
import { decodeSignedBody } from '../../src/format/record.ts'
import type { Oid } from '../../src/git/objects/object.ts'
import { formatIdentity } from '../../src/keys/identity.ts'
import { type Clone, copyOf, headOf, idOf, joinClone, put, sync } from '../support/clones.ts'
import { countingRandom } from '../support/forge-seal.ts'
import { Forge } from '../support/forge.ts'
import { fresh, named } from '../support/forged-clones.ts'
import { writeForged } from '../support/forged-disk.ts'
import { expectInStep, pairsOfClones } from '../support/hostile-remotes.ts'
import { readStore } from '../support/reference/store.ts'
import {
  accepted,
  memory,
  nextRow,
  standardHistory,
  verdicts,
  version,
} from '../support/standard-forge.ts'
import { author, reopen } from '../support/stores.ts'
import { temporaryDirectory } from '../support/temporary.ts'

let standard: Forge
beforeAll(async () => {
  const { forge } = await standardHistory()
  standard = forge
})

/** As the newest commit wrote it. */
function blobOfA(forge: Forge): Oid {
  return forge.entries.at(-1)?.blobs.get(forge.idOf(memory.a)) ?? ''
}

/** All salts of a history, which are its nonces. */
function nonces(forge: Forge): readonly string[] {
  const found: string[] = []
  for (const { type, body } of forge.objects.values()) {
    if (type === 'blob' && body[0] === 0x47 && body[3] === 0x31) found.push(saltOf(body))
    if (type !== 'commit') continue
    const { record, detail } = parseCommit(body)
    found.push(saltOf(record), ...(detail === undefined ? [] : [saltOf(detail)]))
  }
  return found
}

describe('T16: with random bytes that repeat', () => {
  test('different texts never share a nonce', async () => {
    const [one, two] = [await Forge.started('clone'), await Forge.started('clone')]
    expect(one.head).toBe(two.head)
    const row = {
      memoryId: memory.a,
      operation: 'created',
      path: '/a.md',
      versionId: version.a1,
    } as const
    one.change([{ ...row, content: 'one' }])
    two.change([{ ...row, content: 'two' }])
    const blobs = [one, two].map(blobOfA)
    expect(blobs[0]).not.toBe(blobs[1])
    const shared = nonces(one).filter((nonce) => nonces(two).includes(nonce))
    expect(shared.toSorted()).toEqual(nonces(await Forge.started('clone')).toSorted())
  })

  test('the same random bytes for everything give a nonce for every plaintext', () => {
    const keys = standard.epoch.memory
    const constant = new Uint8Array(32)
    const salts = ['a', 'b', 'c'].flatMap((text) =>
      [memory.a, memory.b].map((id) => {
        const context = memoryContext(standard, id)
        return saltOf(sealEnvelope('memory', keys, context, constant, Buffer.from(text)))
      }),
    )
    expect(new Set(salts).size).toBe(6)
  })
})

test('T16: no two objects of a history share a nonce', () => {
  const all = nonces(standard)
  expect(new Set(all).size).toBe(all.length)
})

describe('T16: without a key, no one can distinguish', () => {
  test('equal texts from different ones', () => {
    const forge = standard.fork()
    const content = 'the same\n'
    forge.change([
      { ...nextRow, content },
      { ...nextRow, memoryId: memory.b, path: '/dir/b.md', content, versionId: version.b2 },
    ])
    const blobs = [...(forge.entries.at(-1)?.blobs.values() ?? [])].map(
      (oid) => forge.objects.get(oid)?.body,
    )
    expect(blobs).toHaveLength(2)
    expect(toHex(blobs[0] ?? new Uint8Array())).not.toBe(toHex(blobs[1] ?? new Uint8Array()))
  })

  test('a rename from an edit', () => {
    const [renamed, edited] = [standard.fork(), standard.fork()]
    renamed.change([{ ...nextRow, path: '/renamed.md', content: 'alpha, again\n' }])
    edited.change([nextRow])
    expect(shape(renamed)).toEqual(shape(edited))
  })

  test.each<[name: string, one: number, other: number]>([
    ['1 byte from 400', 1, 400],
    ['1,600 bytes from 1,900', 1600, 1900],
  ])('%s', (_, one, other) => {
    const sizes = [one, other].map((length) => {
      const forge = standard.fork()
      forge.change([{ ...nextRow, content: 'x'.repeat(length) }])
      return forge.objects.get(blobOfA(forge))?.body.length
    })
    expect(sizes[0]).toBeGreaterThan(0)
    expect(sizes[0]).toBe(sizes[1])
  })
})

describe('T30: a machine that continues as two, with the same random bytes', () => {
  const pairOfClones = pairsOfClones()
  const now = Date.now()

  /** The same machine twice, with clocks that differ by `late`. */
  async function goOnAsTwo(b: Clone, late: number): Promise<readonly [Clone, Clone]> {
    await b.store.maintenance.checkpoint()
    const goOn = async (time: number): Promise<Clone> => {
      const { store, place } = await copyOf(b)
      await store.close()
      const how = { random: countingRandom('of both'), clock: () => time }
      return { store: await reopen(place, how), place }
    }
    return [await goOn(now), await goOn(now + late)]
  }

  test('makes one commit of the very same change', { tags: 'slow' }, async () => {
    const { a, b, remote } = await pairOfClones()
    const [one, other] = await goOnAsTwo(b, 0)
    expect(await put(one, '/new.md')).toBe(await put(other, '/new.md'))
    expect(await headOf(one)).toBe(await headOf(other))
    for (const clone of [one, other, a]) expect((await sync(clone)).forkedDevices).toEqual([])
    await expectInStep(remote, [one, other, a])
  })

  test.each<[name: string, late: number, content: string]>([
    ['another text', 0, 'another\n'],
    ['the same row at another time', 1000, 'new\n'],
  ])('has another id for %s, and others merge both', { tags: 'slow' }, async (_, late, content) => {
    const { a, b } = await pairOfClones()
    const [one, other] = await goOnAsTwo(b, late)
    const ids = [await put(one, '/new.md', 'new\n'), await put(other, '/new.md', content)]
    expect(new Set(ids).size).toBe(2)
    for (const { store } of [one, other]) await store.maintenance.verify()
    await sync(one)
    await sync(a)
    await other.store.close()
    await a.store.remotes.add('other', other.place.directory)
    const report = await a.store.as(author).sync({ remote: 'other', only: 'pull' })
    expect(report.forkedDevices).toEqual([idOf(b)])
    const made = await Promise.all(ids.map((id) => a.store.history.version(id)))
    expect(made.map((written) => written.content)).toEqual(['new\n', content])
    expect(new Set(made.map(({ memoryId }) => memoryId)).size).toBe(2)
    await a.store.maintenance.verify()
  })
})

describe('T7: a writer that repeats a row of another on an older commit', () => {
  test.each<[name: string, row: typeof fresh | typeof nextRow]>([
    ['that creates a memory', fresh],
    ['that changes one', nextRow],
  ])(
    'makes another version by a row %s, and others merge both',
    { tags: 'slow' },
    async (_, row) => {
      const { forge, writer } = await standardHistory('repeated row')
      const [left, right] = [forge.fork(), forge.fork()]
      left.settings(named('left'))
      left.change([row])
      const [detail] = left.entries.at(-1)?.details ?? []
      right.change([row], { author: writer, claim: (honest) => detail ?? honest })
      expect(signedRows(right)).toEqual(signedRows(left))
      const ids = [left, right].map((one) => one.idOf(row.versionId))
      expect(new Set(ids).size).toBe(2)
      for (const one of [left, right]) expect(await verdicts(one)).toEqual(accepted)

      const clone = await cloneOf(left)
      const theirs = `${temporaryDirectory()}/theirs.git`
      await writeForged(right, theirs)
      await clone.store.remotes.add('theirs', theirs)
      await clone.store.as(author).sync({ remote: 'theirs' })
      for (const id of ids) {
        const { content } = await clone.store.history.version(formatId('version', id))
        expect(content).toBe(row.content)
      }
      await clone.store.maintenance.verify()
      await clone.store.close()
      const { commits } = readStore(clone.place.directory, {
        identity: formatIdentity(forge.founder),
      })
      const written = commits.flatMap(({ rows }) => rows.map(({ versionId }) => versionId))
      expect(written).toEqual(expect.arrayContaining(ids))
    },
  )

  function signedRows(forge: Forge): readonly SignedRow[] {
    const signed = forge.entries.at(-1)?.signed ?? new Uint8Array()
    return decodeSignedBody(signed.subarray(0, -64)).rows
  }

  /** The founder's, of a remote with this history. */
  async function cloneOf(forge: Forge): Promise<Clone> {
    const remote = `${temporaryDirectory()}/remote.git`
    await writeForged(forge, remote)
    const identity = forge.founder
    const unused = { directory: '', stateDirectory: '', recoveryKey: '', identity }
    return joinClone({ place: unused }, remote, { identity })
  }
})

function saltOf(envelope: Uint8Array): string {
  return toHex(envelope.subarray(16, 40))
}

/** Type and size of each object: what the remote sees of it. */
function shape(forge: Forge): readonly string[] {
  return [...forge.objects.values()].map(({ type, body }) => `${type} ${body.length}`)
}
