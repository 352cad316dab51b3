// T34: what a copy to repair from, or a remote at a path, names as its head is followed before
// anything of it is verified. No shape of it ends the process, and a cancellation ends the walk.

import { expect, test } from 'vitest'
import { gitHash } from '../../src/crypto/sha1.ts'
import type { GitObject, ObjectType } from '../../src/git/objects/object.ts'
import { type ObjectClosure, closureOf } from '../../src/store/snapshot/object-closure.ts'
import { standardHistory } from '../support/standard-forge.ts'

/** Objects in RAM; the reads of them are counted. */
class Planted {
  reads = 0
  readonly #objects = new Map<string, GitObject>()
  readonly #commit: string

  private constructor(commit: string) {
    this.#commit = commit
  }

  /** Commits repeat one that a store wrote. */
  static async prepare(): Promise<Planted> {
    const { forge } = await standardHistory()
    const body = forge.objects.get(forge.head)?.body ?? new Uint8Array(0)
    return new Planted(Buffer.from(body).toString('latin1'))
  }

  add(type: ObjectType, body: Uint8Array): string {
    const oid = gitHash(type, body)
    this.#objects.set(oid, { type, body })
    return oid
  }

  commit(tree: string, parent: string): string {
    const text = this.#commit.replace(/^tree .*$/m, `tree ${tree}`)
    return this.add(
      'commit',
      Buffer.from(text.replace(/^parent .*$/m, `parent ${parent}`), 'latin1'),
    )
  }

  read(oid: string): GitObject | undefined {
    this.reads += 1
    return this.#objects.get(oid)
  }

  /** The walk from a head, cancelled at the first read. */
  async cancelled(head: string): Promise<ObjectClosure> {
    const cancelling = new AbortController()
    const read = (oid: string): GitObject | undefined => {
      cancelling.abort()
      return this.read(oid)
    }
    return closureOf({ read }, head, cancelling.signal)
  }
}

const nowhere = 'e'.repeat(40)

function entry(mode: string, name: string, oid: string): Uint8Array {
  return Buffer.concat([Buffer.from(`${mode} ${name}\0`), Buffer.from(oid, 'hex')])
}

test('T34: trees in trees are followed so far, and end no process', async () => {
  const planted = await Planted.prepare()
  let tree = planted.add('tree', new Uint8Array(0))
  for (let depth = 0; depth < 60_000; depth += 1) {
    tree = planted.add('tree', entry('40000', 'd', tree))
  }
  const head = planted.commit(tree, nowhere)
  const { oids, missing } = await closureOf(planted, head, undefined)
  expect(oids.size).toBeLessThan(100)
  expect(missing.map(({ oid }) => oid)).toEqual([nowhere])
})

test('T34: a walk through the trees of one commit is cancelled', async () => {
  const planted = await Planted.prepare()
  let objects = 0
  const grow = (depth: number): string => {
    objects += 1
    if (depth === 3) return objects.toString(16).padStart(40, '0')
    const mode = depth === 2 ? '100644' : '40000'
    const names = Array.from({ length: 36 }, (_, n) => String(n + 10))
    const entries = names.map((name) => entry(mode, name, grow(depth + 1)))
    return planted.add('tree', Buffer.concat(entries))
  }
  const head = planted.commit(grow(0), nowhere)
  await expect(planted.cancelled(head)).rejects.toMatchObject({ code: 'cancelled' })
  expect(objects).toBeGreaterThan(40_000)
  expect(planted.reads).toBeLessThan(objects)
})

test('T34: a walk through many commits is cancelled', async () => {
  const planted = await Planted.prepare()
  const count = 20_000
  let head = nowhere
  for (let n = 0; n < count; n += 1) head = planted.commit(nowhere, head)
  await expect(planted.cancelled(head)).rejects.toMatchObject({ code: 'cancelled' })
  expect(planted.reads).toBeLessThan(count)
})
