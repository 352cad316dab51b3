// The engine that several servers share: the options of every verb that works with one.

import type { EngineOptions } from '../../engine/engine.ts'
import { type Context, type Input, type OptionTexts, usageError } from '../call/command.ts'
import { readPlainFile } from '../machine/files.ts'

const CONNECTIONS_MAX = 1000

export const engineOptions: OptionTexts = {
  '--engine <address>': 'A database: postgres://user:password@host/database; else GITLOCKET_ENGINE',
  '--engine-ca <file>': 'Certificates in PEM to trust for it, in place of those of the system',
  '--engine-insecure': 'Allow a connection in plaintext to another machine',
  '--engine-connections <number>': 'The most connections of this process; else 16',
  '--engine-unnamed': 'Use no prepared statements, for PgBouncer before 1.21',
}

/** Undefined if neither option nor variable names an engine. */
function findEngine({ environment }: Context, input: Input): EngineOptions | undefined {
  const url = input.text('engine') ?? environment.engineAddress
  if (url === undefined) return undefined
  const ca = input.text('engine-ca')
  return {
    url,
    insecure: input.flag('engine-insecure'),
    unnamed: input.flag('engine-unnamed'),
    connections: input.integer('engine-connections', 1, CONNECTIONS_MAX),
    ca: ca === undefined ? undefined : readPlainFile('the certificates of the engine', ca),
  }
}

export function engineOf(context: Context, input: Input): EngineOptions {
  const found = findEngine(context, input)
  if (found !== undefined) return found
  throw usageError('Name the engine with --engine or GITLOCKET_ENGINE')
}
