// What a handle must not do to other handles, to the anchor, or to itself: each case was a bug.

import { renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { systemRandom } from '../../../src/crypto/random.ts'
import { systemDisk } from '../../../src/disk/system-disk.ts'
import { StoreError } from '../../../src/errors.ts'
import type { Author, Change } from '../../../src/index.ts'
import { generateIdentity } from '../../../src/keys/identity.ts'
import { Anchor } from '../../../src/store/local/anchor.ts'
import { beforeGenesis } from '../../../src/store/snapshot/snapshot.ts'
import { ownDirectory } from '../../support/own-files.ts'
import { author, contentsOf, newStore, reopen, type TestPlace } from '../../support/stores.ts'
import { copyDirectory, temporaryDirectory } from '../../support/temporary.ts'

const create = (path: string): Change => ({ type: 'create', path, content: `${path}\n` })

function putBack(place: TestPlace, copy: string): void {
  rmSync(place.directory, { recursive: true })
  copyDirectory(copy, place.directory)
}

describe('the anchor', () => {
  test.each(['wrote', 'only read'])('does not go back for a handle that %s', async (what) => {
    const { store, place } = await newStore()
    await store.close()
    const slow = await reopen(place)
    if (what === 'wrote') await slow.as(author).apply([create('/a')])
    else await slow.read('/a')
    copyDirectory(place.directory, `${place.directory}.copy`)
    const quick = await reopen(place)
    for (const path of ['/b', '/c', '/d']) await quick.as(author).apply([create(path)])
    await quick.close()
    await slow.close()
    putBack(place, `${place.directory}.copy`)
    await expect(reopen(place)).rejects.toMatchObject({ code: 'rolled_back' })
  })

  test('is not written after a close', { tags: 'slow' }, async () => {
    const { store, place } = await newStore()
    let writes = 0
    const counting = {
      ...systemDisk,
      rename: (from: string, to: string) => {
        if (to.endsWith('.anchor')) writes += 1
        systemDisk.rename(from, to)
      },
    }
    await store.close()
    const handle = await reopen(place, { disk: counting })
    const write = handle.as(author).apply([create('/a')])
    await Promise.all([write, handle.close()])
    const before = writes
    await new Promise((resolve) => setTimeout(resolve, 2300))
    expect(writes).toBe(before)
  })

  test('never lets a number be used twice by two handles that take turns', async () => {
    const { store, place } = await newStore()
    const other = await reopen(place)
    for (let turn = 0; turn < 6; turn += 1) {
      await (turn % 2 === 0 ? store : other).as(author).apply([create(`/${turn}`)])
    }
    await other.close()
    await store.close()
    const again = await reopen(place)
    await again.as(author).apply([create('/last')])
    // Numbers that repeat or go back are refused.
    await again.maintenance.verify()
    await again.close()
  })
})

test('no number is given twice, whichever of two handles fails to write', async () => {
  const owner = {
    disk: systemDisk,
    storeId: 'memstore_1',
    identity: await generateIdentity(),
    random: systemRandom,
  }
  const path = join(temporaryDirectory(), 'anchor')
  const handles = [
    await Anchor.open(owner, ownDirectory({ anchor: path })),
    await Anchor.open(owner, ownDirectory({ anchor: path })),
  ] as const
  const given: number[] = []
  // Only the numbers of the first handle get into the history, and not all of them.
  let last = 0
  for (let turn = 0; turn < 12; turn += 1) {
    const number = await handles[turn % 2 === 0 ? 0 : 1].reserve(last, beforeGenesis)
    given.push(number)
    if (turn % 4 === 0) last = number
  }
  expect(new Set(given).size).toBe(given.length)
})

describe('a writer', () => {
  test('keeps the bound on rows over all changes of a commit', { tags: 'slow' }, async () => {
    const { store } = await newStore({ limits: { memories: 20_000 } })
    const many = Array.from({ length: 16_385 }, (_, index) => create(`/d/${index}`))
    await expect(store.as(author).apply(many)).rejects.toMatchObject({ code: 'change_too_large' })
    expect(await contentsOf(store)).toEqual({})
    await store.as(author).apply(many.slice(0, 10))
    await store.maintenance.verify()
    await store.close()
  })

  test('does not read an author again after checking it', async () => {
    const { store } = await newStore()
    const mine: { actor: Author['actor']; session?: string } = {
      actor: { type: 'user', id: 'ann' },
    }
    const write = store.as(mine).apply([create('/a')])
    mine.session = 'not a session id'
    await write
    await store.maintenance.verify()
    expect((await store.history.versions()).data[0]?.session).toBeUndefined()
    await store.close()
  })

  test('refuses a founder that the format would refuse', async () => {
    await expect(newStore({ actor: { type: 'user', id: 'Jane Doe' } })).rejects.toMatchObject({
      code: 'invalid_input',
    })
  })

  test('refuses characters in a path that a later Unicode could forbid', async () => {
    const { store } = await newStore()
    await expect(store.as(author).apply([create('/\u0378')])).rejects.toMatchObject({
      code: 'invalid_path',
    })
    await store.close()
  })
})

describe('a new passphrase', () => {
  test('shares a batch with other commands', { tags: 'slow' }, async () => {
    const { store } = await newStore()
    const changes = [
      store.as(author).apply([create('/a')]),
      store.as(author).keys.changePassphrase('correct horse battery'),
      store.as(author).apply([create('/b')]),
    ]
    await Promise.all(changes)
    expect(await store.status()).toMatchObject({ epochs: 2, commits: 4 })
    await store.maintenance.verify()
    await store.close()
  })

  test('adds no epoch if the disk fails', async () => {
    const { store, place } = await newStore()
    await store.as(author).apply([create('/a')])
    await store.close()
    let full = false
    const disk = {
      ...systemDisk,
      write: (fd: number, bytes: Uint8Array, position: number) => {
        if (full) {
          full = false
          throw new StoreError('storage_full', 'The disk is full')
        }
        systemDisk.write(fd, bytes, position)
      },
    }
    const handle = await reopen(place, { disk })
    await handle.as(author).apply([create('/b')])
    full = true
    await expect(handle.as(author).keys.rotate()).rejects.toMatchObject({
      code: 'storage_full',
    })
    expect((await handle.status()).epochs).toBe(1)
    await handle.as(author).keys.rotate()
    expect((await handle.status()).epochs).toBe(2)
    await handle.close()
    const again = await reopen(place)
    await again.maintenance.verify()
    await again.close()
  })
})

test('a store that replaced another one is refused if the caller gives the id', async () => {
  const { store, place } = await newStore()
  const { store: second, place: other } = await newStore({ identity: place.identity })
  await store.close()
  await second.close()
  rmSync(place.directory, { recursive: true })
  renameSync(other.directory, place.directory)
  await expect(reopen(place, { storeId: store.id })).rejects.toMatchObject({
    code: 'store_id_mismatch',
  })
  await (await reopen(place, { storeId: second.id })).close()
})
