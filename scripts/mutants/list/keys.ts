// Who can read, and who may change that: keyrings, directories, archives and slots.

import type { MutatedFile } from '../mutant.ts'

export const keys: readonly MutatedFile[] = [
  {
    file: 'keys/archive.ts',
    mutants: [
      {
        line: 'kid || !equalBytes(epoch.contentKeyHash, hashC))',
        becomes: 'kid)',
        test: 'unit/keys/keyring-damage.test.ts',
        name: 'an archive of A with another hash of C is keyring_mismatch',
      },
      {
        line: 'if (entriesA.length !== entriesC.length) throw mismatch()',
        becomes: '',
        test: 'unit/keys/keyring-damage.test.ts',
        name: 'a keyring that is wrong inside: an archive of C alone is keyring_mismatch',
      },
      {
        line: 'if (content?.kid !== kid || hashC === undefined) throw mismatch()',
        becomes: 'if (content === undefined || hashC === undefined) throw mismatch()',
        test: 'unit/keys/keyring-damage.test.ts',
        name: 'is wrong inside: archives that name one epoch differently is keyring_mismatch',
      },
      {
        line: 'if (new Set(epochs.map(({ kid }) => kid)).size === epochs.length) return',
        becomes: 'return',
        test: 'unit/keys/keyring-damage.test.ts',
        name: 'that is wrong inside: the current epoch among the older ones is keyring_mismatch',
      },
      {
        line: 'if (epoch.kid !== kid || !equalBytes(',
        becomes: 'if (!equalBytes(',
        test: 'unit/keys/keyring-damage.test.ts',
        name: 'wrong inside: archives that hold another A under a kid is keyring_mismatch',
      },
    ],
  },
  {
    file: 'keys/keyring.ts',
    mutants: [
      {
        line: 'if (directory.number !== file.number) {',
        becomes: 'if (directory.number > file.number) {',
        test: 'unit/keys/keyring-damage.test.ts',
        name: 'a keyring that is wrong inside: another number outside is keyring_mismatch',
      },
      {
        line: 'if (file.seed !== epoch.seed) {',
        becomes: `if (file.seed === '') {`,
        test: 'unit/keys/keyring-damage.test.ts',
        name: 'another seed outside is wrong_key, and store_seed_mismatch with the keys',
      },
      {
        line: '...before.recovery.filter(({ type }) => !replaced[type]),',
        becomes: '...before.recovery,',
        test: 'unit/store/devices.test.ts',
        name: 'a new recovery key replaces the old one in a new epoch',
      },
    ],
  },
  {
    file: 'keys/keyring-bytes.ts',
    mutants: [
      {
        line: 'if (!areEqual(slots, file.slots)) throw wrongSlots()',
        becomes: '',
        test: 'unit/keys/keyring-damage.test.ts',
        name: 'more active devices than slots is keyring_slots, once everything is made again',
      },
      {
        line: 'if (!slots.some((slot) => isEqual(slot, expected))) throw wrongSlots()',
        becomes: '',
        test: 'attack/locked-out.test.ts',
        name: 'in which one slot is sealed to a key that nobody has: that of an auditor',
      },
    ],
  },
  {
    file: 'format/directory-succession.ts',
    mutants: [
      {
        line: 'if (seedOf(founder.signingKey, founderRandom) !== seed) {',
        becomes: `if (seed === '') {`,
        test: 'unit/format/first-directory.test.ts',
        name: 'the first directory with another founder is store_seed_mismatch',
      },
      {
        line: '!== previous.number + 1)',
        becomes: '<= previous.number)',
        test: 'unit/format/directory-succession.test.ts',
        name: 'a later directory with a number skipped is keyring_chain',
      },
      {
        line: 'if (after === undefined || !isSameRemoval(before, after)) {',
        becomes: 'if (after === undefined) {',
        test: 'unit/format/directory-succession.test.ts',
        name: 'a later directory with a removal moved is keyring_chain',
      },
      {
        line: `if (removal === undefined) throw broken('a device is missing')`,
        becomes: 'if (removal === undefined) continue',
        test: 'unit/format/directory-succession.test.ts',
        name: 'a later directory with a device that vanished is keyring_chain',
      },
      {
        line: 'if (!isSameRemoval(removal, { deviceId, removed: next.number, ...last })) {',
        becomes: 'if (removal.removed !== next.number) {',
        test: 'unit/format/directory-succession.test.ts',
        name: 'a later directory with a removal of another record is keyring_chain',
      },
      {
        line: `    throw broken('a new device has not signed its own keys')
`,
        becomes: '',
        test: 'unit/format/directory-succession.test.ts',
        name: 'a later directory with a new device whose keys it has not signed is keyring_chain',
      },
      {
        line: `  checkKeys(founder)
`,
        becomes: '',
        test: 'unit/format/first-directory.test.ts',
        name: 'the first directory with keys that nobody signed is keyring_chain',
      },
      {
        line: 'if (!sameKeys || !sameStart) throw',
        becomes: 'if (!sameKeys) throw',
        test: 'unit/format/directory-succession.test.ts',
        name: 'a later directory with a device that came at another time is keyring_chain',
      },
      {
        line: 'if (isEqual(previous, kept)) return',
        becomes: 'if (kept.number >= 0) return',
        test: 'unit/format/directory-succession.test.ts',
        name: 'a later directory with a removed device takes a new epoch',
      },
      {
        line: 'added.every((device) => device.role === grades[admittedBy])',
        becomes: `added.every(({ role }) => admittedBy === 'recovery' || role !== 'owner')`,
        test: 'unit/format/directory-succession.test.ts',
        name: 'a recovery identity cannot add a reader by passphrase',
      },
      {
        line: 'added.length === 0 || !isEqual(previous, only)',
        becomes: 'added.length === 0',
        test: 'unit/format/directory-succession.test.ts',
        name: 'a recovery identity cannot add a recovery identity',
      },
      {
        line: `if (admittedBy === 'passphrase' && countByPassphrase(next) > previous.quota) {`,
        becomes: `if (admittedBy === 'passphrase' && previous.quota < 0) {`,
        test: 'unit/format/directory-succession.test.ts',
        name: 'that is a passphrase admits no more: record_role of a quota of none',
      },
    ],
  },
  {
    file: 'format/device-card.ts',
    mutants: [
      {
        line: `    verifyDeviceKeys(keys)
`,
        becomes: '',
        test: 'unit/format/device-card.test.ts',
        name: 'invalid_input: the encryption key of another, whose key signature is none',
      },
    ],
  },
  {
    file: 'format/directory.ts',
    mutants: [
      {
        line: 'if (deviceId !== deviceIdOf(keys.signingKey)) {',
        becomes: 'if (false) {',
        test: 'unit/format/directory.test.ts',
        name: 'the layout with a device id that is not its key’s is keyring_malformed',
      },
      {
        line: 'if (removed === 0 || removed > number) {',
        becomes: 'if (removed > number) {',
        test: 'unit/format/directory.test.ts',
        name: 'the layout with a removal at number 0 is keyring_malformed',
      },
      {
        line: 'if (before !== undefined && compareBytes(before, id) >= 0) {',
        becomes: 'if (before !== undefined && compareBytes(before, id) > 0) {',
        test: 'unit/format/directory.test.ts',
        name: 'the layout with a device twice is keyring_malformed',
      },
      {
        line: 'if (devices.some(({ deviceId }) => removedIds.has(deviceId))) {',
        becomes: `if (removedIds.has('')) {`,
        test: 'unit/format/directory.test.ts',
        name: 'the layout with a device that is there and removed is keyring_malformed',
      },
    ],
  },
  {
    file: 'keys/membership.ts',
    mutants: [
      {
        line: '.filter(({ deviceId }) => !removed.includes(deviceId))',
        becomes: `.filter(({ deviceId }) => deviceId !== '')`,
        test: 'unit/keys/keyring.test.ts',
        name: 'a new epoch is closed to a removed device, whose entry is short from then on',
      },
      {
        line: 'if (findRemoved(directory, deviceId) !== undefined) {',
        becomes: 'if (directory.number < 0) {',
        test: 'unit/keys/keyring.test.ts',
        name: 'a new epoch never takes a removed device back',
      },
      {
        line: `if (!devices.some(({ role }) => role === 'owner')) {`,
        becomes: 'if (devices.length < 0) {',
        test: 'unit/keys/keyring.test.ts',
        name: 'a new epoch cannot remove the last owner',
      },
      {
        line: '[...removed, ...roles.keys(), ...names.keys()]',
        becomes: '[...roles.keys(), ...names.keys()]',
        test: 'unit/keys/keyring.test.ts',
        name: 'a new epoch cannot remove the same device again',
      },
    ],
  },
  {
    file: 'keys/recovery.ts',
    mutants: [
      {
        line: 'if (!known.has(toHex(signingKey))) return',
        becomes: 'if (signingKey.length > 0) return',
        test: 'unit/store/keys.test.ts',
        name: 'gives a store a key that it never had, and opens it by that',
      },
      {
        line: 'stretched, PASSPHRASE_LABEL, fromHex(seed))',
        becomes: 'stretched, PASSPHRASE_LABEL)',
        test: 'attack/look-alike.test.ts',
        name: 'is opened by none of the secrets, as the real one is: the passphrase',
      },
      {
        line: 'key, RECOVERY_KEY_LABEL, fromHex(seed))',
        becomes: 'key, RECOVERY_KEY_LABEL)',
        test: 'attack/look-alike.test.ts',
        name: 'is opened by none of the secrets, as the real one is: the recovery key',
      },
      {
        line: 'secret, OPERATOR_LABEL, fromHex(seed), Uint8Array.of(counter))',
        becomes: 'secret, OPERATOR_LABEL, Uint8Array.of(counter))',
        test: 'unit/keys/identity.test.ts',
        name: 'gives each store other recovery keys, as in the reference implementation',
      },
      {
        line: 'secret, OPERATOR_LABEL, fromHex(seed), Uint8Array.of(counter))',
        becomes: 'secret, OPERATOR_LABEL, fromHex(seed))',
        test: 'unit/keys/identity.test.ts',
        name: 'gives each store other recovery keys, as in the reference implementation',
      },
    ],
  },
  {
    file: 'crypto/aead.ts',
    mutants: [
      {
        line: 'if (!sodium.memcmp(okm.subarray(32), commitment)) throw wrongCommitment()',
        becomes: '',
        test: 'unit/crypto/aead.test.ts',
        name: 'every changed bit is refused, by the commitment or by the tag',
      },
      {
        line: 'keyedHash(64, key, SEAL_LABEL, header, salt, contextLength(context), context)',
        becomes: 'keyedHash(64, key, SEAL_LABEL, header, salt, context)',
        test: 'unit/crypto/aead.test.ts',
        name: 'an envelope is what the format says, re-made without libsodium',
      },
      {
        line: 'hedge, hash256(plaintext))',
        becomes: 'hedge)',
        test: 'unit/crypto/aead.test.ts',
        name: 'a salt is what the format says, re-made without libsodium',
      },
    ],
  },
]
