// FORMAT §7.2 as the reference decoder implements it: what a keyring record changes, and which of
// those of one side are sound as the other side sees it.

import { describe, expect, test } from 'vitest'
import {
  device,
  directory,
  idOf,
  keyringChange as change,
  noRecord,
  owner,
  passphrase,
  recoveryKey,
  hash,
  slot,
  sorted,
} from '../../support/reference-directories.ts'
import type { Role } from '../../support/reference/directory.ts'
import { recoveryIdOf } from '../../support/reference/identity.ts'
import {
  changeBy,
  checkChanges,
  type KeyringChange,
} from '../../support/reference/keyring-changes.ts'

const removal = (byte: number) => ({ deviceId: idOf(byte), removed: 1, ...noRecord })

describe('what a keyring record changes:', () => {
  const before = directory({
    devices: sorted(owner, device(2, { roleBy: 3 }), device(3), device(5)),
    removed: [removal(4)],
    recoveries: [recoveryKey(5)],
  })
  const after = directory({
    devices: sorted(owner, device(2, { role: 'owner' }), device(3, { role: 'reader' }), device(6)),
    removed: [removal(4), removal(5)].toSorted((a, b) => (a.deviceId < b.deviceId ? -1 : 1)),
  })

  test('a step adds, raises and removes against the directory before', () => {
    expect(changeBy(idOf(2), [before], after)).toEqual({
      authorId: idOf(2),
      recovery: undefined,
      roleBy: 3,
      joins: false,
      keys: [],
      added: [device(6)],
      raised: [{ deviceId: idOf(2), from: 'writer', to: 'owner' }],
      removed: [idOf(5)],
      directory: after,
    })
  })

  test('a step has its recovery identity from the directory before', () => {
    const entry = recoveryKey(5)
    const { recovery, roleBy } = changeBy(recoveryIdOf(slot(5), entry.signingKey), [before], after)
    expect({ recovery, roleBy }).toEqual({ recovery: entry, roleBy: undefined })
  })

  test('a join adds and raises nothing, and removes whom neither directory has as removed', () => {
    const nothing = { added: [], raised: [] }
    const one = directory({ removed: [removal(5)] })
    const join = changeBy(idOf(1), [before, one], after)
    expect(join).toMatchObject({ joins: true, ...nothing, removed: [] })
    const removed = [idOf(5)]
    expect(changeBy(idOf(1), [before, before], after)).toMatchObject({ ...nothing, removed })
  })

  test('genesis adds, raises and removes nothing', () => {
    const nothing = { joins: false, added: [], raised: [], removed: [] }
    expect(changeBy(idOf(1), [], directory())).toMatchObject(nothing)
  })
})

describe('keyring records of one side', () => {
  const there = directory({
    devices: sorted(owner, device(2), device(3, { role: 'reader' }), device(8, { roleBy: 3 })),
    removed: [removal(4)],
    recoveries: [recoveryKey(5)],
    gone: [slot(6)],
  })
  const check = (...changes: readonly KeyringChange[]) => {
    const own = new Map(changes.map((one, i) => [hash(10 + i), one]))
    checkChanges({ changes: own, directory: directory() }, { changes: new Map(), directory: there })
  }
  const raised = (byte: number, from: Role, to: Role = 'owner') => ({
    raised: [{ deviceId: idOf(byte), from, to }],
  })
  const added = (byte: number, role: Role = 'owner') => ({ added: [device(byte, { role })] })

  test.each<[string, readonly KeyringChange[]]>([
    ['an owner', [change(1)]],
    ['a passphrase that is gone', [change(6, { recovery: passphrase(6) })]],
    ['a recovery key', [change(5, { recovery: recoveryKey(5) })]],
    [
      'a recovery key that a sound one added',
      [
        change(7, { recovery: recoveryKey(7) }),
        change(1, { keys: [recoveryIdOf(slot(7), recoveryKey(7).signingKey)] }),
      ],
    ],
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
    ['whom an owner added as an owner', [change(9), change(1, added(9))]],
    [
      'whom a recovery key added as an owner',
      [change(9, { roleBy: 2 }), change(5, { recovery: recoveryKey(5), ...added(9) })],
    ],
    ['whom added who was added', [change(10), change(9, added(10)), change(1, added(9))]],
    [
      'whom a sound one added as a writer, and one raised',
      [change(9), change(1, added(9, 'writer')), change(1, raised(9, 'writer'))],
    ],
    [
      'whom a sound one raised, and a weaker hand let in on the other side',
      [change(8), change(1, raised(8, 'auditor'))],
    ],
    [
      'whom a sound one added as an owner, and a weaker hand let in on the other side',
      [change(8), change(1, added(8))],
    ],
  ])('are sound by %s', (_, changes) => {
    expect(() => check(...changes)).not.toThrow()
  })

  test.each<[string, readonly KeyringChange[]]>([
    ['a writer, whatever they change', [change(2)]],
    ['a device whose role the same hand set', [change(8, { roleBy: 3 })]],
    ['a device whose role a weaker hand set on the other side', [change(8)]],
    [
      'whom a sound one added as an owner, and the same hand let in on the other side',
      [change(2), change(1, added(2))],
    ],
    ['a recovery key that the other side has not', [change(7, { recovery: recoveryKey(7) })]],
    ['a recovery key that is gone', [change(6, { recovery: recoveryKey(6) })]],
    ['a removed device', [change(4)]],
    ['a removed device that joins keyrings', [change(4, { joins: true })]],
    ['a removed device that a sound one raised', [change(4), change(1, raised(4, 'writer'))]],
    ['whom they raised themselves', [change(2, raised(2, 'writer'))]],
    [
      'whom a sound one raised, and the other side lowered',
      [change(3), change(1, raised(3, 'writer'))],
    ],
    ['whom a sound one raised to a writer', [change(3), change(1, raised(3, 'reader', 'writer'))]],
    ['a device that the other side has not', [change(9)]],
    ['whom a sound one added as a writer', [change(9), change(1, added(9, 'writer'))]],
    ['whom they added themselves', [change(9, added(9))]],
    [
      'whom one raised that they added themselves',
      [change(2, added(9)), change(9, raised(2, 'writer'))],
    ],
    [
      'a chain of whom such a pair added',
      [change(2, added(9)), change(9, { ...raised(2, 'writer'), ...added(10) }), change(10)],
    ],
  ])('are late by %s', (_, changes) => {
    expect(() => check(...changes)).toThrow(/^record_late: /)
  })
})
