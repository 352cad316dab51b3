// `init`: creates the identity of this machine and a store. Running it again changes nothing, and
// finishes what a crash interrupted: the identity is durable before the store begins.

import { hasCode, StoreError } from '../../errors.ts'
import { formatId } from '../../format/id.ts'
import { findIdentity, withIdentityFile } from '../../home/identity-file.ts'
import type { Identity } from '../../keys/identity.ts'
import { listRemotes } from '../../store/clone-remotes.ts'
import { createStore } from '../../store/create.ts'
import { openStore } from '../../store/open.ts'
import type { StoreStatus } from '../../store/store-report.ts'
import {
  CommandError,
  type Answer,
  type Command,
  type Context,
  type Input,
  usageError,
} from '../call/command.ts'
import type { Environment } from '../call/environment.ts'
import { authorOf, deviceNameOf, deviceNameOption, noGuardOption } from '../call/options.ts'
import { writeNewFile } from '../machine/files.ts'
import { isRealDirectory } from '../machine/memory-files.ts'
import { findFirstPassphrase, findOperatorSecret } from '../machine/secrets.ts'
import { closing } from '../store/open-store.ts'
import {
  findVanished,
  hasStoreBegun,
  isNothingHere,
  noteStoreHere,
  vanishedError,
} from '../store/vanished.ts'
import { nameLines } from '../text/device-text.ts'

export const commands: readonly Command[] = [
  {
    name: 'init',
    summary: 'Create a store and the identity of this machine',
    options: {
      '--no-passphrase': 'Set none; only the recovery key lets machines join',
      ...deviceNameOption,
      '--new': 'Create one although the store that was here no longer exists',
      '--save-recovery-key <file>': 'Write the recovery key to a new file, and do not print it',
      ...noGuardOption,
      '--actor <id>': 'The user to record as the founder; else the login name',
    },
    notes: [
      'Asks for a passphrase on a terminal, or takes it from the file that ' +
        'GITLOCKET_PASSPHRASE_FILE names; otherwise none is set. Prints the recovery key, once, ' +
        'or writes it to a file that only you can read: move that away from this machine. ' +
        'If a store exists already, nothing is changed. If one existed and was removed, this ' +
        'names it and tells you how to get it back.',
      'To get a store that a remote holds, use `join`.',
    ],
    run: init,
  },
]

async function init(context: Context, input: Input): Promise<Answer> {
  const { environment } = context
  const vanished = await findVanished(environment)
  if (vanished !== undefined && !input.flag('new')) {
    const anew = '. `gitlocket init --new` makes another, empty store in its place'
    throw vanishedError(environment, vanished, anew)
  }
  const present = isNothingHere(environment) ? undefined : await findExisting(context)
  return present ?? create(context, input)
}

async function create(context: Context, input: Input): Promise<Answer> {
  const { environment } = context
  const { storeDirectory: directory, stateDirectory } = environment
  const { actor } = authorOf(context, input)
  const deviceName = deviceNameOf(context, input)
  const operatorSecret = findOperatorSecret(context)
  const keyFile = keyFileOf(input, operatorSecret)
  const passphrase = input.flag('no-passphrase') ? undefined : await findFirstPassphrase(context)
  const make = async (identity: Identity): Promise<Answer> => {
    const { store, recoveryKey } = await createStore({
      directory,
      stateDirectory,
      identity,
      actor,
      deviceName,
      refuseSecrets: !input.flag('no-guard'),
      ...(passphrase === undefined ? {} : { passphrase }),
      ...(operatorSecret === undefined ? {} : { operatorSecret }),
    }).catch((error: unknown) => {
      throw hasCode(error, 'store_exists') ? occupied(directory) : error
    })
    noteStoreHere(environment, store.id)
    if (keyFile !== undefined) saveRecoveryKey(keyFile, recoveryKey)
    const { address } = await closing(store, (made) => made.summary())
    return createdAnswer(environment, {
      storeId: store.id,
      address,
      deviceId: formatId('device', identity.deviceId),
      deviceName,
      hasPassphrase: passphrase !== undefined,
      recoveryKey: operatorSecret === undefined ? recoveryKey : undefined,
      keyFile,
    })
  }
  return withIdentityFile(environment, make, () => hasStoreBegun(environment))
}

/** The file for the recovery key. Throws, before there is a store, if something is there. */
function keyFileOf(input: Input, operatorSecret: string | undefined): string | undefined {
  const file = input.text('save-recovery-key')
  if (file === undefined) return undefined
  if (operatorSecret !== undefined) {
    throw usageError('--save-recovery-key has no key to save: the operator secret is it', 'init')
  }
  if (isRealDirectory(file) === undefined) return file
  throw new CommandError('path_conflict', `${file} exists already`, 'Name a file that is new')
}

/** An error prints the key, which would be lost otherwise: the store exists. */
function saveRecoveryKey(file: string, recoveryKey: string): void {
  try {
    writeNewFile('the recovery key', file, `${recoveryKey}\n`)
  } catch (error) {
    if (!(error instanceof StoreError)) throw error
    const hint = 'The store exists, and its recovery key was printed: keep it elsewhere'
    throw new CommandError(error.code, error.message, hint, { output: `${recoveryKey}\n` })
  }
}

interface Created {
  readonly storeId: string
  readonly address: string
  readonly deviceId: string
  readonly deviceName: string
  readonly hasPassphrase: boolean
  /** Undefined if it follows from an operator secret. */
  readonly recoveryKey: string | undefined
  /** The file that has it. */
  readonly keyFile: string | undefined
}

function createdAnswer(
  { storeDirectory, identityFile }: Environment,
  { storeId, address, deviceId, deviceName, hasPassphrase, recoveryKey, keyFile }: Created,
): Answer {
  return {
    text: [
      `Created the store ${storeId}`,
      '',
      `  Store        ${storeDirectory}`,
      `  Identity     ${identityFile} (keep it secret)`,
      `  Fingerprint  ${deviceId}`,
      ...nameLines(deviceName),
      `  Address      <remote>#${address}`,
      `  Passphrase   ${hasPassphrase ? 'set' : 'none; `gitlocket key passwd` sets one'}`,
      '',
      ...recoveryLines(recoveryKey, keyFile),
      '',
      'Next: gitlocket create notes.md --text "Hello"',
      '',
    ].join('\n'),
    json: {
      created: true,
      memory_store_id: storeId,
      address,
      device_id: deviceId,
      device_name: deviceName,
      store: storeDirectory,
      identity_file: identityFile,
      passphrase: hasPassphrase,
      recovery_key: recoveryKey ?? null,
    },
  }
}

function recoveryLines(
  recoveryKey: string | undefined,
  keyFile: string | undefined,
): readonly string[] {
  if (recoveryKey === undefined) {
    return ['The operator secret recovers it, as long as its recovery key is not replaced.']
  }
  const use = 'The recovery key opens the store if this machine and the passphrase are lost.'
  if (keyFile !== undefined) {
    return [use, `It is in ${keyFile}: move that away from this machine.`]
  }
  return [
    use,
    'It is shown this once: write it down and keep it away from this machine.',
    '',
    `  ${recoveryKey}`,
  ]
}

/** The answer for an existing store; undefined for what an interrupted `init` left. */
async function findExisting(context: Context): Promise<Answer | undefined> {
  const { environment } = context
  const { storeDirectory: directory, stateDirectory } = environment
  const identity = findIdentity(environment)
  if (identity === undefined) throw await withoutIdentity(context)
  try {
    const store = await openStore({ directory, stateDirectory, identity })
    return await closing(store, async (found) => alreadyThere(context, await found.status()))
  } catch (error) {
    // An interrupted `init` left this; `createStore` refuses anything else.
    if (hasCode(error, 'not_a_store')) return undefined
    if (!hasCode(error, 'wrong_key')) throw error
    const hint = '`gitlocket recover` enrols this machine in it; --store names another directory'
    const sentence = 'A store exists already, and this identity is not one of its devices'
    throw new CommandError('wrong_key', sentence, hint)
  }
}

async function withoutIdentity({ environment }: Context): Promise<CommandError> {
  const { storeDirectory: directory, identityFile } = environment
  try {
    // Shows without a key whether it is a store.
    await listRemotes(directory)
  } catch (error) {
    if (hasCode(error, ...foreign)) return occupied(directory)
  }
  return new CommandError(
    'store_exists',
    `The directory ${directory} is not empty, and there is no identity file at ${identityFile}`,
    '`gitlocket recover` enrols this machine in the store that is there; --store names another',
  )
}

const foreign = ['not_a_store', 'unsupported_repository', 'incomplete_clone'] as const

function occupied(directory: string): CommandError {
  return new CommandError(
    'store_exists',
    `The directory ${directory} is not empty and not a store, or has just become one; ` +
      'nothing was changed',
    '--store names an absent or empty directory; `gitlocket join` clones a store from a remote',
  )
}

function alreadyThere(context: Context, { storeId, deviceId, deviceName }: StoreStatus): Answer {
  const { storeDirectory, identityFile } = context.environment
  return {
    text: [
      `The store ${storeId} exists already; nothing was changed`,
      '',
      `  Store        ${storeDirectory}`,
      `  Identity     ${identityFile}`,
      `  Fingerprint  ${deviceId}`,
      ...nameLines(deviceName),
      '',
      'Next: gitlocket status',
      '',
    ].join('\n'),
    json: {
      created: false,
      memory_store_id: storeId,
      device_id: deviceId,
      device_name: deviceName ?? null,
      store: storeDirectory,
      identity_file: identityFile,
    },
  }
}
