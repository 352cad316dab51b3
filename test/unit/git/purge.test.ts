// Erasing as one handle, two of them and two erasures see it: when it waits, who does it, and what
// it leaves alone. What stock git had to do with the store before is test/interop's business.
// @module-tag slow

import { execFileSync } from 'node:child_process'
import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { systemDisk } from '../../../src/disk/system-disk.ts'
import { openDiskObjectStore } from '../../../src/git/disk-store/disk-object-store.ts'
import type { ObjectStore } from '../../../src/git/object-store.ts'
import { OidList } from '../../../src/git/objects/oid-list.ts'
import type { Packer } from '../../../src/git/pack/packer.ts'
import { encodeIntent } from '../../../src/git/purge/purge-intent.ts'
import { expectAllReadable } from '../../contract/object-store.contract.ts'
import {
  commitErasure,
  erasure,
  expectSound,
  history,
  packFiles,
  prepareStore,
} from '../../support/erasable-store.ts'
import { eraseBlob, expectErased } from '../../support/erasure.ts'
import { inlinePacker } from '../../support/inline-packer.ts'
import { TestHistory } from '../../support/transitions.ts'

const [secretOid] = history[4]?.objects.map(({ oid }) => oid) ?? []

describe('the purge', () => {
  test('leaves packs alone that hold nothing of it', async () => {
    const place = await prepareStore()
    const more = new TestHistory(33, history.at(-1)?.next).take(1)
    const store = await openDiskObjectStore(place)
    // Packs of the same size as the new one would be merged.
    await store.compact()
    const packsBefore = packFiles(place.directory, /\.pack$/)
    const late = eraseBlob([...more], 0)
    await store.exclusive(() => store.commit(more))
    await store.exclusive(() => store.commit([late.transition]))
    await store.checkpoint()
    expect(packFiles(place.directory, /\.pack$/)).toEqual(expect.arrayContaining(packsBefore))
    expectErased(place.directory, store, late)
    await store.close()
  })

  test('waits for the transition to be packed: an open erasure erases nothing', async () => {
    const place = await prepareStore()
    const store = await openDiskObjectStore(place)
    await commitErasure(store, erasure)
    // The branch of stock git is still the old history, and must remain whole.
    expectSound(place)
    expect(store.read(secretOid ?? '')).toBeDefined()
    const other = await openDiskObjectStore(place)
    expect(other.status().purgePending).toBe(erasure.dead.size)
    await other.close()
    await store.close()
    expectSound(place)
  })

  test('continues if a sync drops its received pack at the same time', async () => {
    const place = await prepareStore()
    const received = join(place.directory, 'gitlocket/incoming/of-a-sync')
    mkdirSync(received, { recursive: true })
    writeFileSync(join(received, 'tmp_pack'), 'anything')
    const synced: string[] = []
    const syncDirectory = async (path: string): Promise<void> => {
      synced.push(path)
      if (path === received) rmSync(received, { recursive: true })
      return systemDisk.syncDirectory(path)
    }
    const store = await openDiskObjectStore({ ...place, disk: { ...systemDisk, syncDirectory } })
    await commitErasure(store, erasure)
    await store.checkpoint()
    expect(synced.slice(synced.indexOf(received)).slice(0, 2)).toEqual([
      received,
      dirname(received),
    ])
    expectErased(place.directory, store, erasure)
    expect(store.status().purgePending).toBe(0)
    await store.close()
  })

  test(
    'leaves commits that come while a checkpoint packs to the next one',
    { tags: 'slow' },
    async () => {
      const place = await prepareStore({ packAll: false })
      const other = await openDiskObjectStore({ ...place, idleMs: Infinity })
      const inline = inlinePacker(systemDisk, place.directory)
      const packer: Packer = {
        ...inline,
        async write(objects) {
          await inline.write(objects)
          await commitErasure(other, erasure)
        },
      }
      const store = await openDiskObjectStore({ ...place, idleMs: Infinity, packer })
      await store.checkpoint()
      expect(place.run('rev-parse', 'main')).toBe(erasure.transition.expected)
      expectSound(place)
      expect(store.status().purgePending).toBe(erasure.dead.size)
      await other.checkpoint()
      expectErased(place.directory, other, erasure)
      await other.close()
      await store.close()
      expectSound(place)
    },
  )

  test('is done by the next process that closes the store, if its own process died', async () => {
    const place = await prepareStore()
    const dying = await openDiskObjectStore({ ...place, idleMs: Infinity })
    await commitErasure(dying, erasure)
    const heir = await openDiskObjectStore(place)
    await heir.exclusive(async () => undefined)
    await heir.close()
    const store = await openDiskObjectStore(place)
    expectErased(place.directory, store, erasure)
    await store.close()
    await dying.close()
  })

  test('erases the dead objects of two transitions, one derived from the other', async () => {
    const place = await prepareStore()
    const store = await openDiskObjectStore({ ...place, idleMs: Infinity })
    await commitErasure(store, erasure)
    const again = eraseBlob(rewritten(), 7)
    await commitErasure(store, again)
    expect(store.status().purgePending).toBe(erasure.dead.size + again.dead.size)
    await store.checkpoint()
    expectErased(place.directory, store, erasure)
    expectErased(place.directory, store, again)
    expect(store.status().purgePending).toBe(0)
    await store.close()
    expectSound(place)
  })

  test('runs while another handle reads and writes', { tags: 'slow' }, async () => {
    const place = await prepareStore()
    const [store, other] = [await openDiskObjectStore(place), await openDiskObjectStore(place)]
    const innocent = erasure.live.filter(({ oid }) => history.some(holds(oid)))
    const progress = { done: false }
    const busy = (async () => {
      let turns = 0
      for (; !progress.done || turns < 20; turns += 1) {
        await other.exclusive(async () => {
          await other.commit([new TestHistory(100 + turns, other.head).next()])
        })
        expect(innocent.filter(({ oid }) => other.read(oid) === undefined)).toEqual([])
        await new Promise((resolve) => setTimeout(resolve, 2))
      }
      return turns
    })()
    // Erases on the head that the other handle has written in between.
    const written = await store.exclusive(async () => {
      const { transition } = erasure
      const late = await lateErasure(store)
      await store.stage(transition.objects)
      await store.commit([{ ...transition, ...late, objects: [] }])
      return late
    })
    await store.checkpoint()
    progress.done = true
    expect(await busy).toBeGreaterThan(0)
    // A reader continues with its open files; every other one finds nothing.
    expectErased(place.directory, store, { dead: written.dead, secret: erasure.secret })
    await other.close()
    await store.close()
    expectSound(place)
  })

  test('cancels the staged objects of a process that died, and removes its packs', async () => {
    const place = await prepareStore()
    const intent = Buffer.from('not a whole file')
    place.write('gitlocket/purge-0123456789abcdef.00112233445566aa.tmp', intent)
    const store = await openDiskObjectStore(place)
    expect(store.status().purgePending).toBe(0)
    await store.exclusive(async () => undefined)
    expect(readdirSync(join(place.directory, 'gitlocket'))).not.toContain(
      'purge-0123456789abcdef.00112233445566aa.tmp',
    )
    await store.close()
  })

  test('erases nothing that is committed while a checkpoint packs', async () => {
    const place = await prepareStore({ packAll: false })
    const other = await openDiskObjectStore({ ...place, idleMs: Infinity })
    const more = new TestHistory(33, history.at(-1)?.next).next()
    const blob = more.objects.find(({ type }) => type === 'blob')?.oid ?? ''
    const inline = inlinePacker(systemDisk, place.directory)
    const packer: Packer = {
      ...inline,
      async write(objects) {
        await inline.write(objects)
        // Its objects are packed, and only a frame of the journal refers to them.
        await other.exclusive(async () => {
          await other.stage(more.objects)
          await other.commit([{ ...more, objects: [] }])
        })
      },
    }
    const [expected, next] = history.slice(-2).map((transition) => transition.next)
    const dead = OidList.of([blob])
    const intent = { expected: expected ?? '', next: next ?? '', packs: [], dead }
    place.write('gitlocket/purge-0123456789abcdef', encodeIntent(intent, place.secret))
    const store = await openDiskObjectStore({ ...place, idleMs: Infinity, packer })
    await expect(store.checkpoint()).rejects.toMatchObject({ code: 'journal_corrupt' })
    expect(other.read(blob)).toBeDefined()
    execFileSync('rm', [join(place.directory, 'gitlocket/purge-0123456789abcdef')])
    await store.close()
    await other.close()
    expectSound(place)
  })

  test('erases no head of the branch, though a list of this device names it', async () => {
    const place = await prepareStore()
    const [expected = '', next = ''] = history.slice(-2).map((transition) => transition.next)
    const intent = { expected, next, packs: [], dead: OidList.of([next]) }
    place.write('gitlocket/purge-0123456789abcdef', encodeIntent(intent, place.secret))
    const store = await openDiskObjectStore({ ...place, idleMs: Infinity })
    await expect(store.checkpoint()).rejects.toMatchObject({ code: 'journal_corrupt' })
    execFileSync('rm', [join(place.directory, 'gitlocket/purge-0123456789abcdef')])
    expectAllReadable(store, history)
    await store.close()
    expectSound(place)
  })

  test('reports a damaged list, and keeps everything', async () => {
    const place = await prepareStore()
    place.write('gitlocket/purge-0123456789abcdef', 'damaged')
    const store = await openDiskObjectStore(place)
    expect(store.status().purgePending).toBe(1)
    await store.exclusive(async () => undefined)
    await expect(store.checkpoint()).rejects.toMatchObject({ code: 'journal_corrupt' })
    expectAllReadable(store, history)
    execFileSync('rm', [join(place.directory, 'gitlocket/purge-0123456789abcdef')])
    await store.close()
  })
})

/** The whole new history as transitions, to erase from it again. */
function rewritten(): Parameters<typeof eraseBlob>[0] {
  const objects = new Map(erasure.live.map((object) => [object.oid, object]))
  const chain: { expected: string | undefined; next: string }[] = []
  for (let next: string | undefined = erasure.transition.next; next !== undefined;) {
    const text = Buffer.from(objects.get(next)?.body ?? []).toString('latin1')
    const expected: string | undefined = /^parent (.{40})$/m.exec(text)?.[1]
    chain.unshift({ expected, next })
    next = expected
  }
  return chain.map((step, n) => {
    const blob = history[n]?.objects.find(({ type, oid }) => type === 'blob' && objects.has(oid))
    const first = blob === undefined ? [] : [blob]
    const others = erasure.live.filter(({ oid }) => oid !== blob?.oid)
    return { ...step, objects: [...first, ...(n === 0 ? others : [])] }
  })
}

/** The same erasure after another handle's commits: it leaves them out, so they are dead too. */
async function lateErasure(
  store: ObjectStore,
): Promise<{ expected: string | undefined; dead: ReadonlySet<string> }> {
  const dead = new Set(erasure.dead)
  for (let at = store.head; at !== undefined && !dead.has(at);) {
    dead.add(at)
    const text = Buffer.from(store.read(at)?.body ?? []).toString('latin1')
    at = /^parent (.{40})$/m.exec(text)?.[1]
  }
  return { expected: store.head, dead }
}

function holds(oid: string): (transition: (typeof history)[number]) => boolean {
  return ({ objects }) => objects.some((object) => object.oid === oid)
}
