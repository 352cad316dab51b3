// Explains a failed sync: the remote, the commits that were not sent, and the next step. A
// refused remote must not read as if the local store were damaged.

import { StoreError, hasCode } from '../../errors.ts'
import { plainMessage, surfaceOf } from '../../operations/error-surface.ts'
import type { RemoteStatus } from '../../store/sync/remote-state.ts'
import { isFailureOfRemote, isVerdict } from '../../store/verify/verdict.ts'
import { CommandError } from '../call/command.ts'
import { countText } from './words.ts'

/** The circumstances of a failed sync. */
export interface FailedSync {
  /** Undefined without a remote, or for an unknown one. */
  readonly remote: string | undefined
  /** Undefined for an auditor, which sends nothing. */
  readonly status: RemoteStatus | undefined
  readonly isAuditor: boolean
  /** Whether the store is open by a grant. */
  readonly hasGrant?: boolean
}

/** Adds advice that names commands. Returns errors about this machine unchanged. */
export function explainSync(error: unknown, failed: FailedSync): unknown {
  if (!(error instanceof StoreError) || error instanceof CommandError) return error
  const hint =
    missingHint(error, failed) ?? (isOfRemote(error) ? remoteHint(error, failed) : undefined)
  if (hint === undefined) return error
  const { details } = error
  const message = plainMessage(error, 'What the remote shows')
  if (error.code === 'not_found') return new CommandError(error.code, message, hint, { details })
  const [place, facts] = [placeText(error, failed), factsOf(failed)]
  return new CommandError(error.code, message, hint, { details, place, facts, cause: error })
}

export const unknownRemoteHint = '`gitlocket remote list` shows the remotes'

/** The hint for an unknown remote. */
function missingHint(error: StoreError, { remote }: FailedSync): string | undefined {
  if (!hasCode(error, 'not_found')) return undefined
  return remote === undefined ? '`gitlocket remote add origin <url>` names one' : unknownRemoteHint
}

/** Explains a failed `join`, which has no local store yet. */
export function explainJoin(error: unknown, url: string): unknown {
  if (!(error instanceof StoreError) || error instanceof CommandError) return error
  const { details } = error
  if (error.code === 'not_found') {
    const hint =
      `Run \`gitlocket remote add origin ${url}\` and \`gitlocket sync\` where the store is; ` +
      '`gitlocket init` creates a new one'
    return new CommandError(error.code, error.message, hint, { details })
  }
  if (!isOfRemote(error)) return error
  const options = { details, place: `remote: ${url}`, facts: { remote: url }, cause: error }
  const message = plainMessage(error, 'What the remote shows')
  return new CommandError(error.code, message, joinHint(error), options)
}

/** Before a join the remote has no name. */
const noneYet: FailedSync = { remote: undefined, status: undefined, isAuditor: false }

function joinHint(error: StoreError): string {
  const general = damageHint(error, noneYet) ?? sufficientAdvice(error)
  if (general !== undefined) return general
  if (hasCode(error, 'wrong_key')) {
    return (
      'Check the passphrase or recovery key; if an owner has added the device card of this ' +
      'machine, check that this owner has run `gitlocket sync` since'
    )
  }
  if (hasCode(error, 'rolled_back')) {
    return (
      'Compare with another copy; `gitlocket join --accept-rolled-back` joins the older state ' +
      'that the remote shows'
    )
  }
  if (hasCode(error, 'not_a_store')) {
    return 'Check the address; the store must be sent to the remote first'
  }
  if (hasCode(error, 'store_id_mismatch')) {
    return 'Check the address and the id after #: one of them belongs to another store'
  }
  return 'Do not trust this remote; check the address with its source, or join from another remote'
}

function isOfRemote(error: StoreError): boolean {
  if (hasCode(error, 'push_rejected', 'upgrade_required', 'keyring_conflict', 'merge_held'))
    return true
  // Damage to the files of this device proves nothing about the remote.
  if (isFailureOfRemote(error)) return true
  return isVerdict(error) && surfaceOf(error).exitCode >= 7 && !hasCode(error, 'anchor_corrupt')
}

function remoteHint(error: StoreError, failed: FailedSync): string {
  const general = damageHint(error, failed) ?? sufficientAdvice(error)
  if (general !== undefined) return general
  if (hasCode(error, 'wrong_key')) {
    if (failed.hasGrant === true) return 'Sync again once the device that gave the grant has synced'
    return removedHint(error, failed)
  }
  if (hasCode(error, 'not_a_store')) {
    return 'Check the address; a store can be sent to an empty repository only'
  }
  const { remote = '<remote>', status, isAuditor } = failed
  const repair = `\`gitlocket sync ${remote} --repair\``
  if (hasCode(error, 'object_missing', 'object_corrupt')) {
    return (
      `Sync again; if that fails, ${repair} on a clone that \`gitlocket verify\` finds complete ` +
      'sends everything again. Delete objects that are damaged on a host there first, or push ' +
      'to a new repository'
    )
  }
  if (isAuditor) {
    const leaves = `; if not, \`gitlocket sync ${remote} --accept-rolled-back\` follows the others`
    return (
      'Compare the words of `gitlocket audit` with another machine; if those here are right, ' +
      `${repair} on the machine of a member repairs the remote` +
      (hasCode(error, 'rolled_back') ? leaves : '')
    )
  }
  if (status?.unsent !== undefined) {
    return (
      'Compare the words of `gitlocket status` with another machine; if those here are right, ' +
      `${repair} replaces what the remote shows with this store`
    )
  }
  if (hasCode(error, 'store_id_mismatch')) {
    return '`gitlocket join <its address> --store <new directory>` opens that store separately'
  }
  return 'Check the address, and do not trust this remote'
}

/** The hint for errors that a damaged repository may cause on the remote. */
function damageHint(error: StoreError, { remote = '<remote>' }: FailedSync): string | undefined {
  if (!hasCode(error, 'remote_protocol', 'pack_refused')) return undefined
  return (
    `${surfaceOf(error).advice}. If \`git fsck\` there finds damage: \`gitlocket sync ${remote} ` +
    '--repair` on a machine that has everything sends missing objects, and tells how to replace ' +
    'damaged objects'
  )
}

/** The advice for the code, if it suffices; undefined for a verdict on what the remote shows. */
function sufficientAdvice(error: StoreError): string | undefined {
  const suffices = !isVerdict(error) || hasCode(error, ...withSufficientAdvice)
  return suffices ? surfaceOf(error).advice : undefined
}

/** Verdicts that do not concern the remote alone, or that a user elsewhere must resolve. */
const withSufficientAdvice = [
  'push_rejected',
  'keyring_conflict',
  'merge_held',
  'device_forked',
  'record_after_revocation',
  'upgrade_required',
] as const

function removedHint(error: StoreError, { isAuditor }: FailedSync): string {
  const ask = 'Ask an owner, by another way than this remote'
  // Joining what this remote shows could give everything written from now on to an attacker.
  if (error.details.removedBy === undefined) {
    return `${ask}, and compare the ten words of the members that \`gitlocket status\` shows`
  }
  const keep = isAuditor
    ? ''
    : '; `gitlocket export <directory>` saves changes that only this clone has'
  return (
    `${ask}${keep}. To rejoin, move the identity file away and run \`gitlocket join <address> ` +
    '--store <new directory>`, with the address that `gitlocket status` shows there'
  )
}

/** Lines to print instead of the path of the store. */
function placeText(error: StoreError, { remote, status }: FailedSync): string {
  const isRefused = isVerdict(error) && !hasCode(error, 'push_rejected')
  const { unsent = 0, evidence } = status ?? {}
  const { sentCommits: sent = 0 } = error.details
  const facts = [
    ...(remote === undefined ? [] : [`remote: ${remote}`]),
    ...(sent > 0 ? [`${countText(sent, 'commit has', 'commits have')} arrived`] : []),
    ...(isRefused ? ['nothing was taken over'] : []),
    ...(unsent > 0 ? [`${countText(unsent, 'commit is', 'commits are')} not sent yet`] : []),
  ]
  const lines = [
    ...(facts.length === 0 ? [] : [facts.join('; ')]),
    ...(isRefused && evidence !== undefined
      ? [`evidence: ${evidence} keeps the refused pack`]
      : []),
  ]
  return lines.join('\n')
}

function factsOf({ remote, status }: FailedSync): Readonly<Record<string, unknown>> {
  if (remote === undefined) return {}
  if (status === undefined) return { remote }
  return { remote, unsent_commits: status.unsent ?? null, evidence: status.evidence ?? null }
}
