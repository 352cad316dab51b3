// What the new stores of a server have: who recovers them, and their limits. For `serve` and
// `store create`, which take the same options for it.

import { ensureOperatorSecret } from '../../home/identity-file.ts'
import type { HostRecovery } from '../../hosting/hosted-stores.ts'
import {
  contentBytesDefault,
  contentBytesFormatMax,
  memoriesDefault,
  memoriesMax,
} from '../../limits.ts'
import type { CreateOptions } from '../../store/create.ts'
import type { Input } from '../call/command.ts'
import type { Context } from '../call/context.ts'
import { readPlainFile } from '../machine/files.ts'
import { findOperatorSecret } from '../machine/secrets.ts'

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
