// The snapshot that is built from the history in RAM equals the verified one.

import { describe, expect, test } from 'vitest'
import { parseId } from '../../../src/format/id.ts'
import { openDiskObjectStore } from '../../../src/git/disk-store/disk-object-store.ts'
import type { MemoryStore } from '../../../src/index.ts'
import { openHeadKeyring } from '../../../src/store/access/authority.ts'
import { catchUp } from '../../../src/store/history/catch-up.ts'
import { History } from '../../../src/store/history/history.ts'
import type { Snapshot } from '../../../src/store/snapshot/snapshot.ts'
import { snapshotAt } from '../../../src/store/verify/snapshot-at.ts'
import { verifyHistory } from '../../../src/store/verify/verify.ts'
import { atOnce } from '../../../src/time-slice.ts'
import { author, newStore, type TestPlace } from '../../support/stores.ts'

/** The contents of a snapshot, as plain values. */
function valuesOf(snapshot: Snapshot): unknown {
  const { head, keyring, settings, current, devices, redacted, count } = snapshot
  const { directory: _directory, ...named } = keyring
  return { head, named, settings, current: new Map(current), devices, redacted, count }
}

async function write(store: MemoryStore): Promise<void> {
  const paths = Array.from({ length: 20 }, (_, n) => `/many/${n}`)
  await store.as(author).apply(paths.map((path) => ({ type: 'create', path, content: path })))
  await store.as(author).apply([{ type: 'edit', path: '/many/3', edit: () => 'three' }])
  await store.as(author).keys.rotate()
  await store.as(author).apply([{ type: 'delete', path: '/many/4' }])
  await store.as(author).settings.update({ name: 'renamed' })
  await store.as(author).apply([{ type: 'rename', path: '/many/5', to: '/five' }])
  await store.as(author).apply([{ type: 'create', path: '/many/4', content: 'another four' }])
}

async function sourceOf(store: MemoryStore, place: TestPlace) {
  const { directory, identity } = place
  const storeId = parseId('store', store.id)
  await store.close()
  const objects = await openDiskObjectStore({ directory })
  const head = objects.head ?? ''
  const { epochs } = await openHeadKeyring(objects, storeId, { type: 'identity', identity }, head)
  return { objects, storeId, epochs, head }
}

describe('the snapshot at a height', () => {
  test('is the verified one, at every height of a history with all kinds of records', async () => {
    const { store, place } = await newStore()
    await write(store)
    const { head, ...source } = await sourceOf(store, place)
    const history = new History()
    await catchUp(history, source, head, {})
    expect(history.commits).toHaveLength(8)
    for (const { oid, height } of history.commits) {
      const { snapshot } = await verifyHistory(source, oid)
      const made = atOnce(snapshotAt(source, history, height))
      expect(valuesOf(made)).toEqual(valuesOf(snapshot))
      const oidOf = (one: Snapshot) => atOnce(one.current.tree.encode([]))
      expect(oidOf(made)).toBe(oidOf(snapshot))
    }
    await source.objects.close()
  })
})
