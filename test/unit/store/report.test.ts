// What a report is made of: devices and access over time, writes by day, redactions with who has
// not confirmed them, from a real store, by its owner and by an auditor.

import { beforeAll, describe, expect, test } from 'vitest'
import { formatDeviceCard } from '../../../src/format/device-card.ts'
import { formatId } from '../../../src/format/id.ts'
import { createStore } from '../../../src/index.ts'
import { generateIdentity } from '../../../src/keys/identity.ts'
import { type Audit, auditStore } from '../../../src/store/audit/audit.ts'
import type { Device } from '../../../src/store/devices/devices.ts'
import type { MemoryStore } from '../../../src/store/memory-store.ts'
import type { RedactionCertificate } from '../../../src/store/redaction/certificate.ts'
import {
  type AuditReport,
  collectReport,
  reportAsAuditor,
} from '../../../src/store/report/audit-report.ts'
import { atOnce } from '../../../src/time-slice.ts'
import { alone, bareRemote, firstClone, put, sync } from '../../support/clones.ts'
import { author, leastStretch, type TestPlace } from '../../support/stores.ts'
import { sharedDirectory } from '../../support/temporary.ts'

const day = 86_400_000
const start = Date.parse('2026-03-01T23:00:00Z')

const directory = sharedDirectory()
let now = start
let store: MemoryStore
let place: TestPlace
let ids: Readonly<Record<'founder' | 'auditor' | 'writer' | 'gone' | 'reader', string>>
let devices: readonly Device[]
let certificate: RedactionCertificate
let audit: Audit
let ofOwner: AuditReport
let ofAuditor: AuditReport

beforeAll(async () => {
  const [founder, auditor, writer, gone, reader] = await Promise.all(
    Array.from({ length: 5 }, () => generateIdentity()),
  )
  if (!founder || !auditor || !writer || !gone || !reader) throw new Error('Too few identities')
  const at = { directory: `${directory}/store`, stateDirectory: `${directory}/state` }
  place = { ...at, identity: founder, recoveryKey: '' }
  const settings = { name: 'team', deviceName: 'desk', clock: () => now, stretch: leastStretch }
  ;({ store } = await createStore({ ...place, ...settings }))
  const me = store.as(author)
  await me.devices.add(formatDeviceCard(auditor), 'auditor', alone)
  const added = [
    await me.devices.add(formatDeviceCard(writer), 'reader', alone),
    await me.devices.add(formatDeviceCard(gone), 'writer', alone),
  ].map(({ deviceId }) => deviceId)
  const dev = (identity: typeof founder): string => formatId('device', identity.deviceId)
  const byName = { founder, auditor, writer, gone, reader }
  ids = {
    founder: dev(byName.founder),
    auditor: dev(byName.auditor),
    writer: dev(byName.writer),
    gone: dev(byName.gone),
    reader: dev(byName.reader),
  }
  expect(added).toEqual([ids.writer, ids.gone])
  await me.write('/a.md', 'a secret')
  await me.write('/a.md', 'none')
  now += 2 * 3_600_000
  await store.as({ actor: { type: 'user', id: 'ada' } }).write('/b.md', 'b')
  await me.delete('/b.md')
  now += day
  await me.devices.changeRole(ids.writer, 'writer', alone)
  await me.devices.rename(ids.writer, 'laptop', alone)
  const select = { matching: /secret/ }
  const redaction = await me.redact({ select, reason: 'personal_data' })
  if (redaction.certificate === undefined) throw new Error('Nothing was redacted')
  ;({ certificate } = redaction)
  now += day
  await me.devices.remove([ids.gone], alone)
  await me.devices.add(formatDeviceCard(reader), 'reader', alone)
  await store.remotes.add('origin', '/nowhere/store.git')
  devices = await store.devices.list()
  ofOwner = await store.maintenance.report({ certificates: [JSON.stringify(certificate)] })
  await store.maintenance.checkpoint()
  const there = { ...place, identity: auditor, stateDirectory: `${directory}/auditor` }
  audit = await auditStore(there)
  ofAuditor = await reportAsAuditor(there, { certificates: [JSON.stringify(certificate)] })
})

describe('a report', () => {
  test('shows who verified how much, and the head', async () => {
    const { head, headFingerprint, commits, memories } = await store.status()
    const found = { head, headFingerprint, commits, memories, versions: 4 }
    expect(ofOwner).toMatchObject({ storeId: store.id, name: 'team', role: 'owner', leftOut: 0 })
    expect(ofOwner.deviceId).toBe(ids.founder)
    expect(ofOwner.verification).toEqual({ extent: 'history', ...found })
    expect(ofAuditor).toMatchObject({ storeId: store.id, name: undefined, role: 'auditor' })
    expect(ofAuditor.verification).toEqual({ extent: 'trail', ...found })
  })

  test('lists devices as the store does, with their names and removers', () => {
    for (const { devices: found } of [ofOwner, ofAuditor]) {
      expect(
        found.map(({ deviceId, name, role, lastRecord, added, removed }) => {
          return { deviceId, name, role, lastRecord, added: added.commit, removed: removed?.commit }
        }),
      ).toEqual(
        devices.map(({ deviceId, name, role, lastRecord, added, removed }) => {
          return { deviceId, name, role, lastRecord, added: added.commit, removed: removed?.commit }
        }),
      )
    }
    const gone = ofOwner.devices.find(({ deviceId }) => deviceId === ids.gone)
    expect(gone?.removed).toMatchObject({ deviceId: ids.founder, ...author, time: now })
  })

  test('lists changes of access, oldest first, with their authors', () => {
    const { access } = ofOwner
    expect(access.map(({ action }) => action)).toEqual([
      { type: 'device_added', deviceId: ids.founder, role: 'owner', name: 'desk' },
      { type: 'recovery_key_set' },
      { type: 'epoch_began' },
      { type: 'device_added', deviceId: ids.auditor, role: 'auditor', name: '' },
      { type: 'device_added', deviceId: ids.writer, role: 'reader', name: '' },
      { type: 'device_added', deviceId: ids.gone, role: 'writer', name: '' },
      { type: 'role_changed', deviceId: ids.writer, role: 'writer' },
      { type: 'epoch_began' },
      { type: 'device_renamed', deviceId: ids.writer, name: 'laptop' },
      { type: 'device_removed', deviceId: ids.gone },
      { type: 'epoch_began' },
      { type: 'device_added', deviceId: ids.reader, role: 'reader', name: '' },
    ])
    expect(new Set(access.map(({ deviceId }) => deviceId))).toEqual(new Set([ids.founder]))
    expect(ofAuditor.access).toEqual(access)
  })

  test('counts writes by day in UTC, actor and session', () => {
    const counts = { created: 0, modified: 0, deleted: 0, redacted: 0 }
    const ada = { actor: { type: 'user', id: 'ada' }, session: undefined }
    expect(ofOwner.writes).toEqual([
      { day: '2026-03-01', ...author, ...counts, created: 1, modified: 1, redacted: 1 },
      { day: '2026-03-02', ...author, ...counts, deleted: 1 },
      { day: '2026-03-02', ...ada, ...counts, created: 1 },
    ])
    expect(ofAuditor.writes).toEqual(ofOwner.writes)
  })

  test('lists each redaction with reason, author, certificate and proof', () => {
    const [versionId] = certificate.versions.map((version) => version.memory_version_id)
    const common = { reason: 'personal_data', deviceId: ids.founder, ...author, certificate }
    const redaction = { ...common, versionIds: [versionId], record: certificate.records[0] }
    expect(ofOwner.redactions).toMatchObject([{ ...redaction, absence: 'nothing_found' }])
    expect(ofAuditor.redactions).toMatchObject([{ ...redaction, absence: undefined }])
    expect(ofOwner.absence).toMatchObject({ versions: 1, found: [] })
    expect(ofAuditor.absence).toBeUndefined()
  })

  test('names devices that have not confirmed a redaction: not removed, later or own ones', () => {
    const pending = devices.filter(({ unacknowledged }) => unacknowledged.length > 0)
    const [redaction] = ofOwner.redactions
    const found = redaction?.unconfirmedDevices
    expect(found).toEqual(
      pending.map(({ deviceId, name, role, lastRecord, canAcknowledge }) => {
        return { deviceId, name, role, lastRecord, canAcknowledge }
      }),
    )
    expect(found?.map(({ deviceId }) => deviceId)).toEqual([ids.auditor, ids.writer])
    expect(redaction?.unconfirmedRemotes).toEqual(['origin'])
    const [seen] = ofAuditor.redactions
    expect(seen?.unconfirmedDevices).toMatchObject([{ deviceId: ids.writer, name: 'laptop' }])
    expect(seen?.unconfirmedRemotes).toEqual([])
  })

  const searched = { versions: 1, objects: 9, journalBytes: 0, cached: 0, pending: 0, putAside: 0 }

  test('lists the findings of the search for each redaction, by ids alone', () => {
    const [redaction] = ofOwner.redactions
    const [versionId = ''] = redaction?.versionIds ?? []
    const [objectId = ''] = certificate.object_ids
    const path = '/secret/a.md'
    const suspect = { memoryId: 'mem_0', versionId: 'memver_0', path }
    for (const [found, builtOnRedacted, absence, textsOutside = []] of [
      [[], [], 'nothing_found'],
      [[{ place: 'cache', versionId: 'memver_x' }], [], 'nothing_found'],
      [[], [{ ...suspect, redactedVersionIds: [versionId] }], 'may_be_repeated'],
      [[{ place: 'cache', versionId }], [{ ...suspect, redactedVersionIds: [versionId] }], 'found'],
      [[{ place: 'object', objectId }], [], 'found'],
      [[], [], 'may_be_repeated', ['/dev/shm/secret/a.md']],
    ] as const) {
      const residue = { ...searched, found, builtOnRedacted, textsOutside }
      const member = { name: '', remotes: [], absence: residue }
      const report = atOnce(collectReport(audit, member, { certificates: [certificate] }))
      expect(report.redactions).toMatchObject([{ absence }])
      expect(JSON.stringify(report)).not.toContain(path)
    }
  })

  test('prefers a certificate with object ids to one issued again', () => {
    const [objectId = ''] = certificate.object_ids
    const again = { ...certificate, issued_by: ids.auditor, object_ids: [] }
    const found = [{ place: 'object', objectId } as const]
    const absence = { ...searched, found, builtOnRedacted: [], textsOutside: [] }
    const member = { name: '', remotes: [], absence }
    const made = atOnce(collectReport(audit, member, { certificates: [again, certificate] }))
    expect(made.redactions).toMatchObject([{ certificate, absence: 'found' }])
    const only = atOnce(collectReport(audit, undefined, { certificates: [again] }))
    expect(only.redactions).toMatchObject([{ certificate: again }])
  })

  test('reads the trail step by step', () => {
    const steps = [...collectReport(audit, undefined, {})]
    expect(audit.entries.length).toBeGreaterThan(5)
    expect(steps).toHaveLength(audit.entries.length)
  })

  test('may be limited in time; devices are listed whole', { tags: 'slow' }, async () => {
    const until = start + day
    const before = await store.maintenance.report({ until })
    expect(before).toMatchObject({ until, since: undefined, redactions: [], absence: undefined })
    expect(before.writes).toEqual(ofOwner.writes)
    expect(before.access).toHaveLength(6)
    expect(before.devices).toEqual(ofOwner.devices)
    const after = await store.maintenance.report({ since: until })
    expect(after).toMatchObject({ writes: [], redactions: [{ certificate: undefined }] })
    expect(after.access).toEqual(ofOwner.access.slice(6))
  })

  test.each<[name: string, options: object]>([
    ['a time that is none', { since: Number.NaN }],
    ['a time as a text', { until: '7d' }],
    ['one certificate for a list', { certificates: '{}' }],
    ['a certificate that is no text', { certificates: [{}] }],
  ])('is not made with %s', async (_, options) => {
    await expect(store.maintenance.report(options)).rejects.toMatchObject({ code: 'invalid_input' })
  })

  test(
    'is not made with a certificate that the history does not prove',
    { tags: 'slow' },
    async () => {
      for (const [text, code] of [
        [JSON.stringify({ ...certificate, reason: 'legal' }), 'certificate_invalid'],
        ['{}', 'invalid_input'],
      ] as const) {
        const made = store.maintenance.report({ certificates: [JSON.stringify(certificate), text] })
        await expect(made).rejects.toMatchObject({ code })
      }
    },
  )
})

test('a remote has confirmed a redaction once a sync has sent it', { tags: 'slow' }, async () => {
  const first = await firstClone(bareRemote())
  const versionId = await put(first, '/a.md', 'a secret')
  await put(first, '/a.md', 'none')
  await sync(first)
  await first.store.as(author).redact({ select: { versionIds: [versionId] }, reason: 'legal' })
  const remotes = async (): Promise<unknown> => {
    const { redactions } = await first.store.maintenance.report()
    return redactions.map(({ unconfirmedRemotes }) => unconfirmedRemotes)
  }
  expect(await remotes()).toEqual([['origin']])
  await sync(first)
  await put(first, '/b.md', 'not sent yet')
  expect(await remotes()).toEqual([[]])
})
