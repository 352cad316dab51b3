// The verbs about the keys of this machine and of the store; a part of ../table.ts.

import type { Command } from '../call/command.ts'
import { authorOptions, onlyOption, yesOption } from '../call/options.ts'

/** A keyring record has no field for a reason. */
const memberOptions = [onlyOption, ...authorOptions.filter(({ name }) => name !== 'reason')]

export const keyCommands: readonly Command[] = [
  {
    name: 'key show',
    summary: 'Show the public keys of this machine',
    positionals: [],
    options: [
      { name: 'allowed-signers', summary: "Print lines for git's gpg.ssh.allowedSignersFile" },
    ],
    run: async (...call) => (await import('../commands/key.ts')).keyShow(...call),
  },
  {
    name: 'key passwd',
    destroys: true,
    summary: 'Set, change or remove the passphrase',
    positionals: [],
    options: [
      { name: 'remove', summary: 'Remove the passphrase, if there is one' },
      yesOption,
      ...memberOptions,
    ],
    notes: [
      'Takes it from the file that GITLOCKET_NEW_PASSPHRASE_FILE names; else asks. The store ' +
        'gets new keys, so the old passphrase opens nothing that is written from then on; it ' +
        'still opens earlier content, and the answer tells how much that is. --remove ' +
        'asks on a terminal, and needs --yes elsewhere.',
    ],
    run: async (...call) => (await import('../commands/key.ts')).keyPasswd(...call),
  },
  {
    name: 'key recovery',
    destroys: true,
    summary: 'Create a new recovery key, after which the old ones open nothing new',
    positionals: [],
    options: [
      { name: 'keep-old', summary: 'Keep the recovery keys that exist, and all other keys' },
      yesOption,
      ...memberOptions,
    ],
    notes: [
      'The key is printed once. The store gets new keys, so the old recovery keys open ' +
        'nothing that is written from then on; they still open earlier content. Asks on ' +
        'a terminal, and needs --yes elsewhere, but for --keep-old.',
    ],
    run: async (...call) => (await import('../commands/key.ts')).keyRecovery(...call),
  },
  {
    name: 'key rotate',
    summary: 'Give the store new keys, after one has leaked',
    positionals: [],
    options: [
      { name: 'reseal', summary: 'Seal live memories and settings again under the new keys' },
      ...memberOptions,
    ],
    notes: [
      'No one loses access: remove a device or replace a secret to take it. With --reseal each ' +
        'live memory gets a new version with the same content, which the leaked keys do not ' +
        'open, and which merges, expire, redact --before and undo do not take for a change.',
    ],
    run: async (...call) => (await import('../commands/key.ts')).keyRotate(...call),
  },
  {
    name: 'key quota',
    summary: 'Set how many active devices the passphrase may have admitted',
    positionals: [{ name: 'devices' }],
    options: memberOptions,
    notes: [
      'Devices that an owner or a recovery key has added do not count. A new store allows 32; 0 ' +
        'ends joining by passphrase.',
    ],
    run: async (...call) => (await import('../commands/key.ts')).keyQuota(...call),
  },
  {
    name: 'key operator',
    summary: 'Print a new operator secret, which can recover many stores',
    positionals: [],
    options: [],
    notes: [
      'For those who run many stores: each store has a recovery key that follows from it and the ' +
        "store's id, so that nothing in the stores shows that they have one operator. A key that " +
        'leaked or was replaced does not come back: `key recovery` takes the next of 16.',
    ],
    run: async () => (await import('../commands/key.ts')).keyOperator(),
  },
]
