// T9: a member can do no more than its role allows, a recovery identity can only enrol a device of
// its grade, and a stranger or a removed device can do nothing. FORMAT §6.1, §7.
// @module-tag slow

import { beforeAll, describe, expect, test } from 'vitest'
import { signingKeyPair } from '../../src/crypto/signature.ts'
import type { RecordBody } from '../../src/format/change-record.ts'
import {
  type Directory,
  grades,
  type RecoveryEntry,
  type Role,
} from '../../src/format/directory.ts'
import { readKid } from '../../src/format/envelope.ts'
import { deviceIdOf } from '../../src/format/id.ts'
import { decodeKeyring } from '../../src/format/keyring.ts'
import { zeroHash } from '../../src/format/record.ts'
import { openArchives } from '../../src/keys/archive.ts'
import type { EpochKeys } from '../../src/keys/epoch.ts'
import { generateIdentity } from '../../src/keys/identity.ts'
import { openDirectory, openKeyring } from '../../src/keys/keyring.ts'
import { type RecoveryIdentity, recoveryKeyIdentity } from '../../src/keys/recovery.ts'
import { decodeCommit } from '../../src/store/commits/decoded-commit.ts'
import {
  asRecovery,
  type Fault,
  type ForgedAuthor,
  plainSettings,
  withMember,
} from '../support/forge-fault.ts'
import type { Forge } from '../support/forge.ts'
import { withDevice } from '../support/forged-clones.ts'
import {
  accepted,
  memory,
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

type Act = (forge: Forge, fault: Fault) => void
const acts: Readonly<Record<'change' | 'redact' | 'settings' | 'keyring', Act>> = {
  change: (forge, fault) => forge.change([nextRow], fault),
  redact(forge, fault) {
    forge.redact([[memory.a, version.a1]], fault)
    forge.rewrite(new Set([version.a1]))
  },
  settings: (forge, fault) => forge.settings({ ...plainSettings, name: 'mine' }, fault),
  keyring: (forge, fault) => forge.keyring((next) => next, { fault }),
}

describe('T9: a record beyond the role of its author is refused', () => {
  test.each<[code: string, who: 'writer' | 'reader' | 'stranger', what: keyof typeof acts]>([
    ['record_role', 'writer', 'redact'],
    ['record_role', 'writer', 'settings'],
    ['record_role', 'writer', 'keyring'],
    ['record_role', 'reader', 'change'],
    ['record_role', 'reader', 'redact'],
    ['record_role', 'reader', 'settings'],
    ['record_role', 'reader', 'keyring'],
    ['record_device', 'stranger', 'change'],
    ['record_device', 'stranger', 'redact'],
    ['record_device', 'stranger', 'settings'],
    ['record_device', 'stranger', 'keyring'],
  ])('%s: %s, %s', async (code, who, what) => {
    const forge = standard.forge.fork()
    acts[what](forge, { author: authorNamed(who) })
    expect(await verdicts(forge)).toEqual(refused(code))
  })

  test.each<[code: string, what: keyof typeof acts]>([
    ['record_role', 'change'],
    ['record_role', 'redact'],
    ['record_role', 'settings'],
    ['record_role', 'keyring'],
  ])('%s: auditor, %s', async (code, what) => {
    const forge = standard.forge.fork()
    const auditor = await forge.join('auditor')
    acts[what](forge, { author: auditor })
    expect(await verdicts(forge)).toEqual(refused(code))
  })

  test('a writer may change', async () => {
    const forge = standard.forge.fork()
    acts.change(forge, { author: standard.writer })
    expect(await verdicts(forge)).toEqual(accepted)
  })

  test.each<keyof typeof acts>(['change', 'keyring'])(
    'record_device: a removed device, %s',
    async (what) => {
      const forge = standard.forge.fork()
      forge.keyring(withoutWriter, { epoch: forge.newEpoch() })
      acts[what](forge, { author: standard.writer })
      expect(await verdicts(forge)).toEqual(refused('record_device'))
    },
  )

  test('record_device: a member in the record that would make it one', async () => {
    const forge = standard.forge.fork()
    const joining = await generateIdentity(forge.random)
    forge.keyring((next) => withMember(next, joining, 'owner'), { fault: { author: joining } })
    expect(await verdicts(forge)).toEqual(refused('record_device'))
  })

  test('record_role: a writer that makes itself an owner', async () => {
    const forge = standard.forge.fork()
    forge.keyring(promoteAll, { fault: { author: standard.writer } })
    expect(await verdicts(forge)).toEqual(refused('record_role'))
  })
})

describe('T9: the keys of a device that was removed', () => {
  test('open nothing that is written from then on', async () => {
    const forge = standard.forge.fork()
    const { storeId, epochs: held } = forge
    forge.keyring(withoutWriter, { epoch: forge.newEpoch() })
    const keyring = forge.objects.get(forge.entries.at(-1)?.keyring ?? '')?.body ?? new Uint8Array()
    const change = forge.change([nextRow])
    const commit = forge.objects.get(change)?.body ?? new Uint8Array()
    const blob = forge.entries.at(-1)?.blobs.get(forge.idOf(memory.a)) ?? ''
    const sealed = forge.objects.get(blob)?.body ?? new Uint8Array()
    const unknown = expect.objectContaining({ code: 'envelope_epoch' })
    expect(await verdicts(forge)).toEqual(accepted)
    expect(() => decodeCommit(storeId, held, change, commit)).toThrow(unknown)
    expect(() => openDirectory(keyring, held)).toThrow(unknown)
    expect(held.has(readKid('memory', sealed))).toBe(false)
    for (const epoch of held.values()) {
      const open = (): unknown => openArchives(decodeKeyring(keyring), epoch)
      expect(open).toThrow(expect.objectContaining({ code: 'envelope_epoch' }))
    }
    const unlock = { type: 'identity', identity: standard.writer } as const
    await expect(openKeyring(keyring, storeId, unlock)).rejects.toMatchObject({ code: 'wrong_key' })
  })
})

const newcomer = await generateIdentity()

describe('T9: a recovery identity', () => {
  let secrets: Readonly<Record<RecoveryEntry['type'], RecoveryIdentity>>
  beforeAll(() => {
    const of = (byte: number): RecoveryIdentity =>
      recoveryKeyIdentity(standard.forge, new Uint8Array(32).fill(byte))
    secrets = { recovery: of(7), passphrase: of(8) }
  })

  test.each<[code: string, grade: RecoveryEntry['type'], role: Role]>([
    ['accepted', 'recovery', 'owner'],
    ['record_role', 'recovery', 'writer'],
    ['accepted', 'passphrase', 'writer'],
    ['record_role', 'passphrase', 'reader'],
    ['record_role', 'passphrase', 'owner'],
  ])('%s: a %s enrols a device as %s', async (code, grade, role) => {
    const forge = withPassphrase(standard.forge.fork())
    const joining = await generateIdentity(forge.random)
    forge.keyring((next) => withMember(next, joining, role, grade), { fault: by(grade) })
    expect(await verdicts(forge)).toEqual(refused(code))
  })

  test.each<[code: string, quota: number]>([
    ['accepted', 1],
    ['record_role', 0],
  ])('%s: a passphrase of a quota of %i enrols a device', async (code, quota) => {
    const forge = withPassphrase(standard.forge.fork())
    forge.keyring((next) => ({ ...next, quota }))
    const joining = await generateIdentity(forge.random)
    const enrol = (next: Directory) => withMember(next, joining, 'writer', 'passphrase')
    forge.keyring(enrol, { fault: by('passphrase') })
    expect(await verdicts(forge)).toEqual(refused(code))
  })

  test.each([
    ['recovery', 'owner'],
    ['recovery', 'passphrase'],
    ['passphrase', 'recovery'],
    ['passphrase', 'owner'],
  ] as const)('keyring_chain: a device that a %s admits says %s', async (who, admittedBy) => {
    const forge = withPassphrase(standard.forge.fork())
    const joining = await generateIdentity(forge.random)
    const enrol = (next: Directory) => withMember(next, joining, grades[who], who)
    // An owner has no slot.
    const claims = admittedBy === 'owner' ? { admittedBy, slotId: undefined } : { admittedBy }
    const feign = (next: Directory) => withDevice(enrol(next), joining.deviceId, claims)
    forge.keyring(feign, { fault: by(who) })
    expect(await verdicts(forge)).toEqual(refused('keyring_chain'))
  })

  test.each<[code: string, name: string, act: (forge: Forge) => void, reference?: string]>([
    ['record_role', 'sets the quota', (forge) => rotate(forge, withQuota, forge.epoch)],
    ['record_role', 'names a device', (forge) => rotate(forge, renameAll, forge.epoch)],
    ['record_role', 'changes a memory', (forge) => acts.change(forge, by('recovery'))],
    ['record_role', 'redacts', (forge) => acts.redact(forge, by('recovery'))],
    ['record_role', 'changes the settings', (forge) => acts.settings(forge, by('recovery'))],
    ['record_role', 'removes a device', (forge) => rotate(forge, withoutWriter)],
    ['record_role', 'begins an epoch', (forge) => rotate(forge, (next) => next)],
    [
      'record_role',
      'removes the other recovery entry',
      (forge) =>
        rotate(forge, (next) => ({ ...next, recovery: next.recovery.slice(0, 1) }), forge.epoch),
    ],
    ['record_role', 'promotes a writer', (forge) => rotate(forge, promoteAll, forge.epoch)],
    [
      'record_sequence',
      'uses a sequence number',
      (forge) => acts.keyring(forge, { ...by('recovery'), record: unchained({ sequence: 1 }) }),
    ],
    [
      'record_chain',
      'has a previous record',
      (forge) => {
        const record = unchained({ previous: new Uint8Array(32).fill(1) })
        const enrol = (next: Directory) => withMember(next, newcomer, 'owner', 'recovery')
        forge.keyring(enrol, { fault: { ...by('recovery'), record } })
      },
    ],
  ])('%s: %s', async (code, _, act, reference) => {
    const forge = withPassphrase(standard.forge.fork())
    act(forge)
    expect(await verdicts(forge)).toEqual(refused(code, reference))
  })

  test('record_device: ends with its slot', async () => {
    const forge = standard.forge.fork()
    forge.keyring((next) => ({ ...next, recovery: [] }), { epoch: forge.newEpoch() })
    acts.keyring(forge, by('recovery'))
    expect(await verdicts(forge)).toEqual(refused('record_device'))
  })

  test('device_signature_invalid: is named by another author', async () => {
    const forge = standard.forge.fork()
    const { author } = by('recovery')
    const signing = signingKeyPair(new Uint8Array(32).fill(3))
    acts.keyring(forge, { ...by('recovery'), author: { ...author, signing } })
    expect(await verdicts(forge)).toEqual(refused('device_signature_invalid'))
  })

  function by(grade: RecoveryEntry['type']): Fault & { author: ForgedAuthor } {
    const slotId = (grade === 'recovery' ? 'aa' : 'bb').repeat(16)
    return asRecovery({ slotId }, secrets[grade])
  }

  function rotate(
    forge: Forge,
    change: (next: Directory) => Directory,
    epoch: EpochKeys = forge.newEpoch(),
  ): void {
    forge.keyring(change, { epoch, fault: by('recovery') })
  }

  /** A passphrase entry with a key pair that is known without Argon2id. */
  function withPassphrase(forge: Forge): Forge {
    const { signing, kem } = secrets.passphrase
    const keys = { signingKey: signing.publicKey, kemKey: kem.publicKey }
    const argon2 = { salt: new Uint8Array(16), passes: 2, memoryKiB: 65_536 }
    const entry = { slotId: 'bb'.repeat(16), type: 'passphrase', ...keys, argon2 } as const
    forge.keyring((next) => ({ ...next, recovery: [...next.recovery, entry] }))
    return forge
  }
})

function authorNamed(who: 'writer' | 'reader' | 'stranger'): ForgedAuthor {
  if (who !== 'stranger') return standard[who]
  const signing = signingKeyPair(new Uint8Array(32).fill(9))
  return { deviceId: deviceIdOf(signing.publicKey), signing }
}

function unchained(change: Partial<RecordBody>) {
  return (record: RecordBody): RecordBody => {
    return { ...record, sequence: 0, previous: zeroHash, ...change }
  }
}

function withoutWriter(next: Directory): Directory {
  return { ...next, devices: next.devices.filter(({ role }) => role !== 'writer') }
}

function withQuota(next: Directory): Directory {
  return { ...next, quota: 9 }
}

function renameAll(next: Directory): Directory {
  return { ...next, devices: next.devices.map((device) => ({ ...device, name: 'mine' })) }
}

function promoteAll(next: Directory): Directory {
  return { ...next, devices: next.devices.map((device) => ({ ...device, role: 'owner' })) }
}
