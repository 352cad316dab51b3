// The engine that several servers share: the options of every verb that works with one.

import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { parseEngineAddress } from '../../engine/address.ts'
import type { EngineBackend } from '../../engine/engine-backend.ts'
import type { EngineOptions } from '../../engine/engine.ts'
import type { StoreUse } from '../../hosting/host-backend.ts'
import type { Identity } from '../../keys/identity.ts'
import type { MemoryStore } from '../../store/memory-store.ts'
import { type Context, type Input, type OptionTexts, usageError } from '../call/command.ts'
import type { Environment } from '../call/environment.ts'
import { sizeOf } from '../call/options.ts'
import { readPlainFile } from '../machine/files.ts'

const CONNECTIONS_MAX = 1000

export const engineOptions: OptionTexts = {
  '--engine-ca <file>': 'Certificates in PEM to trust for it, in place of those of the system',
  '--engine-insecure': 'Allow a connection in plaintext to another machine',
  '--engine-connections <number>': 'The most connections of this process; else 16',
  '--engine-unnamed': 'Use no prepared statements, for PgBouncer before 1.21',
}

/** Options of verbs that serve or change stores of an engine. */
export const sharedOptions: OptionTexts = {
  ...engineOptions,
  '--replicas <directory>': 'With an engine: where copies of stores may be; else a temporary one',
  '--replica-bytes <bytes>': 'With an engine: what those may hold that are not open; else 10G',
}

/** Undefined if neither option nor variable names an engine. */
function findEngine({ environment }: Context, input: Input): EngineOptions | undefined {
  const url = environment.engineAddress
  if (url === undefined) return undefined
  const connections = input.integer('engine-connections', 1, CONNECTIONS_MAX)
  return { ...optionsOf(environment, url, input), connections }
}

/** Commands about one store have no options for the engine, and take the variables. */
function optionsOf(environment: Environment, url: string, input?: Input): EngineOptions {
  const ca = input?.text('engine-ca') ?? environment.engineCertificates
  return {
    url,
    insecure: environment.engineIsInsecure || input?.flag('engine-insecure') === true,
    unnamed: environment.engineIsUnnamed || input?.flag('engine-unnamed') === true,
    ca: ca === undefined ? undefined : readPlainFile('the certificates of the engine', ca),
  }
}

export function engineOf(context: Context, input: Input): EngineOptions {
  const found = findEngine(context, input)
  if (found !== undefined) return found
  throw usageError('Name the engine with --engine or GITLOCKET_ENGINE')
}

/** Undefined without an engine: the server then has a data directory. */
export async function openBackend(
  context: Context,
  input: Input,
  identity: Identity,
): Promise<EngineBackend | undefined> {
  const engine = findEngine(context, input)
  if (engine === undefined) return undefined
  const { EngineBackend: Backend } = await import('../../engine/engine-backend.ts')
  const state = input.text('state')
  return Backend.open({
    ...engine,
    identity,
    clock: context.clock,
    replicaDirectory: resolve(input.text('replicas') ?? replicasDefault()),
    replicaBytes: sizeOf(input, 'replica-bytes'),
    stateDirectory: state === undefined ? undefined : resolve(state),
    maxStaleMs: maxStaleOf(input),
  })
}

const STALE_MS_MAX = 60_000

function maxStaleOf(input: Input): number {
  const [, digits = '0', unit] = /^(\d{1,5})(ms|s)$/.exec(input.text('max-stale') ?? '0ms') ?? []
  const ms = Number(digits) * (unit === 's' ? 1000 : 1)
  if (unit !== undefined && ms <= STALE_MS_MAX) return ms
  throw usageError('--max-stale must be a duration such as 250ms, at most 60s', 'serve')
}

/** Opens the store that --store names by its id. Call it if there is an engine. */
export async function openSharedStore(
  { environment, clock }: Context,
  identity: Identity,
  use: StoreUse,
): Promise<OpenedShared> {
  const { engineAddress: url = '', namedStore: storeId = '' } = environment
  const { EngineBackend: Backend } = await import('../../engine/engine-backend.ts')
  const { stateDirectory } = environment
  const place = { replicaDirectory: replicasDefault(), stateDirectory }
  const options = { ...optionsOf(environment, url), connections: 4 }
  const backend = await Backend.open({ ...options, identity, clock, ...place })
  try {
    const store = await backend.openStore(storeId, use)
    return { store, leave: () => backend.close() }
  } catch (error) {
    await backend.close()
    throw error
  }
}

interface OpenedShared {
  readonly store: MemoryStore
  /** Call it once the store is closed. */
  readonly leave: () => Promise<void>
}

/** The hosts and the database of an address, without its password. */
export function placeOfEngine(url: string): string {
  try {
    const { hosts, database = '' } = parseEngineAddress(url, { insecure: true })
    return `engine: ${hosts.map(({ host, port }) => `${host}:${port}`).join(',')}/${database}`
  } catch {
    return 'engine'
  }
}

/** A directory for each user of the machine, who share the temporary one. */
function replicasDefault(): string {
  return join(tmpdir(), `gitlocket-replicas-${process.geteuid?.() ?? 0}`)
}
