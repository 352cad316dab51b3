// The entries since a position, for the audit export: as the trail has them, complete from every
// position in spite of merges and redactions, and read without the history before it.

import { describe, expect, test } from 'vitest'
import { formatDeviceCard } from '../../../src/format/device-card.ts'
import { generateIdentity } from '../../../src/keys/identity.ts'
import type { AuditEntry } from '../../../src/store/audit/audit-trail.ts'
import type { TrailPosition, TrailStep } from '../../../src/store/audit/new-entries.ts'
import type { MemoryStore } from '../../../src/store/memory-store.ts'
import { bareRemote, firstClone, joinClone, put, sync, syncAll } from '../../support/clones.ts'
import { countedDisk } from '../../support/counted-disk.ts'
import { author, newStore, reopen } from '../../support/stores.ts'

async function stepsOf(
  store: MemoryStore,
  position?: TrailPosition,
): Promise<readonly (TrailStep | 'replaced')[]> {
  const steps: (TrailStep | 'replaced')[] = []
  for await (const step of store.maintenance.auditSince(position)) steps.push(step)
  return steps
}

async function entriesOf(
  store: MemoryStore,
  position?: TrailPosition,
): Promise<readonly AuditEntry[]> {
  const steps = await stepsOf(store, position)
  return steps.flatMap((step) => (step === 'replaced' ? [] : [step.entry]))
}

const recordsOf = (entries: readonly AuditEntry[]): readonly string[] => {
  return entries.map(({ record }) => record)
}

/** Continues from each position among the steps, and expects all entries. */
async function checkEachPosition(store: MemoryStore): Promise<void> {
  const steps = await stepsOf(store)
  const seen: string[] = []
  const all = new Set(recordsOf(await entriesOf(store)))
  for (const step of steps) {
    if (step === 'replaced') throw new Error('All positions are in the history')
    seen.push(step.entry.record)
    if (!step.isPosition) continue
    const rest = recordsOf(await entriesOf(store, step.entry))
    expect(rest[0]).toBe(step.entry.record)
    expect(new Set(seen.concat(rest))).toEqual(all)
    expect(seen.length + rest.length - 1).toBe(all.size)
  }
}

describe('the entries since a position', () => {
  test('are those of the trail', async () => {
    const { store } = await newStore()
    const me = store.as(author)
    await me.write('/a.md', 'a')
    const card = formatDeviceCard(await generateIdentity())
    const added = await me.devices.add(card, 'reader')
    await me.devices.changeRole(added.deviceId, 'writer')
    await me.write('/a.md', 'b')
    await me.devices.remove([added.deviceId])
    const { entries } = await store.maintenance.audit()
    expect(await entriesOf(store)).toEqual(entries)
    for (const [index, entry] of entries.entries()) {
      expect(await entriesOf(store, entry)).toEqual(entries.slice(index))
    }
    await store.close()
  })

  test('have what a sync brings, before and after it is merged', async () => {
    const url = bareRemote()
    const one = await firstClone(url)
    await sync(one)
    const two = await joinClone(one, url)
    await put(one, '/one.md', 'one')
    const [before] = (await stepsOf(one.store)).slice(-1)
    await put(two, '/two.md', 'two')
    await put(two, '/three.md', 'three')
    await syncAll([two, one])
    const position = before === 'replaced' ? undefined : before?.entry
    const brought = await entriesOf(one.store, position)
    const known = new Set(recordsOf(brought))
    const all = recordsOf(await entriesOf(one.store))
    const { entries } = await one.store.maintenance.audit()
    expect(new Set(all)).toEqual(new Set(recordsOf(entries)))
    const written = entries.filter(({ versions }) => versions.length > 0)
    expect(written).toHaveLength(3)
    for (const { record } of written) expect(known.has(record)).toBe(true)
    await checkEachPosition(one.store)
    await checkEachPosition(two.store)
    await Promise.all([one.store.close(), two.store.close()])
  })

  test('continue in a history that a redaction has rewritten', async () => {
    const { store, place } = await newStore()
    const me = store.as(author)
    const versionId = await put({ store }, '/a.md', 'secret')
    for (const text of ['b', 'c', 'd']) await me.write('/a.md', text)
    const before = await entriesOf(store)
    const other = await reopen(place)
    await other.as(author).redact({ select: { versionIds: [versionId] }, reason: 'legal' })
    for (const [index, entry] of before.entries()) {
      const rest = await entriesOf(store, entry)
      expect(recordsOf(rest.slice(0, -1))).toEqual(recordsOf(before.slice(index)))
      expect(rest.at(-1)).toMatchObject({ redacts: [versionId], redactReason: 'legal' })
    }
    await Promise.all([store.close(), other.close()])
  })

  test('start over if the history lacks the position', async () => {
    const { store } = await newStore()
    await store.as(author).write('/a.md', 'a')
    const all = await stepsOf(store)
    const lost = { height: 1, record: '7'.repeat(64) }
    expect(await stepsOf(store, lost)).toEqual(['replaced', ...all])
    await store.close()
  })
})

test('a long history is not read again for a new entry', async () => {
  const { store, place } = await newStore()
  const me = store.as(author)
  for (let number = 0; number < 300; number += 1) await me.write('/a.md', `text ${number}`)
  const position = (await entriesOf(store)).at(-1)
  await me.write('/a.md', 'new')
  await store.close()
  const { disk, counts } = countedDisk()
  const again = await reopen(place, { disk })
  const opened = counts.reads
  expect(await entriesOf(again, position)).toHaveLength(2)
  expect(counts.reads - opened).toBeLessThan(30)
  await again.close()
})
