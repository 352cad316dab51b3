// The trail as an auditor lists it: every commit with the ids it changed, who admitted which
// device, and the detection of a store that was rolled back.

import { rmSync } from 'node:fs'
import { beforeEach, describe, expect, test } from 'vitest'
import { formatDeviceCard } from '../../../src/format/device-card.ts'
import { formatId } from '../../../src/format/id.ts'
import { generateIdentity, type Identity } from '../../../src/keys/identity.ts'
import { type Audit, type AuditOptions, auditStore } from '../../../src/store/audit/audit.ts'
import type { MemoryStore } from '../../../src/store/memory-store.ts'
import { author, newStore, reopen, type TestPlace } from '../../support/stores.ts'
import { copyDirectory } from '../../support/temporary.ts'

let store: MemoryStore
let place: TestPlace
let auditor: Identity

beforeEach(async () => {
  ;({ store, place } = await newStore({ clock: () => 1000 }))
  auditor = await generateIdentity()
  await store.as(author).devices.add(formatDeviceCard(auditor), 'auditor')
})

/** Closes the store, and audits it on the machine of the auditor. */
async function audited(options: Partial<AuditOptions> = {}): Promise<Audit> {
  await store.close()
  const { directory } = place
  const stateDirectory = `${place.stateDirectory}-2`
  return auditStore({ directory, stateDirectory, identity: auditor, ...options })
}

function write(path: string, content: string): Promise<unknown> {
  return store.as(author).apply([{ type: 'create', path, content }])
}

describe('the trail', () => {
  test('lists the versions and memories of each commit', async () => {
    await write('/a', 'a')
    await store.as(author).apply([{ type: 'edit', path: '/a', edit: () => 'b' }])
    await store.as(author).apply([{ type: 'delete', path: '/a' }])
    const { data: versions } = await store.history.versions()
    const { head } = await store.status()
    const audit = await audited()
    expect(audit).toMatchObject({ storeId: store.id, role: 'auditor', head, memories: 0 })
    const changes = audit.entries.filter(({ kind }) => kind === 'change')
    expect(changes).toMatchObject([
      { height: 2, time: 1000, ...author, isRecovery: false },
      { height: 3 },
      { height: 4, commit: head },
    ])
    const listed = changes.flatMap((entry) => entry.versions).toReversed()
    expect(listed.map(({ versionId }) => versionId)).toEqual(versions.map((one) => one.versionId))
    expect(listed.map(({ operation }) => operation)).toEqual(['deleted', 'modified', 'created'])
    expect(new Set(listed.map(({ memoryId }) => memoryId))).toEqual(
      new Set([versions[0]?.memoryId]),
    )
    expect(listed.map(({ baseVersionIds }) => baseVersionIds)).toEqual([
      [listed[1]?.versionId],
      [listed[2]?.versionId],
      [],
    ])
  })

  test('lists the redacted version, with the reason', async () => {
    await write('/a', 'a')
    await store.as(author).apply([{ type: 'edit', path: '/a', edit: () => 'b' }])
    const [, first] = (await store.history.versions()).data
    const versionIds = [first?.versionId ?? '']
    await store.as(author).redact({ select: { versionIds }, reason: 'personal_data' })
    const { entries } = await audited()
    expect(entries.at(-1)).toMatchObject({
      kind: 'redact',
      redacts: versionIds,
      redactReason: 'personal_data',
      versions: [],
    })
    const flags = entries.flatMap((entry) => entry.versions.map(({ isRedacted }) => isRedacted))
    expect(flags).toEqual([true, false])
  })

  test('lists the admitted devices, who admitted them, names, and changed keys', async () => {
    const second = await generateIdentity()
    const { deviceId } = await store.as(author).devices.add(formatDeviceCard(second), 'reader')
    await store.as(author).devices.changeRole(deviceId, 'writer')
    await store.as(author).devices.rename(deviceId, 'laptop')
    await store.as(author).keys.makeRecoveryKey()
    await store.as(author).devices.remove([deviceId])
    const { entries } = await audited()
    const [founder, auditing] = [place.identity, auditor].map((one) =>
      formatId('device', one.deviceId),
    )
    const devices = { added: [], changed: [], renamed: [], removed: [] }
    const none = { ...devices, recoveryAdded: [], recoveryRemoved: [] }
    const name = ''
    expect(entries.map(({ access }) => access)).toEqual([
      {
        ...none,
        added: [{ deviceId: founder, role: 'owner', name }],
        recoveryAdded: ['recovery'],
        isNewEpoch: true,
      },
      { ...none, added: [{ deviceId: auditing, role: 'auditor', name }], isNewEpoch: false },
      { ...none, added: [{ deviceId, role: 'reader', name }], isNewEpoch: false },
      { ...none, changed: [{ deviceId, role: 'writer' }], isNewEpoch: true },
      { ...none, renamed: [{ deviceId, name: 'laptop' }], isNewEpoch: false },
      { ...none, recoveryAdded: ['recovery'], recoveryRemoved: ['recovery'], isNewEpoch: true },
      { ...none, removed: [deviceId], isNewEpoch: true },
    ])
    expect(new Set(entries.map((entry) => entry.deviceId))).toEqual(new Set([founder]))
  })

  test('names a recovery key that enrolled a device', async () => {
    await store.close()
    const identity = await generateIdentity()
    const at = { identity, stateDirectory: `${place.stateDirectory}-3` }
    store = await reopen(place, { ...at, recoveryKey: place.recoveryKey })
    const { entries } = await audited()
    const enrolled = { deviceId: formatId('device', identity.deviceId), role: 'owner' }
    expect(entries.at(-1)).toMatchObject({ isRecovery: true, access: { added: [enrolled] } })
  })
})

describe('a store that was rolled back', () => {
  test('is rolled_back for an auditor who has seen more, until that is accepted', async () => {
    await audited()
    copyDirectory(place.directory, `${place.directory}-old`)
    store = await reopen(place)
    await write('/a', 'a')
    await audited()
    rmSync(place.directory, { recursive: true })
    copyDirectory(`${place.directory}-old`, place.directory)
    await expect(audited()).rejects.toMatchObject({ code: 'rolled_back' })
    expect((await audited({ acceptRolledBack: true })).entries).toHaveLength(2)
    expect((await audited()).entries).toHaveLength(2)
  })

  test('or replaced by another one is store_id_mismatch if the id is given', async () => {
    const storeId = formatId('store', 'ab'.repeat(16))
    await expect(audited({ storeId })).rejects.toMatchObject({ code: 'store_id_mismatch' })
  })
})

test('refuses a stranger with wrong_key', async () => {
  const identity = await generateIdentity()
  await expect(audited({ identity })).rejects.toMatchObject({ code: 'wrong_key' })
})
