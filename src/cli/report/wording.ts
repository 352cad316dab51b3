// What the facts of a report are called, in HTML and CSV alike, and what a report cannot prove.

import type { Actor } from '../../format/change-record.ts'
import type { AccessAction, Authorship } from '../../store/report/access-events.ts'
import type { AuditReport, ReportedRedaction } from '../../store/report/audit-report.ts'

/** The same texts as `gitlocket audit` prints for an actor. */
export function actorText(actor: Actor | undefined): string {
  return actor === undefined ? 'not recorded' : `${actor.type}:${actor.id}`
}

const actionTexts: Readonly<Record<AccessAction['type'], string>> = {
  device_added: 'Device added',
  device_renamed: 'Device renamed',
  role_changed: 'Role changed',
  device_removed: 'Device removed',
  grant_begun: 'Grant given',
  grant_ended: 'Grant ended',
  passphrase_set: 'Passphrase set',
  passphrase_removed: 'Passphrase removed',
  recovery_key_set: 'Recovery key set',
  recovery_key_removed: 'Recovery key removed',
  grants_left_to_owners: 'Grants left to owners alone',
  grants_opened_to_writers: 'Grants opened to writers',
  epoch_began: 'New keys',
}

/** Names a passphrase, recovery key or grant that signed; empty for a device. */
export function holderText(
  { isRecovery, grantedBy }: Pick<Authorship, 'isRecovery' | 'grantedBy'>,
  named: (deviceId: string) => string,
): string {
  if (isRecovery) return ' (passphrase or recovery key)'
  return grantedBy === undefined ? '' : ` (grant of ${named(grantedBy)})`
}

export function actionText({ type }: AccessAction): string {
  return actionTexts[type]
}

/** What the search for the versions of one redaction found. */
export function absenceText(absence: ReportedRedaction['absence']): string {
  return absence === undefined ? 'Not searched: an auditor cannot open contents' : found[absence]
}

const found = {
  nothing_found: 'Nothing is left in this copy of the store',
  may_be_repeated:
    'Later versions written on it unaware, or files of an editor on this machine, may repeat the ' +
    'text',
  found: 'FOUND: something is left in this copy of the store',
} as const

/** The limits of this report (docs/THREAT-MODEL.md). */
export function limitsOf({ verification }: AuditReport): readonly string[] {
  return verification.extent === 'trail' ? [...limits, ofAuditors] : limits
}

const limits: readonly string[] = [
  'It shows what this copy of the store had when it was made. What other devices have not sent ' +
    'is not in it, and silence looks like a remote that withholds: compare the twelve words with ' +
    'another device.',
  'Signatures prove the devices. Times, actors and sessions are the word of the device that ' +
    'signed: a member can lie about its own records.',
  'A redaction erases what can be reached. Hosts, forks, backups and freed blocks of a disk may ' +
    'keep old objects, and who has read a text knows it.',
  'A device confirms a redaction by writing on top of it. That its machine has no other copy is ' +
    'not proven. A removed device is not asked, and still opens content from before its ' +
    'removal.',
  'Text typed again, or copied elsewhere without a trace in the history, is not found.',
  'The signature next to the file proves which device has made the report; not when, and not ' +
    'that it is true: that a clone shows, by gitlocket verify and gitlocket audit.',
]

const ofAuditors =
  'An auditor has made it, who cannot open contents, paths, settings and reasons: these were ' +
  'not verified, and nothing was searched for redacted content. A member can do both.'
