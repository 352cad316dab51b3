// T10: no keyring changes the entries of removed devices, nor a name or the quota except at its own
// number. FORMAT §7, §7.1.

import { beforeAll, describe, expect, test } from 'vitest'
import type { Directory, RemovedDevice } from '../../src/format/directory.ts'
import { zeroHash } from '../../src/format/record.ts'
import {
  accepted,
  nextRow,
  refused,
  type Standard,
  standardHistory,
  verdicts,
  version,
} from '../support/standard-forge.ts'

let standard: Standard
beforeAll(async () => {
  standard = await standardHistory()
})

describe('T10: a directory is refused', () => {
  test.each<[name: string, change: (removed: RemovedDevice) => RemovedDevice]>([
    ['no last record', (removed) => ({ ...removed, sequence: 0, record: zeroHash })],
    ['an earlier record', (removed) => ({ ...removed, sequence: removed.sequence - 1 })],
    ['a later record', (removed) => ({ ...removed, sequence: removed.sequence + 1 })],
    ['another record', (removed) => ({ ...removed, record: new Uint8Array(32).fill(1) })],
    ['an earlier removal', (removed) => ({ ...removed, removed: removed.removed - 1 })],
  ])('keyring_chain: a removal that names %s', async (_, change) => {
    const forge = standard.forge.fork()
    forge.change([{ ...nextRow, versionId: version.b2 }], { author: standard.writer })
    forge.change([nextRow], { author: standard.writer })
    const last = forge.chains.get(standard.writer.deviceId)
    if (last === undefined) throw new Error('The writer has written')
    const { deviceId } = standard.writer
    const remove = (how: typeof change) => (next: Directory) => {
      const honest = { sequence: last.sequence, record: last.hash }
      const removed = [how({ deviceId, removed: next.number, ...honest })]
      return { ...next, devices: removeWriter(next), removed }
    }
    const honest = forge.fork()
    honest.keyring(
      remove((removed) => removed),
      { epoch: forge.newEpoch() },
    )
    expect(await verdicts(honest)).toEqual(accepted)
    forge.keyring(remove(change), { epoch: forge.newEpoch() })
    expect(await verdicts(forge)).toEqual(refused('keyring_chain'))
  })

  test.each<[name: string, change: (next: Directory) => Partial<Directory>]>([
    ['is forgotten', () => ({ removed: [] })],
    [
      'was removed at another number',
      ({ removed }) => ({ removed: removed.map((one) => ({ ...one, removed: 1 })) }),
    ],
    [
      'has another last record',
      ({ removed }) => ({
        removed: removed.map((one) => ({
          ...one,
          sequence: 9,
          record: new Uint8Array(32).fill(1),
        })),
      }),
    ],
  ])('keyring_chain: a removed device %s later', async (_, change) => {
    const forge = standard.forge.fork()
    forge.keyring((next) => ({ ...next, devices: removeWriter(next) }), { epoch: forge.newEpoch() })
    forge.keyring((next) => ({ ...next, ...change(next) }))
    expect(await verdicts(forge)).toEqual(refused('keyring_chain'))
  })

  test.each<[code: string, name: string, change: (next: Directory) => Directory]>([
    ['accepted', 'another name', (next) => withName(next, 'phone')],
    ['keyring_malformed', 'a name with a line break', (next) => withName(next, 'a\nb')],
    ['accepted', 'another quota', (next) => ({ ...next, quota: 1 })],
  ])('%s: %s', async (code, _, change) => {
    const forge = standard.forge.fork()
    forge.keyring(change)
    expect(await verdicts(forge)).toEqual(refused(code))
  })
})

function removeWriter(next: Directory): Directory['devices'] {
  return next.devices.filter(({ role }) => role !== 'writer')
}

/** The reader's keys. */
function withName(next: Directory, name: string): Directory {
  const devices = next.devices.map((device) => {
    return device.role === 'reader' ? { ...device, name } : device
  })
  return { ...next, devices }
}
