// Options that several verbs share, so that they are worded and read the same way everywhere.

import { userInfo } from 'node:os'
import { checkNewDeviceName, fitDeviceName } from '../../format/device-name.ts'
import { actorIdLengthMax } from '../../limits.ts'
import type { Author } from '../../store/commits/commit-context.ts'
import { type Context, type Input, type OptionTexts, usageError } from './command.ts'

/** Options of every verb, before or after it. */
export const globalOptions: OptionTexts = {
  '--store <directory>': 'The store; else GITLOCKET_STORE, else the default',
  '--engine <address>':
    'A database of shared stores, for --store memstore_…; else GITLOCKET_ENGINE',
  '--json': 'Print one JSON value instead of text',
  '--utc': 'Show exact times, in UTC',
  '-h, --help': 'Show help',
}

const reasonOption: OptionTexts = {
  '--reason <text>': 'The reason, kept encrypted with the change',
}

/** Options of verbs that write, and whose change has no reason. */
export const actorOptions: OptionTexts = {
  '--actor <id>': 'The user to record; else the login name',
  '--session <id>': 'The session to record',
}

export const authorOptions: OptionTexts = { ...actorOptions, ...reasonOption }

/** Options of verbs whose --actor and --session select versions. */
export const asOption: OptionTexts = { '--as <id>': 'The user to record; else the login name' }
export const selectingAuthorOptions: OptionTexts = { ...asOption, ...reasonOption }

export const noGuardOption: OptionTexts = {
  '--no-guard': 'Let texts through that hold private keys, tokens or cards',
}

/** For verbs that make this machine a device. */
export const deviceNameOption: OptionTexts = {
  '--name <text>': 'What the store calls this device, for people; else the host name',
}

export const colourOption: OptionTexts = {
  '--color <auto|always|never>': 'When to use colours; else on a terminal, unless NO_COLOR is set',
}

/** For verbs whose points may be times. */
export const stampedOption: OptionTexts = {
  '--stamped': 'Take the times of changes as stamped, though later ones contradict them',
}

/** For verbs that only read. */
export const atOption: OptionTexts = {
  '--at <point>': 'The state at a time, a version or a commit',
  ...stampedOption,
}

/** A note for verbs with an option that takes a point. */
export const pointForms: string =
  'A point in time is a time (7d, yesterday, 2026-01-31, or RFC 3339), a version (3k9f0z2c: ' +
  'right after it was written), or a commit (7 or more hex digits).'

/** For changes of who may open the store. A keyring record has no field for a reason. */
export const memberOptions: OptionTexts = {
  '--only': 'Go on though a remote other than the one for members is out of reach',
  ...actorOptions,
}

export const yesOption: OptionTexts = { '-y, --yes': 'Do not ask' }

export const dryRunOption: OptionTexts = { '--dry-run': 'Show what would be done' }

/** The name of this machine as a device. A given name is not corrected; the host name is. */
export function deviceNameOf({ environment }: Context, input: Input): string {
  const given = input.text('name')
  return given === undefined ? fitDeviceName(environment.hostName) : checkNewDeviceName(given)
}

/** The author to record. The store checks the input; nothing is corrected. */
export function authorOf(context: Context, input: Input): Author {
  const session = input.text('session')
  return {
    ...authorNamed(context, input, 'actor'),
    ...(session === undefined ? {} : { session }),
  }
}

/** The author to record, for verbs with `selectingAuthorOptions`. */
export function selectingAuthorOf(context: Context, input: Input): Author {
  return authorNamed(context, input, 'as')
}

function authorNamed(context: Context, input: Input, option: string): Author {
  const id = input.text(option) ?? recordable(context.environment.loginName ?? systemLogin())
  const reason = input.text('reason')
  return { actor: { type: 'user', id }, ...(reason === undefined ? {} : { reason }) }
}

/** A login name, reduced to the characters of FORMAT §1.2. */
function recordable(name: string): string {
  const id = name.replaceAll(/[^A-Za-z0-9._:@-]/g, '-').slice(0, actorIdLengthMax)
  return id === '' ? 'user' : id
}

function systemLogin(): string {
  try {
    return userInfo().username
  } catch {
    // A container may run under a user id that has no name.
    return 'user'
  }
}

const units: Readonly<Record<string, number>> = { '': 1, K: 2 ** 10, M: 2 ** 20, G: 2 ** 30 }
const BYTES_MIN = 64 * 2 ** 20

/** `512M`, `2G`. */
export function sizeOf(input: Input, option: string): number | undefined {
  const text = input.text(option)
  if (text === undefined) return undefined
  const match = /^(\d{1,12})([KMG]?)$/.exec(text)
  const bytes = match === null ? 0 : Number(match[1]) * (units[match[2] ?? ''] ?? 0)
  if (bytes >= BYTES_MIN) return bytes
  throw usageError(`--${option} must be a size such as 512M, and at least 64M`)
}
