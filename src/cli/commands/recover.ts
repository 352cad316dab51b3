// `recover`: enrols this machine as a device of an existing store, with the passphrase or the
// recovery key (FORMAT §7, recovery identities). Running it again changes nothing.

import { hasCode } from '../../errors.ts'
import { findIdentity, withIdentityFile } from '../../home/identity-file.ts'
import type { Identity } from '../../keys/identity.ts'
import { listRemotes } from '../../store/clone-remotes.ts'
import type { MemoryStore } from '../../store/memory-store.ts'
import { openStore } from '../../store/open.ts'
import type { OpenOptions } from '../../store/session/open-options.ts'
import {
  type Answer,
  type Command,
  CommandError,
  type Context,
  type Input,
} from '../call/command.ts'
import { deviceNameOf, deviceNameOption } from '../call/options.ts'
import { type EntrySecret, withSecret } from '../machine/secrets.ts'
import { checkIsDirectory, closing } from '../store/open-store.ts'
import { findVanished, isNothingHere, noteStoreHere, vanishedError } from '../store/vanished.ts'
import { withProgress } from '../terminal/progress.ts'
import { nameLines, namesakeLines } from '../text/device-text.ts'

export const commands: readonly Command[] = [
  {
    name: 'recover',
    summary: 'Enrol this machine in an existing store',
    options: deviceNameOption,
    notes: [
      'Takes the recovery key from the file that GITLOCKET_RECOVERY_KEY_FILE names, or the ' +
        'passphrase from GITLOCKET_PASSPHRASE_FILE; else asks. A passphrase makes the machine a ' +
        'writer, the recovery key an owner.',
    ],
    run: recover,
  },
]

async function recover(context: Context, input: Input): Promise<Answer> {
  const deviceName = deviceNameOf(context, input)
  await checkIsHere(context)
  const known = findIdentity(context.environment)
  if (known !== undefined) {
    const store = await openIfEnrolled(context, known)
    if (store !== undefined) return closing(store, (enrolled) => describe(context, enrolled, false))
  }
  const store = await withSecret(context, (secret) =>
    withIdentityFile(context.environment, (identity) =>
      openWith(context, identity, { deviceName, ...secret }),
    ),
  )
  return closing(store, (enrolled) => describe(context, enrolled, true))
}

/** Throws `not_a_store`, before anyone is asked for a secret. */
async function checkIsHere({ environment }: Context): Promise<void> {
  const { storeDirectory } = environment
  const vanished = await findVanished(environment)
  if (vanished !== undefined) throw vanishedError(environment, vanished)
  if (isNothingHere(environment)) {
    const hint =
      'Get yours with `gitlocket join <url>`, which takes the passphrase or the recovery key; ' +
      'for a store that is elsewhere on this machine, add --store <directory>'
    const message = `There is no store on this machine: nothing is at ${storeDirectory}`
    throw new CommandError('not_a_store', message, hint, { place: '' })
  }
  checkIsDirectory(storeDirectory)
  // Reads the public id alone, and throws for any other repository.
  await listRemotes(storeDirectory)
}

async function openIfEnrolled(
  context: Context,
  identity: Identity,
): Promise<MemoryStore | undefined> {
  try {
    return await openWith(context, identity, {})
  } catch (error) {
    if (hasCode(error, 'wrong_key')) return undefined
    throw error
  }
}

function openWith(
  context: Context,
  identity: Identity,
  enrolment: EntrySecret | Pick<OpenOptions, 'deviceName'>,
): Promise<MemoryStore> {
  const { storeDirectory: directory, stateDirectory } = context.environment
  return withProgress(context, 'Verifying the history', (options) =>
    openStore({
      directory,
      stateDirectory,
      identity,
      ...options,
      ...enrolment,
    }),
  )
}

async function describe(context: Context, store: MemoryStore, enrolled: boolean): Promise<Answer> {
  const { storeId, deviceId, deviceName, role } = await store.status()
  const remotes = await store.remotes.list()
  const { storeDirectory, identityFile } = context.environment
  noteStoreHere(context.environment, storeId)
  return {
    text: [
      enrolled
        ? `This machine is now a device of ${storeId}`
        : `This machine is a device of ${storeId} already; nothing was changed`,
      '',
      `  Store        ${storeDirectory}`,
      `  Identity     ${identityFile} (keep it secret)`,
      `  Fingerprint  ${deviceId} (${role})`,
      ...nameLines(deviceName),
      ...(enrolled ? namesakeLines({ deviceId, deviceName }, await store.devices.list()) : []),
      '',
      enrolled && remotes.length > 0
        ? 'Next: gitlocket sync, which makes this machine known elsewhere'
        : 'Next: gitlocket ls',
      '',
    ].join('\n'),
    json: {
      enrolled,
      memory_store_id: storeId,
      device_id: deviceId,
      device_name: deviceName ?? null,
      role,
      store: storeDirectory,
      identity_file: identityFile,
    },
  }
}
