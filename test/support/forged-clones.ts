// Two clones of a forged history, and changes for them to diverge by.

import type { SignedRow } from '../../src/format/change-record.ts'
import type { DeviceEntry, Directory } from '../../src/format/directory.ts'
import type { Settings } from '../../src/format/settings.ts'
import type { Identity } from '../../src/keys/identity.ts'
import {
  type Fault,
  type ForgedAuthor,
  type NewRow,
  plainSettings,
  withoutMember,
} from './forge-fault.ts'
import type { Forge } from './forge.ts'
import { memory, standardHistory, version } from './standard-forge.ts'

/** Two clones of one history: the founder continues with `left`, the writer with `right`. */
export interface Clones {
  readonly left: Forge
  readonly right: Forge
  readonly asWriter: Fault
  readonly writer: Identity
  readonly reader: Identity
  /** A second owner. */
  readonly second: Identity
}

/** Returns the clone that holds the head to judge. */
export type Forging = (clones: Clones) => Forge

/** The standard history with a second owner; as many pairs of clones as are asked for. */
export async function standardClones(name: string): Promise<() => Clones> {
  const { forge, writer, reader } = await standardHistory(name)
  const second = await forge.join('owner')
  const asWriter = { author: writer }
  return () => ({ left: forge.fork(), right: forge.fork(), asWriter, writer, reader, second })
}

const modified = { operation: 'modified' } as const
export const inLeft: NewRow = { ...modified, memoryId: memory.a, path: '/a.md', content: 'left\n' }
export const inRight: NewRow = {
  ...modified,
  memoryId: memory.a,
  path: '/a.md',
  content: 'right\n',
}
export const united: NewRow = { ...modified, memoryId: memory.a, path: '/a.md', content: 'both\n' }
export const ofB: NewRow = {
  ...modified,
  memoryId: memory.b,
  path: '/dir/b.md',
  content: 'beta 2\n',
}

export const endOfA = { memoryId: memory.a, operation: 'deleted', path: '/a.md' } as const
export const endOfB = { memoryId: memory.b, operation: 'deleted', path: '/dir/b.md' } as const
export const fresh = {
  memoryId: memory.other,
  operation: 'created',
  path: '/other.md',
  content: 'other\n',
  versionId: version.next,
} as const

/** With a new epoch. */
export function change(
  forge: Forge,
  { deviceId }: Pick<Identity, 'deviceId'>,
  to: Partial<DeviceEntry>,
  author?: ForgedAuthor,
): void {
  const fault = author === undefined ? {} : { author }
  const epoch = forge.newEpoch()
  forge.keyring((next) => withDevice(next, deviceId, to), { epoch, fault })
}

export function withDevice(
  directory: Directory,
  deviceId: string,
  to: Partial<DeviceEntry>,
): Directory {
  const devices = directory.devices.map((one) => {
    return one.deviceId === deviceId ? { ...one, ...to } : one
  })
  return { ...directory, devices }
}

/** With a new epoch. */
export function removeDevice(forge: Forge, identity: Identity, fault: Fault = {}): void {
  const epoch = forge.newEpoch()
  forge.keyring((next) => withoutMember(next, identity), { epoch, fault })
}

export function named(name: string): Settings {
  return { ...plainSettings, name }
}

/** Both changed /a.md; `rows` is what the merge makes of it. */
export function mergedOpen(rows: readonly NewRow[], fault?: Fault): Forging {
  return ({ left, right, asWriter }) => {
    left.change([inLeft])
    right.change([inRight], asWriter)
    left.merge(right, rows, fault)
    return left
  }
}

/** The left one changed /a.md, the right one /dir/b.md. */
export function mergedSettled(rows: readonly NewRow[] = [], fault?: Fault): Forging {
  return ({ left, right, asWriter }) => {
    left.change([inLeft])
    right.change([ofB], asWriter)
    left.merge(right, rows, fault)
    return left
  }
}

/** Spoils each row of a record. */
export function spoiled(spoil: (row: SignedRow) => Partial<SignedRow>): Fault {
  return { record: (r) => ({ ...r, rows: r.rows.map((row) => ({ ...row, ...spoil(row) })) }) }
}
