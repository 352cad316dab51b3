// `device remove`: removes devices, and replaces the secrets that their users may know.

import type { DevicesRemoved, SecretsReplaced } from '../../../store/devices/device-changes.ts'
import type { Secrets } from '../../../store/devices/devices.ts'
import type { Answer, Command, Context, Input } from '../../call/command.ts'
import { authorOf, memberOptions, yesOption } from '../../call/options.ts'
import { getNewPassphrase } from '../../machine/secrets.ts'
import { withStore } from '../../store/open-store.ts'
import { askYes, canAsk } from '../../terminal/prompt.ts'
import { deviceText } from '../../text/device-text.ts'
import { endedLines, endsGrantsJson, warnOfEnding } from '../../text/ending-grants.ts'
import { onlineOptions, pendingPart, rekeyedJson, rekeyedLines } from '../../text/members.ts'
import { wire } from '../../text/wire.ts'
import { cancelled, epochNote, onlineNote, readDevices, resolveDevice } from './device.ts'

export const commands: readonly Command[] = [
  {
    name: 'device remove',
    destroys: true,
    summary: 'Remove devices permanently',
    usage: '<device>…',
    options: {
      '--rotate-secrets':
        'Replace the passphrase and the recovery keys, which its user may know, too',
      '--when-online': 'If the remote is out of reach, leave it to the next sync that reaches it',
      ...yesOption,
      ...memberOptions,
    },
    notes: [
      onlineNote,
      `${epochNote} A removed device never returns; its machine can make a new identity, with ` +
        'which anyone who knows the passphrase or a recovery key joins again. The grants that it ' +
        'has given end with it: on a terminal they are listed before you are asked.',
    ],
    run: deviceRemove,
  },
]

function deviceRemove(context: Context, input: Input): Promise<Answer> {
  const author = authorOf(context, input)
  return withStore(context, async (store) => {
    const devices = await readDevices(context, store)
    const deviceIds = input.arguments(0).map((typed) => resolveDevice(devices, typed))
    const names = new Map(devices.map(({ deviceId, name }) => [deviceId, name]))
    const listed = deviceIds.map((id) => deviceText(id, names.get(id))).join(', ')
    const ends = await store.grants.endedBy({ removed: deviceIds })
    await agreeToRemove(context, input, listed, () => warnOfEnding(context, ends, names))
    const replaced = await secretsToReplace(context, input, (await store.status()).secrets)
    const whenOnline = input.flag('when-online')
    const online = { ...onlineOptions(context, input), whenOnline }
    const changed = await store.as(author).devices.remove(deviceIds, { ...replaced, ...online })
    if (changed.waits) return waitingAnswer(listed, deviceIds, replaced)
    const who = `The removed ${deviceIds.length === 1 ? 'device' : 'devices'}`
    const { knownSecrets, recoveryKey = null, endsGrants } = changed
    const lines = [
      `Removed ${listed}`,
      ...rekeyedLines(changed, who),
      ...endedLines(context, endsGrants, names),
      ...secretLines(changed),
      '',
    ]
    const secrets = wire({ knownSecrets: wire({ ...knownSecrets }), recoveryKey })
    const ended = { ends_grants: endsGrantsJson(endsGrants) }
    const json = { removed: deviceIds, waiting: [], ...rekeyedJson(changed), ...ended, ...secrets }
    return { text: lines.join('\n'), json, ...pendingPart(changed) }
  })
}

/** New secrets are not kept until then: they would have to be stored. */
function waitingAnswer(
  listed: string,
  waiting: readonly string[],
  replaced: SecretsReplaced,
): Answer {
  const secrets =
    Object.keys(replaced).length === 0
      ? ''
      : 'The passphrase and the recovery keys are not replaced: once the remote can be reached, ' +
        'sync, then run `gitlocket key passwd` and `gitlocket key recovery`.\n'
  return {
    text:
      `The remote cannot be reached: the next sync that does removes ${listed}\n` +
      `Until then it reads and writes as before.\n${secrets}`,
    json: { removed: [], waiting },
  }
}

/** What replaces the secrets that a removed device's user may know: asked for on a terminal. */
async function secretsToReplace(
  context: Context,
  input: Input,
  { passphrases, recoveryKeys }: Secrets,
): Promise<SecretsReplaced> {
  const known = describeSecrets({ passphrases, recoveryKeys })
  const wants =
    input.flag('rotate-secrets') ||
    (known !== '' &&
      !input.flag('yes') &&
      canAsk(context) &&
      (await askYes(context, `Its user may know ${known}. Replace them too?`)))
  if (!wants) return {}
  return {
    ...(passphrases > 0 && { passphrase: await getNewPassphrase(context) }),
    ...(recoveryKeys > 0 && { recoveryKey: true }),
  }
}

/** What still lets a removed device's user in, and the new recovery key. */
function secretLines({ knownSecrets, recoveryKey }: DevicesRemoved): readonly string[] {
  const known = describeSecrets(knownSecrets)
  return [
    ...(known === ''
      ? []
      : [
          '',
          `Anyone who used it may know ${known}, with which a new device joins.`,
          'Replace them: `gitlocket key passwd`, `gitlocket key recovery`.',
        ]),
    ...(recoveryKey === undefined
      ? []
      : [
          '',
          'Recovery key, shown this once. Write it down and keep it away from this machine:',
          '',
          `  ${recoveryKey}`,
        ]),
  ]
}

function describeSecrets({ passphrases, recoveryKeys }: Secrets): string {
  const parts = [
    ...(passphrases > 0 ? [passphrases === 1 ? 'the passphrase' : 'a passphrase'] : []),
    ...(recoveryKeys > 0 ? [recoveryKeys === 1 ? 'the recovery key' : 'a recovery key'] : []),
  ]
  return parts.join(' and ')
}

async function agreeToRemove(
  context: Context,
  input: Input,
  listed: string,
  warn: () => void,
): Promise<void> {
  if (input.flag('yes') || !canAsk(context)) return
  warn()
  const question = `Remove ${listed}? A removed device never returns.`
  if (await askYes(context, question)) return
  throw cancelled()
}
