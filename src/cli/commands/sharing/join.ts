// `join <url>`: adds this machine to a store that a remote holds. The key is checked before
// anything is written; a failure leaves nothing but the identity of this machine.

import { hasCode } from '../../../errors.ts'
import { parseAddress } from '../../../format/address.ts'
import { withIdentityFile } from '../../../home/identity-file.ts'
import type { Identity } from '../../../keys/identity.ts'
import type { FirstContact, JoinOptions } from '../../../store/clone/clone-remote.ts'
import { joinStore } from '../../../store/join.ts'
import type { MemoryStore } from '../../../store/memory-store.ts'
import { listReportedDevices } from '../../../store/report/access-events.ts'
import type { StoreStatus } from '../../../store/store-report.ts'
import {
  CommandError,
  type Answer,
  type Command,
  type Context,
  type Input,
} from '../../call/command.ts'
import { actorOptions, authorOf, deviceNameOf, deviceNameOption } from '../../call/options.ts'
import { remoteAccess } from '../../machine/remote-access.ts'
import { type EntrySecret, withSecret } from '../../machine/secrets.ts'
import { closing } from '../../store/open-store.ts'
import { hasStoreBegun, noteStoreHere } from '../../store/vanished.ts'
import { withProgress } from '../../terminal/progress.ts'
import { askLine, askYes, canAsk } from '../../terminal/prompt.ts'
import { deviceText, nameLines, namesInTrail, namesakeLines } from '../../text/device-text.ts'
import { countText } from '../../text/words.ts'

export const commands: readonly Command[] = [
  {
    name: 'join',
    summary: 'Add this machine to a store that a remote holds',
    usage: '<url>',
    options: {
      ...deviceNameOption,
      '--trust-first-contact': 'Take the state that the remote shows for the newest one',
      '--accept-rolled-back': 'Accept what the remote shows, though this device has verified more',
      ...actorOptions,
    },
    notes: [
      'Takes the recovery key from the file that GITLOCKET_RECOVERY_KEY_FILE names, or the ' +
        'passphrase from GITLOCKET_PASSPHRASE_FILE; else asks, unless an owner has added the ' +
        'device card of this machine. A passphrase makes it a writer, the recovery key an owner. ' +
        'The key is checked before anything is written.',
      'The address that `status` shows on another machine, <url>#memstore_…+…, names the store ' +
        'and its newest state: a remote that shows an older one is refused. With the id alone it ' +
        'shows the owners and the ten words of `status`, and asks; off a terminal that takes ' +
        '--trust-first-contact. Without an id it asks for that, since no key shows it.',
      'An auditor gets a clone whose trail `audit` verifies, without keys to its contents.',
    ],
    run: join,
  },
]

async function join(context: Context, input: Input): Promise<Answer> {
  try {
    return await joinRemote(context, input)
  } catch (error) {
    const { explainJoin } = await import('../../text/remote-failure.ts')
    throw context.interrupts.signal.aborted ? error : explainJoin(error, input.argument(0))
  }
}

async function joinRemote(context: Context, input: Input): Promise<Answer> {
  const named = await findStoreId(context, input)
  const to = { context, input, named }
  const make = async (identity: Identity): Promise<Answer> => {
    try {
      const store = await joinAs(to, identity)
      return await closing(store, (joined) => describe(context, joined))
    } catch (error) {
      if (!hasCode(error, 'permission_denied')) throw error
      return joinAsAuditor(to, identity)
    }
  }
  return withIdentityFile(context.environment, make, () => hasStoreBegun(context.environment))
}

/** Which store to join: the address names it, or else the user typed its id. */
interface JoinGoal {
  readonly context: Context
  readonly input: Input
  readonly named: Pick<JoinOptions, 'storeId'>
}

/** Clones the trail alone, since this identity has no keys of the contents. */
async function joinAsAuditor(to: JoinGoal, identity: Identity): Promise<Answer> {
  // Loaded on demand: few devices are auditors.
  const { joinTrail } = await import('../../../store/audit/trail.ts')
  const { context, input } = to
  const audit = await joining(to, (how) => {
    return joinTrail({ ...how, identity, url: input.argument(0) })
  })
  const { storeId, entries, head, headFingerprint } = audit
  const named = { ...audit, deviceName: namesInTrail(audit.entries).get(audit.deviceId) }
  return answerOf(context, named, {
    title: `This machine may verify the trail of ${storeId}, and reads no contents or paths`,
    clone: 'Clone',
    lines: [
      `  Verified     ${countText(entries.length, 'commit', 'commits')}, up to ${head}`,
      `  Words        ${headFingerprint.join(' ')}`,
      ...trustLines,
      ...namesakeLines(named, listReportedDevices(entries)),
    ],
    next: 'gitlocket audit, and gitlocket sync before the next one',
    json: { commits: entries.length, head, head_fingerprint: headFingerprint },
  })
}

/** A device that an owner has added needs no secret. */
async function joinAs(to: JoinGoal, identity: Identity): Promise<MemoryStore> {
  const { context } = to
  const { passphraseFile, recoveryKeyFile, operatorSecretFile } = context.environment
  if ((passphraseFile ?? recoveryKeyFile ?? operatorSecretFile) === undefined) {
    try {
      return await joinWith(to, identity, undefined)
    } catch (error) {
      if (!hasCode(error, 'wrong_key')) throw error
      reportUnknown(context)
    }
  }
  return withSecret(context, (secret) => joinWith(to, identity, secret))
}

/** Throws off a terminal, where no secret can be asked for. */
function reportUnknown(context: Context): void {
  const unknown = 'This machine is new to the store'
  const byCard =
    'If an owner has added its device card, that owner has to run `gitlocket sync` first'
  if (!canAsk(context)) {
    const hint =
      'It joins with the passphrase or the recovery key, from the file that ' +
      `GITLOCKET_PASSPHRASE_FILE or GITLOCKET_RECOVERY_KEY_FILE names. ${byCard}`
    throw new CommandError('invalid_input', unknown, hint, { place: '' })
  }
  process.stderr.write(
    `${unknown}: it joins with the passphrase or the recovery key.\n${byCard}.\n\n`,
  )
}

function joinWith(
  to: JoinGoal,
  identity: Identity,
  secret: EntrySecret | undefined,
): Promise<MemoryStore> {
  const { context, input } = to
  const [url, author] = [input.argument(0), authorOf(context, input)]
  const deviceName = deviceNameOf(context, input)
  return joining(to, (how) => {
    return joinStore({ ...how, identity, url, author, deviceName, ...secret })
  })
}

/** The id does not say how new the store is: a former member can show an older state of it. */
function confirm(context: Context, { owners, words }: FirstContact): Promise<boolean> {
  process.stderr.write(
    '\nThe remote holds that store. Nothing here shows whether it is the newest state.\n\n' +
      `  Members  ${words.join(' ')}\n` +
      owners.map((owner) => `  Owner    ${deviceText(owner.deviceId, owner.name)}\n`).join('') +
      '\n`gitlocket status` on another machine shows these words, and the whole address, which ' +
      'needs no question.\n\n',
  )
  return askYes(context, 'Are the words the same, and the owners right?')
}

/** The id of the store, for an address that names none: no key shows it. */
async function findStoreId(context: Context, input: Input): Promise<Pick<JoinOptions, 'storeId'>> {
  if (parseAddress(input.argument(0)).storeId !== undefined || !canAsk(context)) return {}
  process.stderr.write(
    'The address does not name the store. `gitlocket status` on another machine shows its id, ' +
      'and so does what `gitlocket init` has printed.\n\n',
  )
  return { storeId: await askLine(context, 'Id of the store, memstore_…:') }
}

function joining<T>(
  { context, input, named }: JoinGoal,
  work: (how: Omit<JoinOptions, 'url' | 'author' | 'identity'>) => Promise<T>,
): Promise<T> {
  const { storeDirectory: directory, stateDirectory } = context.environment
  const acceptRolledBack = input.flag('accept-rolled-back')
  const ask = canAsk(context)
    ? (found: FirstContact): Promise<boolean> => confirm(context, found)
    : undefined
  const trustFirstContact = input.flag('trust-first-contact') ? async () => true : ask
  return context.interrupts.patiently('Ended; nothing was joined', () =>
    withProgress(context, 'Verifying', (shown) => {
      const access = remoteAccess(context)
      const places = { directory, stateDirectory, acceptRolledBack, trustFirstContact }
      return work({ ...named, ...places, ...shown, access })
    }),
  )
}

async function describe(context: Context, store: MemoryStore): Promise<Answer> {
  const status = await store.status()
  const { storeId, commits, memories, headFingerprint } = status
  return answerOf(context, status, {
    title: `This machine is now a device of ${storeId}`,
    clone: 'Store',
    lines: [
      `  Memories     ${memories} in ${commits} commits`,
      `  Words        ${headFingerprint.join(' ')}`,
      ...trustLines,
      ...namesakeLines(status, await store.devices.list()),
    ],
    next: 'gitlocket ls',
    json: { commits, memories, head_fingerprint: headFingerprint },
  })
}

/** Joining is a change itself, so another machine shows these words only after it has synced. */
const trustLines: readonly string[] = [
  '',
  'The remote was trusted about how new the store is. Compare the words of the head',
  'with `gitlocket status` on another machine, once that has run `gitlocket sync`.',
]

/** The parts of the answer that differ between a member and an auditor. */
interface AnswerParts {
  readonly title: string
  /** The label of the directory, up to twelve letters. */
  readonly clone: string
  readonly lines: readonly string[]
  readonly next: string
  readonly json: Readonly<Record<string, unknown>>
}

type Joined = Pick<StoreStatus, 'storeId' | 'deviceId' | 'deviceName' | 'role'>

function answerOf(
  context: Context,
  { storeId, deviceId, deviceName, role }: Joined,
  { title, clone, lines, next, json }: AnswerParts,
): Answer {
  const { storeDirectory, identityFile } = context.environment
  noteStoreHere(context.environment, storeId)
  return {
    text: [
      title,
      '',
      `  ${clone.padEnd(12)} ${storeDirectory}`,
      `  Identity     ${identityFile} (keep it secret)`,
      `  Fingerprint  ${deviceId} (${role ?? 'removed'})`,
      ...nameLines(deviceName),
      ...lines,
      '',
      `Next: ${next}`,
      '',
    ].join('\n'),
    json: {
      memory_store_id: storeId,
      device_id: deviceId,
      device_name: deviceName ?? null,
      role: role ?? null,
      store: storeDirectory,
      identity_file: identityFile,
      ...json,
    },
  }
}
