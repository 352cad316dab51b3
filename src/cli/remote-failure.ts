// What a failed sync means to whoever reads it: of which remote it is, what did not move, and what
// leads on. That the remote is refused must not read as if the store here were damaged.

import { surfaceOf } from '../api/error-surface.ts'
import { hasCode, StoreError } from '../errors.ts'
import { isFailureOfRemote, isVerdict } from '../store/sync/rejected-head.ts'
import type { RemoteStatus } from '../store/sync/remote-status.ts'
import { CommandError } from './command-error.ts'
import { countText } from './sizes.ts'

/** Who syncs, and with which remote. */
export interface FailedSync {
  /** Undefined if it is not known which remote it was, or whether there is one. */
  readonly remote: string | undefined
  /** What is known of it; undefined for an auditor, who sends nothing. */
  readonly status: RemoteStatus | undefined
  readonly isAuditor: boolean
}

/** With advice that knows this command line. What is about this machine stays as it is. */
export function explainSync(error: unknown, failed: FailedSync): unknown {
  if (!(error instanceof StoreError) || error instanceof CommandError) return error
  const hint =
    missingHint(error, failed) ?? (isOfRemote(error) ? remoteHint(error, failed) : undefined)
  if (hint === undefined) return error
  const { details, message } = error
  if (error.code === 'not_found') return new CommandError(error.code, message, hint, { details })
  const [place, facts] = [placeText(error, failed), factsOf(failed)]
  return new CommandError(error.code, message, hint, { details, place, facts, cause: error })
}

export const unknownRemoteHint = '`gitlocket remote list` shows those that there are'

/** For a remote that is not there. */
function missingHint(error: StoreError, { remote }: FailedSync): string | undefined {
  if (!hasCode(error, 'not_found')) return undefined
  return remote === undefined ? '`gitlocket remote add origin <url>` names one' : unknownRemoteHint
}

/** The same for `join`, which has nothing to lose and no store yet. */
export function explainJoin(error: unknown, url: string): unknown {
  if (!(error instanceof StoreError) || error instanceof CommandError) return error
  const { details, message } = error
  if (error.code === 'not_found') {
    const hint =
      `\`gitlocket remote add origin ${url}\` and \`gitlocket sync\` where the store is; ` +
      '`gitlocket init` makes a new one'
    return new CommandError(error.code, message, hint, { details })
  }
  if (!isOfRemote(error)) return error
  const options = { details, place: `remote: ${url}`, facts: { remote: url }, cause: error }
  return new CommandError(error.code, message, joinHint(error), options)
}

/** There is no remote before the join; where the store is, it is called something. */
const noneYet: FailedSync = { remote: undefined, status: undefined, isAuditor: false }

function joinHint(error: StoreError): string {
  const own = damageHint(error, noneYet) ?? ownAdvice(error)
  if (own !== undefined) return own
  if (hasCode(error, 'wrong_key')) {
    return (
      'Check the passphrase or recovery key, or where an owner has added the device card of this ' +
      'machine, whether that owner has run `gitlocket sync` since'
    )
  }
  if (hasCode(error, 'rolled_back')) {
    return (
      'Compare with another copy; `gitlocket join --accept-rolled-back` joins without what the ' +
      'remote leaves out'
    )
  }
  if (hasCode(error, 'not_a_store')) {
    return 'Check the address; what a remote is to hold has to be sent there first'
  }
  if (hasCode(error, 'store_id_mismatch')) {
    return 'Check the address and the id after #: one of them is that of another store'
  }
  return 'Do not trust this remote; ask whoever gave you the address, or join from another one'
}

function isOfRemote(error: StoreError): boolean {
  if (hasCode(error, 'push_rejected', 'upgrade_required', 'keyring_conflict')) return true
  // What is wrong with the files of this device is no verdict on others.
  if (isFailureOfRemote(error)) return true
  return isVerdict(error) && surfaceOf(error).exitCode >= 7 && !hasCode(error, 'anchor_corrupt')
}

function remoteHint(error: StoreError, failed: FailedSync): string {
  const own = damageHint(error, failed) ?? ownAdvice(error)
  if (own !== undefined) return own
  if (hasCode(error, 'wrong_key')) return removedHint(failed)
  if (hasCode(error, 'not_a_store')) {
    return 'Check the address; a store can be sent to an empty repository only'
  }
  const { remote = '<remote>', status, isAuditor } = failed
  const repair = `\`gitlocket sync ${remote} --repair\``
  if (hasCode(error, 'object_missing', 'object_corrupt')) {
    return (
      'Sync again; if it stays so, `gitlocket verify` tells whether this clone is whole, and ' +
      `${repair} on one that is sends everything again; an object that is damaged on a host has ` +
      'to be deleted there first, or push to a new repository'
    )
  }
  if (isAuditor) {
    const leaves = `; if not, \`gitlocket sync ${remote} --accept-rolled-back\` follows the others`
    return (
      'Compare the words of `gitlocket audit` with another machine; if they are right here, ' +
      `${repair} on one that is no auditor heals the remote` +
      (hasCode(error, 'rolled_back') ? leaves : '')
    )
  }
  if (status?.unsent !== undefined) {
    return (
      'Compare the words of `gitlocket status` with another machine; if they are right here, ' +
      `${repair} puts what is here in the place of what the remote shows`
    )
  }
  if (hasCode(error, 'store_id_mismatch')) {
    const address = status?.url ?? '<url>'
    return `\`gitlocket join ${address} --store <new directory>\` opens that store beside this one`
  }
  return 'Check the address, and do not trust this remote'
}

/** For what a repository there that is damaged looks like from here; others look so too. */
function damageHint(error: StoreError, { remote = '<remote>' }: FailedSync): string | undefined {
  if (!hasCode(error, 'remote_protocol', 'pack_refused')) return undefined
  return (
    `${surfaceOf(error).advice}. If \`git fsck\` there finds damage: \`gitlocket sync ${remote} ` +
    '--repair` on a machine that has everything sends what is missing, and says what to do about ' +
    'what is damaged'
  )
}

/** The advice for the code, which says all; undefined for a verdict on what the remote shows. */
function ownAdvice(error: StoreError): string | undefined {
  const saysAll = !isVerdict(error) || hasCode(error, ...withOwnAdvice)
  return saysAll ? surfaceOf(error).advice : undefined
}

/** What is wrong is no matter of the remote alone, or needs a person somewhere else. */
const withOwnAdvice = [
  'push_rejected',
  'keyring_conflict',
  'device_forked',
  'record_late',
  'upgrade_required',
] as const

function removedHint({ status, isAuditor }: FailedSync): string {
  const keep = isAuditor ? '' : '`gitlocket export <directory>` saves what only this clone has; '
  return (
    `${keep}to take part again, move the identity file away and ` +
    `\`gitlocket join ${status?.url ?? '<url>'} --store <new directory>\`, which takes the ` +
    'passphrase or recovery key of now, or the new device card once an owner has added it'
  )
}

/** Lines that stand in the place of the path of the store. */
function placeText(error: StoreError, { remote, status }: FailedSync): string {
  const isRefused = isVerdict(error) && !hasCode(error, 'push_rejected')
  const { unsent = 0, evidence } = status ?? {}
  const facts = [
    ...(remote === undefined ? [] : [`remote: ${remote}`]),
    ...(isRefused ? ['nothing was taken over'] : []),
    ...(unsent > 0 ? [`${countText(unsent, 'commit is', 'commits are')} not sent yet`] : []),
  ]
  const lines = [
    ...(facts.length === 0 ? [] : [facts.join('; ')]),
    ...(isRefused && evidence !== undefined
      ? [`evidence: ${evidence} keeps what was refused`]
      : []),
  ]
  return lines.join('\n')
}

function factsOf({ remote, status }: FailedSync): Readonly<Record<string, unknown>> {
  if (remote === undefined) return {}
  if (status === undefined) return { remote }
  return { remote, unsent_commits: status.unsent ?? null, evidence_ref: status.evidence ?? null }
}
