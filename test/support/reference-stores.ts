// Stores that the reference writer makes, for tests of the reference decoder alone: how to start
// one, give it members and read it back.

import { join } from 'node:path'
import type { Device, Directory, Grade, Role } from './reference/directory.ts'
import { formatIdentity, type Identity } from './reference/identity.ts'
import type { NamedRow } from './reference/rows.ts'
import { readStore, type StoreView } from './reference/store.ts'
import { newDevice, type NewRow, StoreWriter } from './reference/writer.ts'
import { temporaryDirectory } from './temporary.ts'

/** A path that nothing has yet, gone when the current test ends. */
export function newPath(): string {
  return join(temporaryDirectory(), 'new')
}

export const settings = {
  name: 'Notes',
  description: '',
  metadata: new Map<string, string>(),
  archivedAt: undefined,
  limits: { contentBytes: 102_400, memories: 10_000 },
}

/** A row with a text that `n` tells apart. */
export function row(n: number, operation: NewRow['operation'], more: Partial<NewRow> = {}): NewRow {
  const content = operation === 'deleted' ? '' : `text ${n}\n`
  return { operation, path: '/a', content, ...more }
}

/** A change of one row; returns that row with its ids. */
export function changed(writer: StoreWriter, only: NewRow): NamedRow {
  const [made] = writer.change([only])
  if (made === undefined) throw new Error('The row was not written')
  return made
}

export function started(founding: Partial<Directory> = {}): StoreWriter {
  const writer = new StoreWriter()
  writer.genesis(settings, founding)
  return writer
}

/** Writes and reads, as the founder if no other one is named. */
export function read(
  writer: StoreWriter,
  redacted?: ReadonlySet<string>,
  identity: Identity = writer.founder,
): StoreView {
  const directory = newPath()
  writer.write(directory, redacted)
  return readStore(directory, { identity: formatIdentity(identity) })
}

export interface Member {
  readonly identity: Identity
  readonly role: Role
  /** What admits it, and sets its role. */
  readonly by?: Grade
}

export function member(writer: StoreWriter, role: Role, by: Grade = 1): Member {
  const [signingSeed, kemSeed] = [writer.random(), writer.random()]
  return { identity: { signingSeed, kemSeed, localSecret: writer.random() }, role, by }
}

/** The next directory, with these members. */
export function withMembers(writer: StoreWriter, ...members: readonly Member[]): Directory {
  const number = writer.directory.number + 1
  const added = members.map(({ identity, role, by = 1 }): Device => {
    return { ...newDevice(identity, role, number), admittedBy: by }
  })
  const devices = [...writer.directory.devices, ...added].toSorted(byDeviceId)
  return { ...writer.directory, number, devices }
}

/** The next directory, without a device. */
export function without(writer: StoreWriter, deviceId: string): Directory {
  const number = writer.directory.number + 1
  const devices = writer.directory.devices.filter((device) => device.deviceId !== deviceId)
  const entry = { deviceId, removed: number, ...writer.lastRecord(deviceId) }
  const removed = [...writer.directory.removed, entry].toSorted(byDeviceId)
  return { ...writer.directory, number, devices, removed }
}

function byDeviceId(a: { readonly deviceId: string }, b: { readonly deviceId: string }): number {
  return a.deviceId < b.deviceId ? -1 : 1
}
