// FORMAT §7.4 as the reference decoder implements it: which records are late.

import { describe, expect, test } from 'vitest'
import {
  admitted,
  device,
  directory,
  hash,
  idOf,
  keyringChange as change,
  noRecord,
  owner,
  recoveryKey,
  slot,
  sorted,
} from '../../support/reference-directories.ts'
import type { Directory } from '../../support/reference/directory.ts'
import type { KeyringChange } from '../../support/reference/keyring-changes.ts'
import {
  Ancestry,
  checkInTime,
  emptyPast,
  type KeyringState,
  type Parent,
} from '../../support/reference/pasts.ts'
import type { ChangeRecord } from '../../support/reference/record.ts'

type Changes = Readonly<Record<string, KeyringChange>>

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

describe('a side of a merge', () => {
  const bare = { actor: undefined, session: undefined, reason: undefined, rows: [] } as const
  const hashes = { previous: hash(0), keyringHash: hash(0), settingsHash: hash(0) }
  const record = (authorId: string, height: number, parent?: string): ChangeRecord => {
    const parents = parent === undefined ? [] : [parent]
    const numbers = { sequence: 1, time: 0, directoryNumber: 0 }
    const links = { parents, height, deviceId: authorId, keyring: hash(1) }
    return { kind: 'change', ...bare, ...hashes, ...numbers, ...links }
  }

  /** A keyring record that brings a directory, and removes the devices with these bytes. */
  type Step = Partial<Directory> & { readonly removes?: readonly number[] }

  /** Authors one upon the other, against keyring records one upon the other. */
  function check(others: readonly Step[], own: Changes, ...authors: readonly string[]): void {
    const ancestry = new Ancestry()
    ancestry.add(hash(1), record(owner.deviceId, 0))
    const line = (first: number, by: readonly string[]): string => {
      for (const [i, authorId] of by.entries()) {
        const parent = hash(i === 0 ? 1 : first + i - 1)
        ancestry.add(hash(first + i), record(authorId, 1 + i, parent))
      }
      return hash(first + by.length - 1)
    }
    const mine = line(20, authors)
    const theirs = line(
      40,
      others.map(() => owner.deviceId),
    )
    const changes = others.map(({ removes = [], ...rest }, i) => {
      const brings = { removed: removes.map(idOf), directory: directory(rest) }
      return [hash(40 + i), change(1, brings)] as const
    })
    const there = directory(changes.at(-1)?.[1].directory)
    const parent = (at: string, keyring: KeyringState): Parent => {
      return { hash: at, past: { ...emptyPast, keyring } }
    }
    const other = parent(theirs, state(there, Object.fromEntries(changes)))
    checkInTime([parent(mine, state(directory(), own)), other], ancestry)
  }

  const [one, two, four, five, nine] = [idOf(1), idOf(2), idOf(4), idOf(5), idOf(9)]
  const stays = { devices: sorted(owner, device(2)) }
  const removes: Step = { ...stays, removed: [removal(4)], removes: [4] }
  const both = { removed: [removal(4), removal(5)].toSorted(byDevice) }
  /** The step before, with device 9 as it was let in. */
  const after = (by: 1 | 2 | 3): Step => {
    return { ...removes, devices: sorted(owner, device(2), device(9, admitted(by))), removes: [] }
  }
  const byKey = { authorId: slot(6), recovery: recoveryKey(6), roleBy: undefined }
  const gone = [{ ...removes, gone: [slot(6)] }]

  test.each<[string, readonly Step[], Changes, readonly string[]]>([
    ['a device that stays', [removes], {}, [two]],
    ['a device that stays upon a removed one', [removes], {}, [four, two]],
    ['a device that nobody knows', [removes], {}, [nine]],
    ['a recovery key whose slot is gone', gone, { [hash(20)]: change(6, byKey) }, [slot(6)]],
    ['anybody against a record that removes nobody', [{ ...removes, removes: [] }], {}, [four]],
    [
      'a device upon a removed one that a record lacks which removes nobody',
      [stays, { ...removes, devices: sorted(owner, device(2), device(9, admitted(3))) }],
      {},
      [four, nine],
    ],
    [
      'a device upon a removed one that an owner let in after the removal',
      [removes, after(1)],
      {},
      [four, nine],
    ],
    [
      'a device that was removed before what the side lacks',
      [{ ...stays, ...both, removes: [5] }],
      {},
      [four],
    ],
  ])('is in time by %s', (_, others, own, authors) => {
    expect(() => check(others, own, ...authors)).not.toThrow()
  })

  test.each<[string, readonly Step[], Changes, readonly string[]]>([
    [
      'a device upon a removed one that a recovery key let in after the removal',
      [removes, after(2)],
      {},
      [four, nine],
    ],
    ['a removed device', [removes], {}, [four]],
    ['a removed device upon one that stays', [removes], {}, [one, four]],
    ['a device that nobody knows upon a removed one', [removes], {}, [four, nine]],
    [
      'a recovery key upon a removed device',
      [removes],
      { [hash(21)]: change(6, byKey) },
      [four, slot(6)],
    ],
    [
      'a device upon a removed one that a passphrase let in after the removal',
      [removes, after(3)],
      {},
      [four, nine],
    ],
    [
      'a device upon a removed one that a passphrase let in between two removals',
      [removes, { ...after(3), ...both, removes: [5] }],
      {},
      [four, nine],
    ],
    [
      'a removed device, by one of two records',
      [removes, { ...stays, ...both, removes: [5] }],
      {},
      [four],
    ],
    [
      'a device upon a removed one, if it was removed before what the side lacks',
      [{ ...stays, ...both, removes: [5] }],
      {},
      [five, four],
    ],
  ])('is late by %s', (_, others, own, authors) => {
    expect(() => check(others, own, ...authors)).toThrow(/^record_late: /)
  })

  test('is in time by whom a device added that vouches', () => {
    const own = { [hash(20)]: change(1, { added: [device(9)] }) }
    expect(() => check([removes], own, one, four, nine)).not.toThrow()
    expect(() => check([removes], {}, one, four, nine)).toThrow(/^record_late: /)
  })

  test('is late by whom a device added that vouches, if the other side removed it', () => {
    const own = { [hash(20)]: change(1, { added: [device(5)] }) }
    const others = [{ ...stays, ...both, removes: [4, 5] }]
    expect(() => check(others, own, one, five)).toThrow(/^record_late: /)
  })
})

function byDevice(a: { readonly deviceId: string }, b: { readonly deviceId: string }): number {
  return a.deviceId < b.deviceId ? -1 : 1
}
