// T16: a cloned machine, which draws the same random bytes again, never uses a nonce for two
// plaintexts; and without a key equal contents cannot be distinguished from different ones. FORMAT
// §3.2, §11.

import { beforeAll, describe, expect, test } from 'vitest'
import { toHex } from '../../src/bytes.ts'
import { parseCommit } from '../../src/format/commit.ts'
import { memoryContext, sealEnvelope } from '../../src/format/envelope.ts'
import { Forge } from '../support/forge.ts'
import { memory, nextRow, standardHistory, version } from '../support/standard-forge.ts'

let standard: Forge
beforeAll(async () => {
  const { forge } = await standardHistory()
  standard = forge
})

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
    const blobs = [one, two].map((forge) => forge.entries.at(-1)?.blobs.get(forge.idOf(memory.a)))
    expect(blobs[0]).not.toBe(blobs[1])
    const shared = nonces(one).filter((nonce) => nonces(two).includes(nonce))
    expect(shared.toSorted()).toEqual(nonces(await Forge.started('clone')).toSorted())
  })

  test('the same random bytes for everything give a nonce for every plaintext', () => {
    const keys = standard.epoch.memory
    const constant = new Uint8Array(32)
    const salts = ['a', 'b', 'c'].flatMap((text) =>
      [memory.a, memory.b].map((id) => {
        const context = memoryContext(standard.storeId, id)
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

describe('T16: without a key, nobody can distinguish', () => {
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
      return forge.objects.get(forge.entries.at(-1)?.blobs.get(forge.idOf(memory.a)) ?? '')?.body
        .length
    })
    expect(sizes[0]).toBe(sizes[1])
  })
})

function saltOf(envelope: Uint8Array): string {
  return toHex(envelope.subarray(16, 40))
}

/** Type and size of each object: what the remote sees of it. */
function shape(forge: Forge): readonly string[] {
  return [...forge.objects.values()].map(({ type, body }) => `${type} ${body.length}`)
}
