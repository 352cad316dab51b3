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
        line: 'if (same && active <= slots.length - shown.length) return',
        becomes: 'if (same) return',
        test: 'unit/keys/keyring-damage.test.ts',
        name: 'more active devices than slots is keyring_mismatch',
      },
      {
        line: 'if (same && active <= slots.length - shown.length) return',
        becomes: 'if (same && active < slots.length - shown.length) return',
        test: 'unit/keys/keyring-damage.test.ts',
        name: 'as many active devices as slots, and removed ones, open',
      },
      {
        line: 'if (directory.number !== file.number) {',
        becomes: 'if (directory.number > file.number) {',
        test: 'unit/keys/keyring-damage.test.ts',
        name: 'a keyring that is wrong inside: another number outside is keyring_mismatch',
      },
      {
        line: 'if (file.storeId === storeId) return file',
        becomes: `if (file.storeId !== '') return file`,
        test: 'unit/keys/keyring.test.ts',
        name: 'a new keyring is made with other keys each time',
      },
      {
        line: '...before.recovery.filter(({ type }) => !replaced[type]),',
        becomes: '...before.recovery,',
        test: 'unit/store/devices.test.ts',
        name: 'a new recovery key replaces the old one in a new epoch',
      },
      {
        line: 'const same = shown.toSorted().join() === listed.toSorted().join()',
        becomes: 'const same = shown.length === listed.length',
        test: 'attack/keyring.test.ts',
        name: 'directory is refused keyring_mismatch: a slot of another recovery entry',
      },
      {
        line: 'const same = shown.toSorted().join() === listed.toSorted().join()',
        becomes: 'const same = shown.length <= listed.length',
        test: 'attack/keyring.test.ts',
        name: 'directory is refused keyring_mismatch: no slot for the recovery entry',
      },
    ],
  },
  {
    file: 'format/directory.ts',
    mutants: [
      {
        line: 'if (before.removed !== 0 || after.removed !== number) {',
        becomes: 'if (before.removed !== 0) {',
        test: 'unit/format/directory.test.ts',
        name: 'with a removal in the past is keyring_chain',
      },
      {
        line: 'if (storeIdOf(founder.signingKey, founderRandom) !== storeId) {',
        becomes: `if (storeId === '') {`,
        test: 'unit/format/directory.test.ts',
        name: 'the first directory with another founder is store_id_mismatch',
      },
      {
        line: `if (founder.role !== 'owner') throw broken('the founder is not an owner')`,
        becomes: '',
        test: 'unit/format/directory.test.ts',
        name: 'the first directory with a founder who is no owner is keyring_chain',
      },
      {
        line: '!== previous.number + 1)',
        becomes: '<= previous.number)',
        test: 'unit/format/directory.test.ts',
        name: 'a later directory with a number skipped is keyring_chain',
      },
      {
        line: 'if (!isNamed || another !== undefined) {',
        becomes: 'if (!isNamed) {',
        test: 'unit/format/directory.test.ts',
        name: 'a later directory with two predecessors is keyring_chain',
      },
      {
        line: `if (after === undefined) throw broken('a device is missing')`,
        becomes: 'if (after === undefined) continue',
        test: 'unit/format/directory.test.ts',
        name: 'a later directory with a device that vanished is keyring_chain',
      },
      {
        line: 'if (device.added !== next.number || device.removed !== 0) {',
        becomes: 'if (device.removed !== 0) {',
        test: 'unit/format/directory.test.ts',
        name: 'a later directory with a new device from the past is keyring_chain',
      },
      {
        line: 'if (device.added !== next.number || device.removed !== 0) {',
        becomes: 'if (device.added !== next.number) {',
        test: 'unit/format/directory.test.ts',
        name: 'a later directory with a new device that is removed is keyring_chain',
      },
      {
        line: `  checkSlotSteps(previous, next)
`,
        becomes: '',
        test: 'unit/format/directory.test.ts',
        name: 'a later directory with a slot with another key is keyring_chain',
      },
      {
        line: 'undefined || !equalBytes(recoveryKeys(old), recoveryKeys(entry)))',
        becomes: 'undefined)',
        test: 'unit/format/directory.test.ts',
        name: 'a later directory with a slot with another key is keyring_chain',
      },
      {
        line: 'if (gone.join() !== next.gone.join())',
        becomes: 'if (false)',
        test: 'unit/format/directory.test.ts',
        name: 'a later directory with a slot that went unlisted is keyring_chain',
      },
      {
        line: '(passphrases.length > 1 &&',
        becomes: '(passphrases.length > 4 &&',
        test: 'unit/format/directory.test.ts',
        name: 'a later directory with a new passphrase beside another is keyring_chain',
      },
      {
        line: 'if (isUnchanged(previous, { ...next, recovery })) return',
        becomes: 'if (recovery.length > 0) return',
        test: 'unit/format/directory.test.ts',
        name: 'a later directory with a removed device takes a new epoch',
      },
      {
        line: `entry.type === 'recovery' ? roles : roles.slice(1)`,
        becomes: 'roles',
        test: 'unit/format/directory.test.ts',
        name: 'a recovery identity cannot add an owner by passphrase',
      },
      {
        line: 'if (within && isUnchanged(previous, next)) return',
        becomes: 'if (within) return',
        test: 'unit/format/directory.test.ts',
        name: 'a recovery identity cannot remove a device',
      },
      {
        line: '(!sameKeys || before.added !== after.added)',
        becomes: '(!sameKeys)',
        test: 'unit/format/directory.test.ts',
        name: 'a later directory with a device that came at another time is keyring_chain',
      },
      {
        line: 'if (before.removed !== 0 || after.removed !== number) {',
        becomes: 'if (after.removed !== number) {',
        test: 'unit/format/directory.test.ts',
        name: 'a later directory with a removal moved is keyring_chain',
      },
      {
        line: 'if (deviceId !== deviceIdOf(signingKey))',
        becomes: 'if (false)',
        test: 'unit/format/directory.test.ts',
        name: 'the layout with a device id that is not its key’s is keyring_malformed',
      },
      {
        line: 'number || (removed !== 0 && removed <= added))',
        becomes: 'number)',
        test: 'unit/format/directory.test.ts',
        name: 'the layout with a removal when it came is keyring_malformed',
      },
      {
        line: 'if (before !== undefined && compareBytes(before, id) >= 0) {',
        becomes: 'if (before !== undefined && compareBytes(before, id) > 0) {',
        test: 'unit/format/directory.test.ts',
        name: 'the layout with a device twice is keyring_malformed',
      },
      {
        line: 'if (recovery.some((entry) => gone.includes(entry.slotId))) {',
        becomes: `if (gone.includes('')) {`,
        test: 'unit/format/directory.test.ts',
        name: 'the layout with a slot that is there and gone is keyring_malformed',
      },
    ],
  },
  {
    file: 'keys/membership.ts',
    mutants: [
      {
        line: 'removed: removed.includes(device.deviceId) ? number : device.removed,',
        becomes: 'removed: device.removed,',
        test: 'unit/keys/keyring.test.ts',
        name: 'a new epoch is closed to a removed device, which stays in the directory',
      },
      {
        line: 'if (existing !== undefined && existing.removed !== 0) {',
        becomes: 'if (existing === undefined && directory.number < 0) {',
        test: 'unit/keys/keyring.test.ts',
        name: 'a new epoch never takes a removed device back',
      },
      {
        line: `'owner' && device.removed === 0))`,
        becomes: `'owner'))`,
        test: 'unit/keys/keyring.test.ts',
        name: 'a new epoch cannot remove the last owner',
      },
      {
        line: 'if (findDevice(before, deviceId)?.removed === 0) continue',
        becomes: 'if (findDevice(before, deviceId) !== undefined) continue',
        test: 'unit/keys/keyring.test.ts',
        name: 'a new epoch cannot remove the same device again',
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
