// T20: an auditor, a device with A and H(C) of every epoch, learns no content, path, reason or
// setting, and accepts no forged trail. FORMAT §4, §7.

import { beforeAll, describe, expect, test } from 'vitest'
import { toHex } from '../../src/bytes.ts'
import { systemRandom } from '../../src/crypto/random.ts'
import { formatDeviceCard } from '../../src/format/device-card.ts'
import { byOwner, type Directory } from '../../src/format/directory.ts'
import { zeroId } from '../../src/format/record.ts'
import { auditKeys, type EpochKeys } from '../../src/keys/epoch.ts'
import { generateIdentity, type Identity } from '../../src/keys/identity.ts'
import {
  addDevice,
  createKeyring,
  openAuditKeyring,
  openKeyring,
  startEpoch,
} from '../../src/keys/keyring.ts'
import type { Unlock } from '../../src/keys/unlock.ts'
import { auditStore } from '../../src/store/audit/audit.ts'
import { verifyHistory } from '../../src/store/verify/verify.ts'
import { type Fault, fields, plainSettings } from '../support/forge-fault.ts'
import { idOf } from '../support/forge-seal.ts'
import type { Forge } from '../support/forge.ts'
import {
  accepted,
  memory,
  nextRow,
  type Standard,
  standardHistory,
  verdicts,
  version,
} from '../support/standard-forge.ts'
import { author, newStore, reopen } from '../support/stores.ts'
import { readOnlyObjects, type Verdict, verdictOf } from '../support/verdict.ts'

let standard: Standard
beforeAll(async () => {
  standard = await standardHistory()
})

/** The history as a holder of A and H(C) of its epochs sees it. */
function auditorVerdict({ objects, storeId, epochs, head }: Forge): Promise<Verdict> {
  const audited = Array.from(epochs.values(), ({ kid, seed, auditKey, contentKeyHash }) => {
    return [kid, auditKeys(seed, auditKey, contentKeyHash)] as const
  })
  const source = { objects: readOnlyObjects(objects, head), storeId, epochs: new Map(audited) }
  return verdictOf(() => verifyHistory(source, head))
}

describe('T20: an auditor verifies', () => {
  test('a history with deletions, redactions, new members and epochs', async () => {
    const forge = standard.forge.fork()
    forge.change([{ memoryId: memory.b, operation: 'deleted', path: '/dir/b.md' }])
    forge.keyring((next) => next, { epoch: forge.newEpoch() })
    await forge.join('auditor')
    forge.change([nextRow])
    forge.redact([
      [memory.a, version.a1],
      [memory.b, version.b1],
    ])
    forge.rewrite(new Set([version.a1, version.b1]))
    expect(await auditorVerdict(forge)).toBe('accepted')
  })

  test('branches that were merged, with and without anything to decide', async () => {
    const forge = standard.forge.fork()
    const theirs = forge.fork()
    forge.change([nextRow])
    theirs.change([{ ...nextRow, versionId: version.b2 }], { author: standard.writer })
    forge.merge(theirs, [{ ...nextRow, versionId: idOf('merged') }])
    const others = forge.fork()
    forge.change([{ memoryId: memory.b, operation: 'deleted', path: '/dir/b.md' }])
    others.change([{ ...nextRow, versionId: idOf('other side') }], { author: standard.writer })
    forge.merge(others)
    expect(await verdicts(forge)).toEqual(accepted)
    expect(await auditorVerdict(forge)).toBe('accepted')
  })

  test.each<[code: Verdict, what: string, act: (forge: Forge) => void]>([
    ['device_signature_invalid', 'a signature of another', (forge) => change(forge, spoiled)],
    ['group_signature_invalid', 'a stranger to the epoch', (forge) => change(forge, ungrouped)],
    ['record_role', 'a reader that writes', (forge) => change(forge, { author: standard.reader })],
    ['record_sequence', 'a number that is used twice', (forge) => change(forge, numbered(1))],
    ['record_height', 'a wrong height', (forge) => change(forge, fields({ height: 99 }))],
    ['row_base_mismatch', 'an older version as base', (forge) => changeFrom(forge, version.a1)],
    ['tree_mismatch', 'a memory that is left out', (forge) => change(forge, hidden(forge))],
    ['tree_mismatch', 'a memory that is put back', (forge) => change(forge, replaced(forge))],
    ['keyring_mismatch', 'another keyring than is named', swapKeyring],
    ['keyring_chain', 'a member who is gone', dropMember],
    ['settings_mismatch', 'other settings than are named', swapSettings],
    ['redaction_undone', 'a redacted memory that is back', undoRedaction],
  ])('and refuses: %s, %s', async (code, _, act) => {
    const forge = standard.forge.fork()
    act(forge)
    expect(await auditorVerdict(forge)).toBe(code)
  })

  const spoiled: Fault = {
    signature: (bytes) => bytes.map((byte, at) => (at === 9 ? byte ^ 1 : byte)),
  }
  const ungrouped: Fault = {
    get group() {
      return standard.reader.signing
    },
  }
  /** Its blob is the previous one again, without a row for that. */
  function replaced(forge: Forge): Fault {
    const [a, b] = [forge.idOf(memory.a), forge.idOf(memory.b)]
    return { memories: (blobs) => new Map([...blobs, [b, blobs.get(a) ?? '']]) }
  }

  function change(forge: Forge, fault: Fault): void {
    forge.change([nextRow], fault)
  }

  function changeFrom(forge: Forge, base: string): void {
    forge.change([{ ...nextRow, base }])
  }

  function numbered(sequence: number): Fault {
    return fields({ sequence })
  }

  function hidden(forge: Forge): Fault {
    const memoryId = forge.idOf(memory.b)
    return { memories: (blobs) => new Map([...blobs].filter(([id]) => id !== memoryId)) }
  }

  function spoilLast(bytes: Uint8Array): Uint8Array {
    return bytes.map((byte, at) => (at === bytes.length - 1 ? byte ^ 1 : byte))
  }

  function swapKeyring(forge: Forge): void {
    forge.keyring((next) => next, { epoch: forge.newEpoch(), fault: { swappedFile: spoilLast } })
  }

  function dropMember(forge: Forge): void {
    const vanish = (next: Directory): Directory => {
      const devices = next.devices.filter(({ role }) => role === 'owner')
      return { ...next, devices, removed: [...next.removed] }
    }
    forge.keyring(vanish, { epoch: forge.newEpoch() })
  }

  function swapSettings(forge: Forge): void {
    forge.settings(plainSettings, { swappedFile: spoilLast })
  }

  function undoRedaction(forge: Forge): void {
    forge.redact([[memory.a, version.a1]])
    forge.rewrite(new Set([version.a1]), { blob: version.a1 })
  }
})

describe('T20: an auditor does not come by C', () => {
  test('of any epoch: the keyring has no key for it', async () => {
    const [founder, auditor] = [await generateIdentity(), await generateIdentity()]
    const recoveryKey = systemRandom(32)
    const made = { passphrase: undefined, recoveryKeyOf: () => recoveryKey, random: systemRandom }
    const first = await createKeyring({ identity: founder, name: '', ...made })
    const opened = await openKeyring(first.bytes, zeroId, by(founder))
    const asAuditor = { role: 'auditor', ...byOwner, name: '' } as const
    const added = await addDevice(opened, auditor, asAuditor)
    const again = await openKeyring(added.bytes, zeroId, by(founder))
    const { bytes, epoch } = await startEpoch(again, {}, systemRandom)
    const audited = await openAuditKeyring(bytes, auditor)
    const held = secretsIn([...audited.epochs.values()])
    for (const one of [first.epoch, epoch]) {
      expect(held).toContain(toHex(one.auditKey))
      for (const secret of contentSecretsOf(one)) expect(held).not.toContain(secret)
    }
    await expect(openKeyring(bytes, zeroId, by(auditor))).rejects.toMatchObject({
      code: 'permission_denied',
    })
  })

  test('and lists a trail without a path, a text, a reason or a setting, of any role', async () => {
    const canary = 'CANARY'
    const { store, place } = await newStore({ name: `${canary} store` })
    const identity = await generateIdentity()
    await store.as(author).devices.add(formatDeviceCard(identity), 'auditor')
    const path = `/${canary}.md`
    const noted = { ...author, reason: `${canary} reason` }
    await store.as(noted).apply([{ type: 'create', path, content: `${canary} text` }])
    await store.as(noted).apply([{ type: 'delete', path }])
    await store.close()
    const stateDirectory = `${place.stateDirectory}-2`
    for (const who of [identity, place.identity]) {
      const audit = await auditStore({ ...place, stateDirectory, identity: who })
      expect(audit.entries.map(({ kind }) => kind)).toEqual([
        'genesis',
        'keyring',
        'change',
        'change',
      ])
      expect(JSON.stringify(audit)).not.toContain(canary)
    }
    const again = await reopen(place)
    await again.maintenance.verify()
    await again.close()
  })
})

function by(identity: Identity): Unlock {
  return { type: 'identity', identity }
}

/** Every byte string in a value, in hex. */
function secretsIn(value: unknown): readonly string[] {
  if (value instanceof Uint8Array) return [toHex(value)]
  if (typeof value !== 'object' || value === null) return []
  return Object.values(value).flatMap(secretsIn)
}

function contentSecretsOf({ contentKey, memory: memories, detail, settings, archiveC }: EpochKeys) {
  return secretsIn([contentKey, memories.key, detail.key, settings.key, archiveC.key])
}
