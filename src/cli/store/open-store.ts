// The only way in which commands open the store: it is closed again in every case, so that a
// command leaves an ordinary bare repository and no lock.

import { statSync } from 'node:fs'
import { StoreError, hasCode } from '../../errors.ts'
import { attempt } from '../../home/files.ts'
import { findIdentity } from '../../home/identity-file.ts'
import type { Identity } from '../../keys/identity.ts'
import { afterDatabase, plainMessage, surfaceOf } from '../../operations/error-surface.ts'
import type { Audit, AuditOptions } from '../../store/audit/audit.ts'
import type { MemoryStore } from '../../store/memory-store.ts'
import { openStore } from '../../store/open.ts'
import type { OpenOptions } from '../../store/session/open-options.ts'
import { CommandError, type Context, deviceError } from '../call/command.ts'
import type { Environment } from '../call/environment.ts'
import { isRealDirectory } from '../machine/memory-files.ts'
import { withProgress } from '../terminal/progress.ts'
import { findRolledBack, rolledBackLines } from '../text/rolled-back.ts'
import { clockNotice, timeFormat } from '../text/times.ts'
import { listOf } from '../text/words.ts'
import type { Sends } from './sending.ts'
import {
  findVanished,
  firstStore,
  isNothingHere,
  noteStoreHere,
  vanishedError,
} from './vanished.ts'

/** The identity from its file. Throws `invalid_identity`, with a hint, if it is missing. */
export function getIdentity(environment: Environment): Identity {
  if (environment.grant !== undefined) throw deviceError()
  const identity = findIdentity(environment)
  if (identity !== undefined) return identity
  const noFile = `no identity file at ${environment.identityFile}`
  throw isNothingHere(environment)
    ? new CommandError(
        'invalid_identity',
        `There is no store on this machine yet, and ${noFile}`,
        firstStore,
      )
    : new CommandError(
        'invalid_identity',
        `There is ${noFile}`,
        '`gitlocket recover` enrols this machine in the store that is there',
      )
}

/** The identity to open the store with. Throws if there is no store, before a question is asked. */
export async function checkCanOpen({ environment }: Context): Promise<Identity> {
  if (!isShared(environment)) await checkIsHere(environment)
  return getIdentity(environment)
}

export function isShared({ namedStore, engineAddress }: Environment): boolean {
  return namedStore !== undefined && engineAddress !== undefined
}

/** Whether there may be a store, and an identity or a grant to open it with. */
export function isStoreHere({ environment }: Context): boolean {
  if (environment.grant !== undefined) return true
  const isDirectory = isRealDirectory(environment.storeDirectory) !== undefined
  return isDirectory && findIdentity(environment) !== undefined
}

/** Opens the store with the identity file, and closes it after `work`. */
export async function withStore<T>(
  context: Context,
  work: (store: MemoryStore) => Promise<T>,
  { sends, ...accepting }: Accepting & { readonly sends?: Sends | undefined } = {},
): Promise<T> {
  const { store, leave } = await open(context, accepting)
  try {
    return await closing(store, async () => {
      const result = await sendingIf(context, store, sends, () => work(store))
      const { clockLeap } = store.maintenance
      const notice = clockLeap === undefined ? [] : [clockNotice(context, clockLeap)]
      // A command may open the store twice.
      context.notices.push(...notice.filter((text) => !context.notices.includes(text)))
      return result
    })
  } finally {
    await leave()
  }
}

type Accepting = Pick<OpenOptions, 'acceptRolledBack'>

/** Opens the store of an engine if it is named so, or else the one in its directory. */
async function open(context: Context, accepting: Accepting) {
  const { environment } = context
  const { grant } = environment
  if (grant !== undefined) {
    const { openByGrant } = await import('./granted.ts')
    checkIsDirectory(environment.storeDirectory)
    const store = await withProgress(context, 'Fetching the memories', (shown) =>
      openByGrant(context, grant, shown),
    )
    return { store, leave: async () => undefined }
  }
  const identity = await checkCanOpen(context)
  return withProgress(context, 'Verifying the history', async (options) => {
    if (isShared(environment)) {
      // Loaded on demand: few stores are shared.
      const { openSharedStore } = await import('./engine.ts')
      return openSharedStore(context, identity, { ...options, ...accepting })
    }
    const { storeDirectory: directory, stateDirectory } = environment
    const store = await openStore({ directory, stateDirectory, identity, ...options, ...accepting })
    noteStoreHere(environment, store.id)
    return { store, leave: async () => undefined }
  }).catch((error: unknown) => {
    throw explained(context, error)
  })
}

/** The machine of a grant's holder may vanish at any time: every command sends what it writes. */
export async function sendingIf<T>(
  context: Context,
  store: MemoryStore,
  sends: Sends | undefined,
  work: () => Promise<T>,
): Promise<T> {
  const how = sends ?? (context.environment.grant && { actor: 'gitlocket' })
  // Loaded on demand, as all here that has to do with grants: most commands send nothing.
  return how === undefined
    ? work()
    : (await import('./sending.ts')).sending(context, store, how, work)
}

/** As `withStore`; `audited` answers for an auditor, who cannot open the store. */
export async function withStoreOrTrail<T>(
  context: Context,
  work: (store: MemoryStore) => Promise<T>,
  audited: () => Promise<T>,
): Promise<T> {
  try {
    return await withStore(context, work)
  } catch (error) {
    const mayAudit = context.environment.grant === undefined
    if (!mayAudit || !hasCode(error, 'permission_denied')) throw error
    return audited()
  }
}

/** Verifies the trail with the identity file, which may be that of an auditor. */
export async function auditHere(context: Context, acceptRolledBack = false): Promise<Audit> {
  // Loaded on demand: few devices are auditors.
  const { auditStore } = await import('../../store/audit/audit.ts')
  await checkIsHere(context.environment)
  const found = await auditing(context, (options) => auditStore({ ...options, acceptRolledBack }))
  noteStoreHere(context.environment, found.storeId)
  return found
}

/** Gives `work` what an audit of this store needs, and explains its errors. */
export async function auditing<T>(
  context: Context,
  work: (options: AuditOptions) => Promise<T>,
): Promise<T> {
  const { environment } = context
  const identity = getIdentity(environment)
  return withProgress(context, 'Verifying the trail', (options) =>
    work({
      directory: environment.storeDirectory,
      stateDirectory: environment.stateDirectory,
      identity,
      ...options,
    }),
  ).catch((error: unknown) => {
    throw explained(context, error)
  })
}

/** Closes the store after `work`. An error of `work` takes precedence over one of closing. */
export async function closing<T>(
  store: MemoryStore,
  work: (store: MemoryStore) => Promise<T>,
): Promise<T> {
  let result: T
  try {
    result = await work(store)
  } catch (error) {
    await store.close().catch(() => undefined)
    throw error
  }
  await store.close()
  return result
}

/** Throws `not_a_store` for a file, and for a store that was here. */
async function checkIsHere(environment: Environment): Promise<void> {
  checkIsDirectory(environment.storeDirectory)
  const vanished = await findVanished(environment)
  if (vanished !== undefined) throw vanishedError(environment, vanished)
}

/** Throws `not_a_store` for a file, before it looks like a fault of the disk. */
export function checkIsDirectory(path: string): void {
  const found = attempt('open the store', path, () => statSync(path, { throwIfNoEntry: false }))
  if (found === undefined || found.isDirectory()) return
  throw new StoreError('not_a_store', 'The path of the store is a file, not a directory')
}

/** An error of opening a store, with a hint that names the commands to use. */
function explained(context: Context, error: unknown): unknown {
  const rolledBack = findRolledBack(error)
  if (rolledBack !== undefined && error instanceof StoreError) {
    const lines = rolledBackLines(rolledBack, timeFormat(context))
    const message = `${plainMessage(error)}\n${listOf(lines)}`
    const advice = isShared(context.environment) ? afterDatabase : surfaceOf(error).advice
    return new CommandError(error.code, message, advice, error)
  }
  if (hasCode(error, 'wrong_key')) {
    const hint =
      '`gitlocket recover` enrols this machine with a passphrase or the recovery key, or an ' +
      'owner adds it with the output of `gitlocket device card`; a removed device needs a ' +
      'new identity file first'
    return new CommandError('wrong_key', error.message, hint)
  }
  if (hasCode(error, 'permission_denied')) {
    const hint = '`gitlocket audit` does that, and `gitlocket sync` fetches new changes'
    return new CommandError('permission_denied', error.message, hint)
  }
  return error
}
