// Where a server keeps its stores, the identity that opens them, and what new stores have: for
// `serve` and the verbs that manage it.

import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { type ErrorCode, hasCode, StoreError } from '../../errors.ts'
import { ensureOperatorSecret, findIdentity, withIdentityFile } from '../../home/identity-file.ts'
import {
  openAdministrationOf,
  openHostAdministration,
  type HostAdministration,
} from '../../hosting/administration.ts'
import type { HostNotice } from '../../hosting/host-backend.ts'
import type { HostRecovery } from '../../hosting/hosted-stores.ts'
import { parseIdentity, type Identity } from '../../keys/identity.ts'
import {
  contentBytesDefault,
  contentBytesFormatMax,
  memoriesDefault,
  memoriesMax,
} from '../../limits.ts'
import { afterDatabase, errorSurface, plainMessage } from '../../operations/error-surface.ts'
import { timestamp } from '../../operations/wire.ts'
import type { CreateOptions } from '../../store/create.ts'
import { CommandError, type Context, type Input, type OptionTexts } from '../call/command.ts'
import { readPlainFile } from '../machine/files.ts'
import { findOperatorSecret } from '../machine/secrets.ts'
import { askSecret, canAsk } from '../terminal/prompt.ts'
import type { Column } from '../text/table.ts'
import { openBackend, placeOfEngine, sharedOptions } from './engine.ts'
import { resolveNamed } from './named.ts'

/** Options of verbs about the data directory of a server. */
export const directoryOptions: OptionTexts = {
  '--data <directory>': 'Where its stores are; else the default',
  '--state <directory>':
    'State outside of them that reveals a rollback; else GITLOCKET_STATE_DIRECTORY',
}

/** Options of verbs about any server. */
export const placeOptions: OptionTexts = { ...directoryOptions, ...sharedOptions }

export const workspaceOption: OptionTexts = {
  '--workspace <workspace>': 'The workspace, by name or id; else the default one',
}

/** Options of every verb that decides what new stores have. */
export const newStoreOptions: OptionTexts = {
  '--owner-card <file>':
    'The device card of an owner of new stores, in place of an operator secret',
  '--content-limit <bytes>': 'Of new stores: the largest memory',
  '--memory-limit <number>': 'Of new stores: how many memories',
}

export interface ServerPlace {
  readonly dataDirectory: string
  readonly stateDirectory: string
  readonly identity: Identity
}

export type ServerDirectories = Omit<ServerPlace, 'identity'>

/** Of --data and --state, or the defaults. */
export function directoriesOf({ environment }: Context, input: Input): ServerDirectories {
  return {
    dataDirectory: resolve(input.text('data') ?? environment.serverDirectory),
    stateDirectory: resolve(input.text('state') ?? environment.stateDirectory),
  }
}

/** Whose stores there are: only the identity that made them opens them. */
const SEALED = 'catalogue'

/** Runs `work` with the identity of a server, which is made if there is no server yet. */
export async function withServerPlace<T>(
  context: Context,
  input: Input,
  work: (place: ServerPlace) => Promise<T>,
): Promise<T> {
  const { environment } = context
  const directories = directoriesOf(context, input)
  const identity = await findServerIdentity(context, directories)
  const run = (found: Identity): Promise<T> =>
    work({ ...directories, identity: found }).catch((error: unknown) => {
      const { engineAddress } = environment
      throw engineAddress === undefined
        ? about(`server: ${directories.dataDirectory}`, error, hints)
        : about(placeOfEngine(engineAddress), error, engineHints)
    })
  if (identity !== undefined) return run(identity)
  // A server that cannot listen has sealed its files before.
  return withIdentityFile(environment, run, () => hasServer(directories))
}

function hasServer({ dataDirectory }: ServerDirectories): boolean {
  return existsSync(join(dataDirectory, SEALED))
}

/** The lists that can be changed while the server runs. */
export function withAdministration<T>(
  context: Context,
  input: Input,
  work: (host: HostAdministration) => Promise<T>,
): Promise<T> {
  return withServerPlace(context, input, async (place) => {
    const backend = await openBackend(context, input, place.identity)
    const host =
      backend === undefined
        ? await openHostAdministration({ ...place, clock: context.clock })
        : await openAdministrationOf(backend)
    try {
      return await work(host)
    } finally {
      await host.close()
    }
  })
}

/** The id of the workspace that --workspace names; undefined without the option. */
export async function workspaceOf(
  host: HostAdministration,
  input: Input,
): Promise<string | undefined> {
  const found = await host.workspaces()
  const workspaces = found.map(({ workspaceId, name }) => ({ id: workspaceId, name }))
  const kind = { kind: 'workspace', list: 'gitlocket workspace list' }
  return input.parsed('workspace', (typed) => resolveNamed(workspaces, typed, kind))
}

/** The name of the workspace in a list; its id in a pipe. */
export async function workspaceColumn(host: HostAdministration): Promise<Column<InWorkspace>> {
  const workspaces = await host.workspaces()
  const names = new Map(workspaces.map(({ workspaceId, name }) => [workspaceId, name]))
  return {
    head: 'WORKSPACE',
    cell: ({ workspaceId }) => names.get(workspaceId) ?? '',
    exact: ({ workspaceId }) => workspaceId,
    cut: 'end',
  }
}

interface InWorkspace {
  readonly workspaceId: string
}

/** Errors name the store by default, which this is not about. */
function about(place: string, error: unknown, hintsHere: typeof hints): unknown {
  if (!(error instanceof StoreError) || error instanceof CommandError) return error
  const { code, details, cause } = error
  const options = { place, details, cause }
  const advice = hintsHere[code] ?? errorSurface[code].advice
  return new CommandError(code, plainMessage(error, 'The server'), advice, options)
}

/** Where the usual advice is about a store. */
const hints: Partial<Record<ErrorCode, string>> = {
  locked: 'Use the address of that server, or end it',
  not_found:
    'List them with `gitlocket api-key list` and `gitlocket workspace list`; ' +
    '--data names the directory of another server',
  wrong_key: 'Use the identity with which the server was started first',
  rolled_back:
    'If a backup was put back on purpose, start it with `gitlocket serve --accept-rolled-back`; ' +
    'if no one did, find out who changed the files',
  invalid_identity:
    'Correct the identity or the permissions of its file, or restore it from its copy',
  store_full: 'Delete unneeded stores, sessions or keys on the server',
  storage_denied: 'Check owner and permissions of the data directory and the state directory',
}

const engineHints: typeof hints = {
  ...hints,
  locked: 'Try it again once the other server is done',
  not_found: 'List them with `gitlocket api-key list` and `gitlocket workspace list`',
  rolled_back: afterDatabase,
  storage_denied:
    'Check the rights of the user of the database, and those of the directory of --replicas',
  storage_failed:
    'Correct what the message names; `gitlocket engine check` shows whether the database fits',
}

/** Runs work with an engine alone: its errors name no store. */
export async function withEngineErrors<T>(
  { environment: { engineAddress = '' } }: Context,
  work: () => Promise<T>,
): Promise<T> {
  try {
    return await work()
  } catch (error) {
    // The address itself is wrong: help has more to tell.
    if (hasCode(error, 'invalid_input')) throw error
    throw about(placeOfEngine(engineAddress), error, engineHints)
  }
}

/** Undefined for a machine without one that needs no server yet. */
async function findServerIdentity(
  context: Context,
  directories: ServerDirectories,
): Promise<Identity | undefined> {
  const { identityText } = context.environment
  if (identityText !== undefined) return parseIdentity(identityText)
  const { identityFile } = context.environment
  const found = findIdentity(context.environment)
  if (found !== undefined || !hasServer(directories)) return found
  if (canAsk(context)) {
    return parseIdentity(await askSecret(context, 'Identity', 'GITLOCKET_IDENTITY'))
  }
  const { dataDirectory } = directories
  throw new CommandError(
    'invalid_identity',
    `There are stores in ${dataDirectory}, and no identity file at ${identityFile}`,
    'Restore the identity file from its copy, or name it with GITLOCKET_IDENTITY_FILE',
    { place: `server: ${dataDirectory}` },
  )
}

/** The recovery of the stores if this machine is lost. */
export async function recoveryOf(context: Context, input: Input): Promise<HostRecovery> {
  const cards = input.texts('owner-card')
  if (cards.length > 0) {
    return { owners: cards.map((file) => readPlainFile('the device card', file)) }
  }
  const given = findOperatorSecret(context)
  if (given !== undefined) return { operatorSecret: given }
  const { path, operatorSecret, isNew } = await ensureOperatorSecret(context.environment)
  if (isNew) {
    const reason = 'it recovers every store of this server if this machine is lost'
    process.stderr.write(`Made an operator secret at ${path}: keep a copy elsewhere, ${reason}\n`)
  }
  return { operatorSecret }
}

export function storeLimitsOf(input: Input): NonNullable<CreateOptions['limits']> {
  return {
    contentBytes: input.integer('content-limit', 1, contentBytesFormatMax) ?? contentBytesDefault,
    memories: input.integer('memory-limit', 1, memoriesMax) ?? memoriesDefault,
  }
}

/** Failures outside of requests. The message of an error is of no memory and no name. */
export function printNotice({ clock }: Context, { about: what, error }: HostNotice): void {
  const known = error instanceof StoreError
  const [code, message] = known ? [error.code, error.message] : ['unexpected', 'Unexpected']
  printLine({ time: timestamp(clock()), about: what, code, message })
}

/** A line of the log of a server. */
export function printLine(line: object): void {
  process.stderr.write(`${JSON.stringify(line)}\n`)
}
