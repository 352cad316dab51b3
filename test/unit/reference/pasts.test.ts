// FORMAT §7.2 and §7.4 as the reference decoder implements them: which keyring records of one side
// are sound as the other side sees it, and which records are late.

import { describe, expect, test } from 'vitest'
import {
  device,
  directory,
  hash,
  idOf,
  noRecord,
  owner,
  passphrase,
  recoveryKey,
  slot,
  sorted,
} from '../../support/reference-directories.ts'
import type { Directory, Role } from '../../support/reference/directory.ts'
import {
  Ancestry,
  checkChanges,
  checkInTime,
  emptyPast,
  type KeyringChange,
  type KeyringState,
  type Parent,
} from '../../support/reference/pasts.ts'
import type { ChangeRecord } from '../../support/reference/record.ts'

type Changes = Readonly<Record<string, KeyringChange>>

const change = (byte: number, fields: Partial<KeyringChange> = {}): KeyringChange => {
  const nothing = { recovery: undefined, roleBy: 1, joins: false, raised: [], added: [] }
  return { authorId: idOf(byte), directory: directory(), ...nothing, ...fields }
}

const genesis = { [hash(1)]: change(1) }
const removal = (byte: number) => ({ deviceId: idOf(byte), removed: 1, ...noRecord })

function state(one: Directory, changes: Changes): KeyringState {
  const epoch = {
    kid: slot(1),
    audit: new Uint8Array(32),
    content: undefined,
    contentHash: new Uint8Array(32),
  }
  const all = { ...genesis, ...changes }
  const recordHash = Object.keys(all).at(-1) ?? ''
  const place = { epoch, kids: [slot(1)], recordHash, commit: '' }
  return { directory: one, changes: new Map(Object.entries(all)), ...place }
}

describe('keyring records of one side', () => {
  const there = directory({
    devices: sorted(owner, device(2), device(3, { role: 'reader' }), device(8, { roleBy: 3 })),
    removed: [removal(4)],
    gone: [slot(6)],
  })
  const check = (...changes: readonly KeyringChange[]) => {
    const own = Object.fromEntries(changes.map((one, i) => [hash(10 + i), one]))
    checkChanges(state(directory(), own), state(there, {}))
  }
  const raised = (byte: number, from: Role, to: Role = 'owner') => ({
    raised: [{ deviceId: idOf(byte), from, to }],
  })

  test.each<[string, readonly KeyringChange[]]>([
    ['an owner', [change(1)]],
    ['a device that the other side has not', [change(9)]],
    ['a device whose role a weaker hand set on the other side', [change(8)]],
    ['a passphrase that is gone', [change(6, { recovery: passphrase(6) })]],
    ['a recovery key', [change(5, { recovery: recoveryKey(5) })]],
    ['a writer who joins keyrings', [change(2, { joins: true })]],
    ['whom a sound one raised', [change(2), change(1, raised(2, 'writer'))]],
    [
      'whom sound ones raised in two steps',
      [change(2), change(1, raised(2, 'reader', 'writer')), change(1, raised(2, 'writer'))],
    ],
    [
      'whom raised who was raised',
      [change(3), change(2, raised(3, 'reader')), change(1, raised(2, 'writer'))],
    ],
  ])('are sound by %s', (_, changes) => {
    expect(() => check(...changes)).not.toThrow()
  })

  test.each<[string, readonly KeyringChange[]]>([
    ['a writer, whatever they change', [change(2)]],
    ['a device whose role the same hand set', [change(8, { roleBy: 3 })]],
    ['a recovery key that is gone', [change(6, { recovery: recoveryKey(6) })]],
    ['a removed device', [change(4)]],
    ['a removed device that joins keyrings', [change(4, { joins: true })]],
    ['whom they raised themselves', [change(2, raised(2, 'writer'))]],
    [
      'whom a sound one raised, and the other side lowered',
      [change(3), change(1, raised(3, 'writer'))],
    ],
    ['whom a sound one raised to a writer', [change(3), change(1, raised(3, 'reader', 'writer'))]],
  ])('are late by %s', (_, changes) => {
    expect(() => check(...changes)).toThrow(/^record_late: /)
  })
})

describe('a side of a merge', () => {
  const bare = { actor: undefined, session: undefined, reason: undefined, rows: [] } as const
  const hashes = { previous: hash(0), keyringHash: hash(0), settingsHash: hash(0) }
  const record = (authorId: string, height: number, parent?: string): ChangeRecord => {
    const parents = parent === undefined ? [] : [parent]
    const numbers = { sequence: 1, time: 0, directoryNumber: 0 }
    const links = { parents, height, deviceId: authorId, keyring: hash(1) }
    return { kind: 'change', ...bare, ...hashes, ...numbers, ...links }
  }

  /** Authors one upon the other, against one keyring record that brings a directory. */
  function check(other: Partial<Directory>, own: Changes, ...authors: readonly string[]): void {
    const ancestry = new Ancestry()
    ancestry.add(hash(1), record(owner.deviceId, 0))
    ancestry.add(hash(2), record(owner.deviceId, 1, hash(1)))
    const mine = authors.map((authorId, i) => {
      ancestry.add(hash(20 + i), record(authorId, 1 + i, i === 0 ? hash(1) : hash(19 + i)))
      return hash(20 + i)
    })
    const brought = directory(other)
    const theirs = { [hash(2)]: change(1, { directory: brought }) }
    const parent = (at: string, keyring: KeyringState): Parent => {
      return { hash: at, past: { ...emptyPast, keyring } }
    }
    const first = parent(mine.at(-1) ?? '', state(directory(), own))
    checkInTime([first, parent(hash(2), state(brought, theirs))], ancestry)
  }

  const [one, two, four] = [idOf(1), idOf(2), idOf(4)]
  const removed = { devices: sorted(owner, device(2)), removed: [removal(4)] }
  const byKey = { authorId: slot(6), recovery: recoveryKey(6), roleBy: undefined }
  const gone = { ...removed, gone: [slot(6)] }

  test.each<[string, Partial<Directory>, Changes, readonly string[]]>([
    ['a device that stays', removed, {}, [two]],
    ['a device that stays upon a removed one', removed, {}, [four, two]],
    ['a device that nobody knows', removed, {}, [idOf(9)]],
    ['a recovery key whose slot is gone', gone, { [hash(20)]: change(6, byKey) }, [slot(6)]],
  ])('is in time by %s', (_, other, own, authors) => {
    expect(() => check(other, own, ...authors)).not.toThrow()
  })

  test.each<[string, Partial<Directory>, Changes, readonly string[]]>([
    ['a removed device', removed, {}, [four]],
    ['a removed device upon one that stays', removed, {}, [one, four]],
    ['a device that nobody knows upon a removed one', removed, {}, [four, idOf(9)]],
    [
      'a recovery key upon a removed device',
      removed,
      { [hash(21)]: change(6, byKey) },
      [four, slot(6)],
    ],
  ])('is late by %s', (_, other, own, authors) => {
    expect(() => check(other, own, ...authors)).toThrow(/^record_late: /)
  })

  test('is in time by whom a device added that vouches', () => {
    const own = { [hash(20)]: change(1, { added: [idOf(9)] }) }
    expect(() => check(removed, own, one, four, idOf(9))).not.toThrow()
    expect(() => check(removed, {}, one, four, idOf(9))).toThrow(/^record_late: /)
  })
})
