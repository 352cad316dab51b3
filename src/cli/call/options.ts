// Options that several verbs share, so that they are worded and read the same way everywhere.

import { userInfo } from 'node:os'
import { checkNewDeviceName, fitDeviceName } from '../../format/device-name.ts'
import { actorIdLengthMax } from '../../limits.ts'
import type { Author } from '../../store/commits/commit-context.ts'
import type { Input, Option } from './command.ts'
import type { Context } from './context.ts'

/** Options of every verb, before or after it. */
export const globalOptions: readonly Option[] = [
  {
    name: 'store',
    value: 'directory',
    summary: 'The store; else GITLOCKET_STORE, else the default',
  },
  { name: 'json', summary: 'Print one JSON value instead of text' },
  { name: 'help', short: 'h', summary: 'Show help' },
]

/** Options of every verb that writes. */
export const authorOptions: readonly Option[] = [
  { name: 'actor', value: 'id', summary: 'The user to record; else the login name' },
  { name: 'session', value: 'id', summary: 'The session to record' },
  { name: 'reason', value: 'text', summary: 'The reason, kept encrypted with the change' },
]

/** Options of verbs whose --actor and --session select versions. */
export const selectingAuthorOptions: readonly Option[] = [
  { name: 'as', value: 'id', summary: 'The user to record; else the login name' },
  { name: 'reason', value: 'text', summary: 'The reason, kept encrypted with the change' },
]

/** The option of verbs that make this machine a device. */
export const noGuardOption: Option = {
  name: 'no-guard',
  summary: 'Let texts through that hold private keys, tokens or cards',
}

export const deviceNameOption: Option = {
  name: 'name',
  value: 'text',
  summary: 'What the store calls this device, for people; else the host name',
}

export const colourOption: Option = {
  name: 'color',
  value: 'when',
  choices: ['auto', 'always', 'never'],
  summary: 'When to use colours; else on a terminal, unless NO_COLOR is set',
}

/** The option of verbs that only read. */
export const atOption: Option = {
  name: 'at',
  value: 'point',
  summary: 'The state at a time, a version or a commit',
}

/** A note for verbs with an option that takes a point. */
export const pointForms: string =
  'A point in time is a time (7d, 2026-01-31, or RFC 3339), a version (memver_3k9f0z2c1d: right ' +
  'after it was written), or a commit (7 or more hex digits).'

/** The option of verbs that ask. */
/** For changes of who may open the store. */
export const onlyOption: Option = {
  name: 'only',
  summary: 'Go on though a remote other than the one for members is out of reach',
}
export const yesOption: Option = { name: 'yes', short: 'y', summary: 'Do not ask' }

export const dryRunOption: Option = { name: 'dry-run', summary: 'Show what would be done' }

export const contentOptions: readonly Option[] = [
  {
    name: 'text',
    value: 'text',
    summary: 'The text, as an argument (visible in the process list)',
  },
  { name: 'file', value: 'file', summary: 'Take the text from a file' },
]

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
