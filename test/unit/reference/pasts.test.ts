// FORMAT §7.2 and §7.4 as the reference decoder implements them: which keyrings are apart, which
// records are late, and which merges only an owner completes.

import { describe, expect, test } from 'vitest'
import {
  device,
  directory,
  hash,
  idOf,
  owner,
  slot,
  sorted,
} from '../../support/reference-directories.ts'
import type { Device, Directory, Role } from '../../support/reference/directory.ts'
import {
  Ancestry,
  emptyPast,
  joinPasts,
  type KeyringState,
  type Parent,
} from '../../support/reference/pasts.ts'
import type { ChangeRecord, RecordKind } from '../../support/reference/record.ts'

/** An author by the byte of a device, and what it writes. */
type Written = readonly [byte: number, kind?: RecordKind]

/** Devices 2 and 3 are writers, 4 is an owner, 5 a reader. */
const roles: Readonly<Record<number, Role>> = { 2: 'writer', 3: 'writer', 4: 'owner', 5: 'reader' }

function withRoles(change: Readonly<Record<number, Role | undefined>> = {}): Directory {
  const devices = Object.entries({ ...roles, ...change }).flatMap(([byte, role]): Device[] => {
    return role === undefined ? [] : [device(Number(byte), { role })]
  })
  return directory({ devices: sorted(owner, ...devices) })
}

/** Genesis, and two lines on it: one with records, the other with keyring records. */
function meet(
  written: readonly Written[],
  directories: readonly Directory[],
): { readonly needsOwner: boolean } {
  const ancestry = new Ancestry()
  ancestry.add(hash(1), record('genesis', owner.deviceId, 0))
  const line = (first: number, all: readonly Written[]): string => {
    for (const [index, [byte, kind = 'change']] of all.entries()) {
      const parent = hash(index === 0 ? 1 : first + index - 1)
      ancestry.add(hash(first + index), record(kind, idOf(byte), index + 1, parent))
    }
    return hash(first + all.length - 1)
  }
  const mine = line(20, written)
  const theirs = line(
    40,
    directories.map(() => [1, 'keyring'] as const),
  )
  const ownKeyring = written.findLastIndex(([, kind]) => kind === 'keyring')
  const parents: readonly [Parent, Parent] = [
    parentAt(mine, withRoles(), ownKeyring === -1 ? hash(1) : hash(20 + ownKeyring)),
    parentAt(theirs, directories.at(-1) ?? withRoles(), theirs),
  ]
  return joinPasts(...parents, new Map(), ancestry)
}

function record(kind: RecordKind, deviceId: string, height: number, parent?: string): ChangeRecord {
  const bare = { actor: undefined, session: undefined, reason: undefined } as const
  const hashes = { previous: hash(0), keyringHash: hash(0), settingsHash: hash(0) }
  const numbers = { sequence: 1, time: 0, directoryNumber: 0, rows: [], grants: [] }
  const links = { parents: parent === undefined ? [] : [parent], height, keyring: hash(1) }
  return { kind, deviceId, ...bare, ...hashes, ...numbers, ...links }
}

function parentAt(at: string, inForce: Directory, recordHash: string): Parent {
  const epoch = {
    kid: slot(1),
    audit: new Uint8Array(32),
    content: undefined,
    contentHash: new Uint8Array(32),
  }
  const keyring: KeyringState = {
    directory: inForce,
    epoch,
    kids: [slot(1)],
    recordHash,
    commit: '',
  }
  return { hash: at, past: { ...emptyPast, keyring } }
}

const withoutTwo = withRoles({ 2: undefined })
const twoReads = withRoles({ 2: 'reader' })
const fourWrites = withRoles({ 4: 'writer' })

describe('a side of a merge', () => {
  test.each<[string, readonly Written[], readonly Directory[]]>([
    ['a device in force', [[3]], [withoutTwo]],
    ['a device in force upon a removed one', [[2], [3]], [withoutTwo]],
    ['a device in force upon a lowered one', [[2], [3]], [twoReads]],
    ['a device that was lowered and raised again', [[2]], [twoReads, withRoles()]],
    ['a reader that was one before', [[5]], [withoutTwo]],
    ['who was lowered from owner to writer', [[4]], [fourWrites]],
  ])('is in time by %s', (_, written, directories) => {
    expect(() => meet(written, directories)).not.toThrow()
  })

  test.each<[string, readonly Written[], readonly Directory[]]>([
    ['a removed device', [[2]], [withoutTwo]],
    ['a lowered device', [[2]], [twoReads]],
    ['a removed device upon one in force', [[3], [2]], [withoutTwo]],
    ['a device that is not in force upon a removed one', [[2], [5]], [withoutTwo]],
    ['a device that nobody knows upon a removed one', [[2], [9]], [withoutTwo]],
    ['a device that one of two records removes', [[2]], [withoutTwo, withRoles({ 2: undefined })]],
  ])('is late by %s', (_, written, directories) => {
    expect(() => meet(written, directories)).toThrow(/^record_late: /)
  })

  test('has keyring records, and so has the other: keyring_conflict', () => {
    expect(() => meet([[1, 'keyring']], [withRoles()])).toThrow(/^keyring_conflict: /)
    expect(() => meet([[1, 'keyring'], [2]], [withoutTwo])).toThrow(/^keyring_conflict: /)
  })
})

describe('what only owners write', () => {
  test.each<[string, readonly Written[], readonly Directory[], boolean]>([
    ['a redaction by who is a writer now', [[4, 'redact']], [fourWrites], true],
    ['settings by who is a writer now', [[4, 'settings']], [fourWrites], true],
    ['a redaction below what others wrote', [[4, 'redact'], [3]], [fourWrites], true],
    [
      'a redaction of a removed owner, on which others built',
      [[4, 'redact'], [3]],
      [withRoles({ 4: undefined })],
      true,
    ],
    ['a change by who is a writer now', [[4]], [fourWrites], false],
    ['a redaction by who is still an owner', [[4, 'redact']], [withoutTwo], false],
  ])('%s', (_, written, directories, needsOwner) => {
    expect(meet(written, directories).needsOwner).toBe(needsOwner)
  })
})
