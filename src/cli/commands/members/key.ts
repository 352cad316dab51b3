// `key show|passwd|recovery|rotate|quota|operator`: the public side of this device's key, the keys
// of the store, and the passphrase and recovery key that let another machine join. Shows no secret
// but a recovery key that it has just made.

import { toBase64 } from '../../../bytes.ts'
import { hasCode } from '../../../errors.ts'
import { formatId } from '../../../format/id.ts'
import { generateOperatorSecret } from '../../../keys/identity.ts'
import type { KeysChanged } from '../../../store/devices/device-changes.ts'
import type { StoreStatus } from '../../../store/store-report.ts'
import type { MembersChanged } from '../../../store/sync/sync.ts'
import type { Answer, Command, Context, Input } from '../../call/command.ts'
import { authorOf, memberOptions, yesOption } from '../../call/options.ts'
import { findOperatorSecret, getNewPassphrase } from '../../machine/secrets.ts'
import { auditHere, getIdentity, withStore, withStoreOrTrail } from '../../store/open-store.ts'
import { confirm, type Destruction } from '../../terminal/prompt.ts'
import { namesInTrail } from '../../text/device-text.ts'
import { onlineOptions, pendingPart, rekeyedJson, rekeyedLines } from '../../text/members.ts'
import { countText } from '../../text/words.ts'

export const commands: readonly Command[] = [
  {
    name: 'key show',
    summary: 'Show the public keys of this machine',
    options: {
      '--allowed-signers': "Print lines for git's gpg.ssh.allowedSignersFile",
    },
    run: keyShow,
  },
  {
    name: 'key passwd',
    destroys: true,
    summary: 'Set, change or remove the passphrase',
    options: {
      '--remove': 'Remove the passphrase, if there is one',
      ...yesOption,
      ...memberOptions,
    },
    notes: [
      'Takes it from the file that GITLOCKET_NEW_PASSPHRASE_FILE names; else asks. The store ' +
        'gets new keys, so the old passphrase opens nothing that is written from then on; it ' +
        'still opens earlier content, and the answer tells how much that is. --remove ' +
        'asks on a terminal, and needs --yes elsewhere.',
    ],
    run: keyPasswd,
  },
  {
    name: 'key recovery',
    destroys: true,
    summary: 'Create a new recovery key, after which the old ones open nothing new',
    options: {
      '--keep-old': 'Keep the recovery keys that exist, and all other keys',
      ...yesOption,
      ...memberOptions,
    },
    notes: [
      'The key is printed once. The store gets new keys, so the old recovery keys open ' +
        'nothing that is written from then on; they still open earlier content. Asks on ' +
        'a terminal, and needs --yes elsewhere, but for --keep-old.',
    ],
    run: keyRecovery,
  },
  {
    name: 'key rotate',
    summary: 'Give the store new keys, after one has leaked',
    options: {
      '--reseal': 'Seal live memories and settings again under the new keys',
      ...memberOptions,
    },
    notes: [
      'No one loses access: remove a device or replace a secret to take it. With --reseal each ' +
        'live memory gets a new version with the same content, which the leaked keys do not ' +
        'open, and which merges, expire, redact --before and undo do not take for a change.',
    ],
    run: keyRotate,
  },
  {
    name: 'key quota',
    summary: 'Set how many active devices the passphrase may have admitted',
    usage: '<devices>',
    options: memberOptions,
    notes: [
      'Devices that an owner or a recovery key has added do not count. A new store allows 32; 0 ' +
        'ends joining by passphrase.',
    ],
    run: keyQuota,
  },
  {
    name: 'key operator',
    summary: 'Print a new operator secret, which can recover many stores',
    notes: [
      'For those who run many stores: each store has a recovery key that follows from it and the ' +
        "store's id, so that nothing in the stores shows that they have one operator. A key that " +
        'leaked or was replaced does not come back: `key recovery` takes the next of 16.',
    ],
    run: keyOperator,
  },
]

async function keyShow(context: Context, input: Input): Promise<Answer> {
  if (input.flag('allowed-signers')) {
    return withStore(context, async (store) => {
      const lines = await store.maintenance.allowedSigners()
      return { text: lines, json: { allowed_signers: lines.trimEnd().split('\n') } }
    })
  }
  const identity = getIdentity(context.environment)
  const found = await findStatus(context)
  const device = formatId('device', identity.deviceId)
  const name = found?.deviceName ?? ''
  const signingKey = toBase64(identity.signing.publicKey)
  const encryptionKey = toBase64(identity.kem.publicKey)
  return {
    text: [
      `Fingerprint     ${device}`,
      ...(name === '' ? [] : [`Name            ${name}`]),
      `Identity        ${context.environment.identityFile}`,
      `Store           ${found?.storeId ?? 'none yet; `gitlocket init` creates one'}`,
      ...(found === undefined ? [] : [`Role            ${found.role ?? 'removed'}`]),
      `Signing key     Ed25519 ${signingKey}`,
      `Encryption key  X-Wing, ${identity.kem.publicKey.length} bytes; --json shows it`,
      '',
    ].join('\n'),
    json: {
      device_id: device,
      device_name: found?.deviceName ?? null,
      memory_store_id: found?.storeId ?? null,
      role: found?.role ?? null,
      signing_key: { type: 'ed25519', public_key: signingKey },
      encryption_key: { type: 'x-wing', public_key: encryptionKey },
    },
  }
}

async function keyPasswd(context: Context, input: Input): Promise<Answer> {
  const remove = input.flag('remove')
  const author = authorOf(context, input)
  return withStore(context, async (store) => {
    const { secrets } = await store.status()
    const isNone = remove && secrets.passphrases === 0
    if (remove && !isNone) await confirm(context, input, removal)
    const passphrase = remove ? null : await getNewPassphrase(context)
    // Not even called: no one has agreed to lose one that is set in the meantime.
    const changed = isNone
      ? nothingRemoved
      : await store.as(author).keys.changePassphrase(passphrase, onlineOptions(context, input))
    const { epochs } = await store.status()
    const done = remove ? removedText(changed) : 'The passphrase was set'
    return {
      text: [done, ...rekeyedLines(changed, 'The old passphrase'), ''].join('\n'),
      json: { passphrase: !remove, epochs, ...rekeyedJson(changed) },
      ...pendingPart(changed),
    }
  })
}

const nothingRemoved: KeysChanged & MembersChanged = {
  commit: undefined,
  versionIds: [],
  residualAccess: undefined,
  pending: undefined,
}

function removedText({ commit }: KeysChanged): string {
  return commit === undefined ? 'There is no passphrase' : 'The passphrase was removed'
}

const removal: Destruction = {
  would: 'The passphrase would be removed',
  question: 'Remove the passphrase? Machines then join with a recovery key, or by an owner.',
}

const replacement: Destruction = {
  would: 'The recovery keys that exist would be replaced',
  question: 'Replace the recovery keys that exist, also those on paper?',
  preview: '--keep-old makes one more',
}

async function keyRecovery(context: Context, input: Input): Promise<Answer> {
  const keepOld = input.flag('keep-old')
  const author = authorOf(context, input)
  const operatorSecret = findOperatorSecret(context)
  return withStore(context, async (store) => {
    if (!keepOld) await confirm(context, input, replacement)
    const made = await store.as(author).keys.makeRecoveryKey({
      keepOld,
      ...onlineOptions(context, input),
      ...(operatorSecret === undefined ? {} : { operatorSecret }),
    })
    const { epochs } = await store.status()
    const isOfOperator = operatorSecret !== undefined
    return {
      text: [
        ...(isOfOperator
          ? ['The operator secret recovers this store from now on']
          : [
              'Recovery key, shown this once. Write it down and keep it away from this machine:',
              '',
              `  ${made.recoveryKey}`,
            ]),
        ...(keepOld
          ? ['', 'The earlier recovery keys still open the store.']
          : rekeyedLines(made, 'The old recovery key')),
        '',
      ].join('\n'),
      json: {
        recovery_key: isOfOperator ? null : made.recoveryKey,
        epochs,
        ...rekeyedJson(made),
      },
      ...pendingPart(made),
    }
  })
}

async function keyRotate(context: Context, input: Input): Promise<Answer> {
  const reseal = input.flag('reseal')
  const author = authorOf(context, input)
  return withStore(context, async (store) => {
    const rotated = await store.as(author).keys.rotate({ reseal, ...onlineOptions(context, input) })
    const { epochs } = await store.status()
    const sealed = countText(rotated.resealed, 'live memory', 'live memories')
    return {
      text: [
        'New keys',
        '',
        ...(reseal
          ? [`${sealed} and the settings were sealed again under it.`]
          : ['Earlier content is still under the previous keys; --reseal moves it too.']),
        'An older copy of the store is still readable with the keys of its time.',
        '',
      ].join('\n'),
      json: { epochs, resealed: rotated.resealed, ...rekeyedJson(rotated) },
      ...pendingPart(rotated),
    }
  })
}

async function keyQuota(context: Context, input: Input): Promise<Answer> {
  const quota = Number(input.argument(0))
  const author = authorOf(context, input)
  return withStore(context, async (store) => {
    const online = onlineOptions(context, input)
    const changed = await store.as(author).keys.setPassphraseQuota(quota, online)
    const { commit } = changed
    const devices = countText(quota, 'active device', 'active devices')
    return {
      text: `There may be ${devices} that a passphrase has admitted\n`,
      json: { quota, commit: commit ?? null },
      ...pendingPart(changed),
    }
  })
}

/** Prints a new operator secret; it belongs to no store yet. A pipe gets what its file holds. */
async function keyOperator({ environment }: Context): Promise<Answer> {
  const secret = await generateOperatorSecret()
  const json = { operator_secret: secret }
  if (!environment.terminal.output) return { text: `${secret}\n`, json }
  return {
    text: [
      'Operator secret, shown this once. Anyone with it recovers every store that is made with it:',
      '',
      `  ${secret}`,
      '',
      'GITLOCKET_OPERATOR_SECRET_FILE names a file that holds it: `init` and `key recovery` then',
      'make it the recovery key of their store, `recover` and `join` use it.',
      '',
    ].join('\n'),
    json,
  }
}

type ShownStatus = Pick<StoreStatus, 'storeId' | 'deviceName' | 'role'>

/** Undefined if there is no store yet. Throws rather than report an unverified role. */
async function findStatus(context: Context): Promise<ShownStatus | undefined> {
  try {
    return await withStoreOrTrail<ShownStatus>(
      context,
      (store) => store.status(),
      async () => {
        const audit = await auditHere(context)
        return { ...audit, deviceName: namesInTrail(audit.entries).get(audit.deviceId) }
      },
    )
  } catch (error) {
    if (hasCode(error, 'not_a_store')) return undefined
    throw error
  }
}
