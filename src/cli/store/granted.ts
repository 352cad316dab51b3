// The store of a grant's holder: opened by the variables of the environment, with errors that tell
// the holder what to do.

import { type ErrorCode, hasCode, StoreError } from '../../errors.ts'
import { parseAddress } from '../../format/address.ts'
import { formatId } from '../../format/id.ts'
import type { NamedGrant } from '../../home/grant.ts'
import { HeldGrant } from '../../keys/held-grant.ts'
import type { MemoryStore } from '../../store/memory-store.ts'
import type { GrantedOptions } from '../../store/open-granted.ts'
import { CommandError, type Context } from '../call/command.ts'
import { remoteAccess } from '../machine/remote-access.ts'

/** The clone is made at its first use. */
export async function openByGrant(
  context: Context,
  grant: NamedGrant,
  shown: Pick<GrantedOptions, 'signal' | 'progress' | 'transfer'>,
): Promise<MemoryStore> {
  const { storeDirectory: directory, stateDirectory } = context.environment
  // Loaded on demand: most processes have no grant.
  const { openGranted } = await import('../../store/open-granted.ts')
  const access = remoteAccess(context)
  try {
    return await openGranted({ ...grant, directory, stateDirectory, access, ...shown })
  } catch (error) {
    throw (
      withHint(error, 'invalid_identity', 'Copy the whole text that `grant give` has shown') ??
      withHint(error, 'not_found', 'Sync the device that gave the grant, and try again') ??
      withHint(
        error,
        'invalid_input',
        'Check GITLOCKET_REMOTE, and the other variables for the grant',
      ) ??
      withHint(error, 'wrong_key', 'Check GITLOCKET_GRANT and GITLOCKET_STORE') ??
      withHint(error, 'rolled_back', againHint(context, grant)) ??
      error
    )
  }
}

function againHint({ environment }: Context, { grant, url }: NamedGrant): string {
  const { storeDirectory, stateDirectory } = environment
  const own = heldGrantId(grant)
  const compare =
    parseAddress(url).state === undefined
      ? ''
      : 'Compare GITLOCKET_REMOTE with what `gitlocket status` shows on another machine. '
  return (
    compare +
    `If it was put back on purpose, delete ${storeDirectory} and ${stateDirectory}/*/${own}-*: ` +
    'the next command begins again, without changes that were never sent'
  )
}

function withHint(error: unknown, code: ErrorCode, hint: string): CommandError | undefined {
  if (!(error instanceof StoreError) || error instanceof CommandError) return undefined
  if (!hasCode(error, code)) return undefined
  return new CommandError(code, error.message, hint, { cause: error, details: error.details })
}

/** The id of a grant, by its text. */
export function heldGrantId(grant: string): string {
  return formatId('device', HeldGrant.of(grant).identity.deviceId)
}

/** An undo does not reach the changes from before the beginning of a clone. */
export function notePartial(
  { notices }: Pick<Context, 'notices'>,
  { history }: Pick<MemoryStore, 'history'>,
): void {
  if (history.beginning === undefined) return
  notices.push('Changes from before this clone began are not undone: see `gitlocket fetch --all`')
}

/** Before a list that only the whole history gives: throws `history_needed`. */
export function needHistory({ history }: Pick<MemoryStore, 'history'>): void {
  if (history.beginning === undefined) return
  throw new CommandError(
    'history_needed',
    'This list takes the whole history, which this clone does not have',
    '`gitlocket fetch --all` fetches and verifies it',
  )
}
