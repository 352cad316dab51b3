// The rules for number 0 of a store's directories (FORMAT §7.1).

import { describe, expect, test } from 'vitest'
import { checkGenesisDirectory } from '../../../src/format/directory-succession.ts'
import type { DeviceEntry, Directory } from '../../../src/format/directory.ts'
import {
  device,
  founder,
  genesis,
  key,
  removal,
  slot,
  sorted,
  seed,
  two,
} from '../../support/directories.ts'

const code = (name: string): unknown => expect.objectContaining({ code: name })

describe('the first directory', () => {
  test('names the founder, whom the seed authenticates', () => {
    expect(() => checkGenesisDirectory(seed, genesis)).not.toThrow()
    const named = { ...genesis, devices: [{ ...founder, name: 'laptop' }] }
    expect(() => checkGenesisDirectory(seed, named)).not.toThrow()
    expect(() => checkGenesisDirectory(seed, { ...genesis, quota: 0 })).not.toThrow()
  })

  const withFounder = (change: Partial<DeviceEntry>): Directory => {
    return { ...genesis, devices: [{ ...founder, ...change }] }
  }
  test.each<readonly [string, string, Directory]>([
    [
      'another founder',
      'store_seed_mismatch',
      { ...genesis, devices: [device(2, { role: 'owner' })] },
    ],
    ['other random bytes', 'store_seed_mismatch', { ...genesis, founderRandom: key(8) }],
    ['a founder who is no owner', 'keyring_chain', withFounder({ role: 'writer' })],
    ['a founder by recovery key', 'keyring_chain', withFounder({ admittedBy: 'recovery' })],
    ['keys that nobody signed', 'keyring_chain', withFounder({ keySignature: key(1, 64) })],
    ['a founder by passphrase', 'keyring_chain', withFounder({ admittedBy: 'passphrase' })],
    ['nobody', 'keyring_chain', { ...genesis, devices: [] }],
    ['a removed device', 'keyring_chain', { ...genesis, removed: [removal(slot(1), 1)] }],
    ['two devices', 'keyring_chain', { ...genesis, devices: sorted(founder, device(2)) }],
    ['a later number', 'keyring_chain', two],
  ])('with %s is %s', (_, expected, directory) => {
    expect(() => checkGenesisDirectory(seed, directory)).toThrow(code(expected))
  })
})
