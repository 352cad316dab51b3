// `redact`: erases versions from the history permanently. It first shows what would be erased, and
// needs the user's consent or --yes. The pattern to search for can come from a file, because a
// secret must not appear in the process list.

import { StoreError, hasCode, type ErrorCode } from '../../errors.ts'
import type { Author } from '../../store/commits/commit-context.ts'
import type { Version } from '../../store/history/versions.ts'
import type { MemoryStore } from '../../store/memory-store.ts'
import { certificateText } from '../../store/redaction/certificate.ts'
import type { RedactionPlan, RedactionRequest } from '../../store/redaction/redaction-plan.ts'
import type { Redaction } from '../../store/redaction/redaction.ts'
import {
  CommandError,
  type Answer,
  type Command,
  type Context,
  type Input,
  usageError,
} from '../call/command.ts'
import { asOption, dryRunOption, selectingAuthorOf, yesOption } from '../call/options.ts'
import { writeNewFile } from '../machine/files.ts'
import { isRealDirectory } from '../machine/memory-files.ts'
import { eraseInMirrors, erasureLines } from '../mirror/erasure.ts'
import { withStore } from '../store/open-store.ts'
import { loadHistory } from '../store/points.ts'
import {
  foreignListsParagraph,
  residueExitCode,
  residueJson,
  residueLines,
  searchResidue,
} from '../store/residue.ts'
import { type Ink, inkOf } from '../terminal/ink.ts'
import { withProgress } from '../terminal/progress.ts'
import { canAsk } from '../terminal/prompt.ts'
import { pendingDeviceJson, pendingDevicesParagraph } from '../text/redactions.ts'
import { type Column, idColumn, tableText } from '../text/table.ts'
import { versionColumns } from '../text/versions-text.ts'
import { versionJson } from '../text/wire.ts'
import { countText } from '../text/words.ts'
import {
  agree,
  chooseCurrent,
  chooseReason,
  type Current,
  reasonOf,
  reportMatches,
} from './redact-questions.ts'
import { checkSelects, readPattern, selectionIn } from './redact-selection.ts'

export const commands: readonly Command[] = [
  {
    name: 'redact',
    destroys: true,
    summary: 'Erase versions from the history permanently, such as a leaked secret',
    usage: '[<version>…]',
    options: {
      '--memory <path-or-id>': 'All versions of this memory',
      '--path <path>': 'Those at or below this path',
      '--actor <id>': 'Those of this actor',
      '--session <id>': 'Those of this session',
      '--matching <regex>': 'Those that match it in text, path or reason',
      '--matching-file <file>': 'The same, with the pattern in one line; - reads standard input',
      '--literal': 'The pattern is plain text, not a regular expression',
      '-i, --ignore-case': 'The pattern matches in either case',
      '--before <time>': 'Those written before this time',
      '--reason-code <unspecified|leaked_secret|personal_data|legal|poisoned|retention>':
        'The reason; kept in the record permanently',
      '--with-copies': 'Also those with the same text, and those written on them',
      '--overwrite': 'First replace the text in memories that hold it now',
      '--delete': 'First delete memories that hold such a text now',
      '--keep-current': 'Leave out the current versions of memories',
      '--certificate <file>': 'Write the signed certificate, as JSON',
      '--prove': 'Afterwards search everything stored for the redacted versions',
      ...dryRunOption,
      ...yesOption,
      ...asOption,
    },
    notes: [
      'All conditions that are given must hold. Content, path, hash, size and reason of the ' +
        'versions are erased from every file of this store; that a version existed, who made it, ' +
        'when, and the signature of the device remain and still verify.',
      'Commits from the first of these versions on get new ids. Other clones, hosts and backups ' +
        'keep the old objects until they take over this history and forget the old one; the ' +
        'certificate lists the ids to report. The settings of the store cannot be redacted.',
      'Versions that remain and may repeat an erased text are counted, and --with-copies redacts ' +
        'them too: those with the same text, and those written on an erased version, with a ' +
        'pattern if it matches them. Given with versions that are redacted already, it redacts ' +
        'what another clone wrote on them before it knew of that; `sync` and `verify --absence` ' +
        'name such versions.',
      'Without versions and conditions it asks for the text to erase, which is not shown as you ' +
        'type it, and reports how often it occurs. Arguments are visible in the process list: ' +
        'elsewhere, give a secret to --matching-file, in a file or with -.',
      'A pattern is a JavaScript regular expression, in which ^ and $ match at lines. With ' +
        '--literal, an accented letter matches whether it is one code point or two.',
      '--overwrite replaces what matches, or else the whole text, by [redacted]. The version ' +
        'that --delete makes is redacted with the others, since it names the path.',
      'Asks on a terminal; elsewhere it needs --yes. Redacted versions are left out, so that the ' +
        'same command may run again. Ctrl-C leaves the old state or the new, and reports which.',
    ],
    run: redact,
  },
]

async function redact(context: Context, input: Input): Promise<Answer> {
  const asks = canAsk(context) && !input.flag('yes')
  checkSelects(input, asks)
  checkCertificateFile(input)
  const author = selectingAuthorOf(context, input)
  const given = currentOf(input)
  const planned = { reason: reasonOf(input), current: given }
  const pattern = await readPattern(context, input)
  return withStore(context, async (store) => {
    await loadHistory(context, store)
    const select = await selectionIn(context, input, store, pattern)
    for (;;) {
      const plan = await planFor(context, store, { select, ...planned })
      if (asks && pattern !== undefined) await reportMatches(store, plan, pattern)
      if (input.flag('dry-run')) return planAnswer(context, plan, given !== undefined)
      const current = given ?? (await chooseCurrent(context, plan, pattern))
      const reason = asks ? await chooseReason(context, input, plan) : planned.reason
      const confirmed = await agree(context, input, plan, current)
      const request = { select, reason, current, confirmed }
      const redaction = await redactAgreed(context, input, store, request, author)
      if (redaction !== undefined) return finish(context, input, store, { ...redaction, pattern })
    }
  })
}

/** Undefined, with nothing changed, if more versions match now than the user agreed to. */
async function redactAgreed(
  context: Context,
  input: Input,
  store: MemoryStore,
  request: RedactionRequest,
  author: Author,
): Promise<Redaction | undefined> {
  try {
    return await redacting(context, store, request, author)
  } catch (error) {
    if (hasCode(error, 'precondition_failed')) {
      process.stderr.write('More versions were written in the meantime, and nothing was redacted\n')
      return undefined
    }
    const { certificate } = error instanceof StoreError ? error.details : {}
    const file = input.text('certificate')
    if (certificate !== undefined && file !== undefined) keepCertificate(certificate, file)
    throw error
  }
}

function currentOf(input: Input): Current {
  const given = (['overwrite', 'delete', 'keep-current'] as const).filter((one) => input.flag(one))
  if (given.length > 1) throw usageError(`Give --${given[0]} or --${given[1]}, not both`, 'redact')
  return given[0] === 'keep-current' ? 'keep' : given[0]
}

function planFor(
  context: Context,
  store: MemoryStore,
  request: RedactionRequest,
): Promise<RedactionPlan> {
  return withProgress(context, 'Searching', (options) =>
    store.history.planRedaction(request, options),
  )
}

/** Redacts. An interruption leaves the old state or the new one, and the error names it. */
export async function redacting(
  context: Context,
  store: MemoryStore,
  request: RedactionRequest,
  author: Author,
): Promise<Redaction> {
  // A redact record has no field for the text of a reason.
  const { actor, session } = author
  const before = (await store.status()).head
  const ending = 'Ended in the old state or the new one; `gitlocket log --redacted` shows which'
  try {
    return await context.interrupts.patiently(ending, () =>
      withProgress(context, 'Redacting', (options) =>
        store.as({ actor, session }).redact(request, options),
      ),
    )
  } catch (error) {
    if (!(error instanceof StoreError) || selfExplanatory.has(error.code)) throw error
    const { head } = await store.status()
    if (head === before) throw explained(error, 'nothing was redacted')
    const hint = '`gitlocket compact` erases the remains of the versions from the disk'
    throw explained(error, 'the versions are redacted, but not erased from the disk yet', hint)
  }
}

/** Codes whose messages say already that nothing was done. */
const selfExplanatory: ReadonlySet<ErrorCode> = new Set(['version_current', 'precondition_failed'])

/** Adds the resulting state, and the certificate. */
function explained(error: StoreError, state: string, hint?: string): StoreError {
  if (error.code !== 'cancelled' && hint === undefined) return error
  const again = hint ?? 'Run it again to redact'
  const { certificate } = error.details
  const output = certificate === undefined ? '' : certificateText(certificate)
  const details = certificate === undefined ? {} : { certificate }
  return new CommandError(error.code, `${error.message}; ${state}`, again, { output, details })
}

interface RedactionDone extends Redaction {
  readonly pattern: RegExp | undefined
}

async function finish(
  context: Context,
  input: Input,
  store: MemoryStore,
  { plan, certificate, pendingDevices, pattern }: RedactionDone,
): Promise<Answer> {
  const file = input.text('certificate')
  if (certificate !== undefined && file !== undefined) keepCertificate(certificate, file)
  const absence = input.flag('prove') ? await searchResidue(context, store, certificate) : undefined
  const erasures = certificate === undefined ? [] : await eraseInMirrors(context, store, pattern)
  const { purgePending: pending, foreignPurges } = (await store.status()).storage
  const ink = inkOf(context)
  const proof = absence === undefined ? [] : residueLines(context, absence)
  const rest = [...proof, ...erasureLines(erasures), ...foreignListsParagraph(foreignPurges)]
  return {
    text: [
      doneText(context, ink, { plan, certificate, file }),
      ink.plain(rest.map((line) => `${line}\n`).join('')),
      pendingDevicesParagraph(context, ink, pendingDevices),
    ].join(''),
    inked: true,
    json: {
      dry_run: false,
      redacted: certificate?.versions.length ?? 0,
      already_redacted: plan.already,
      same_text: plan.sameText.map(versionJson),
      built_on: plan.builtOn.map(versionJson),
      certificate: certificate ?? null,
      pending_devices: pendingDevices.map(pendingDeviceJson),
      objects_to_erase: pending,
      foreign_lists: foreignPurges,
      ...(absence === undefined ? {} : { absence: residueJson(absence) }),
      mirrors: erasures,
    },
    exitCode: absence === undefined ? 0 : residueExitCode(absence, erasures),
    ...(certificate === undefined ? {} : { note: warnings }),
  }
}

/** Writes the certificate; an error carries it as output. */
function keepCertificate(certificate: object, file: string): void {
  const text = certificateText(certificate)
  try {
    writeNewFile('the certificate', file, text)
  } catch (error) {
    if (!(error instanceof StoreError)) throw error
    const hint =
      'The versions are redacted. The certificate was printed; `gitlocket certificate show` ' +
      'issues it again'
    throw new CommandError(error.code, error.message, hint, { output: text })
  }
}

function checkCertificateFile(input: Input): void {
  const file = input.text('certificate')
  if (file === undefined || isRealDirectory(file) === undefined) return
  throw new StoreError('path_conflict', `${file} exists already`)
}

interface FinishedRedaction {
  readonly plan: RedactionPlan
  readonly certificate: Redaction['certificate']
  readonly file: string | undefined
}

function doneText(
  context: Context,
  ink: Ink,
  { plan, certificate, file }: FinishedRedaction,
): string {
  const already = plan.already === 0 ? '' : `; ${plan.already} redacted before`
  if (certificate === undefined) return `Nothing to redact${already}\n`
  const { versions, old_head, new_head, object_ids } = certificate
  const ids = countText(object_ids.length, 'object id', 'object ids')
  const facts = [
    '',
    `Old head     ${old_head ?? ''}`,
    `New head     ${new_head}`,
    `For hosts    ${ids} to report, in the certificate`,
    ...(file === undefined ? [] : [`Certificate  ${file}, signed by this device`]),
    '',
  ]
  const more = versions.length - LISTED_MAX
  return [
    `Redacted ${countText(versions.length, 'version', 'versions')}${already}\n`,
    tableText(context, ink, versions.slice(0, LISTED_MAX), [
      { head: 'CHANGE', cell: ({ operation }) => operation },
      idColumn((one) => one.memory_version_id),
    ]),
    more > 0 ? `and ${more} more\n` : '',
    ink.plain(facts.join('\n')),
    copiesText(context, ink, plan),
  ].join('')
}

const LISTED_MAX = 20

const warnings =
  'Other clones, hosts and backups keep the old objects until they take over this\n' +
  'history and forget the old one. The settings of the store (its name, description\n' +
  'and metadata) are not part of any redaction.\n' +
  '`gitlocket certificate list` finds the certificate again.'

/** Versions that are kept and may repeat an erased text. */
function copiesText(context: Context, ink: Ink, { sameText, builtOn }: RedactionPlan): string {
  const same = countText(sameText.length, 'other version holds', 'other versions hold')
  const later = countText(builtOn.length, 'later version', 'later versions')
  const columns: readonly Column<Version>[] = [
    { head: 'PATH', cell: ({ path = '(redacted)' }) => path, cut: 'beginning' },
    idColumn(({ versionId }) => versionId),
  ]
  return [
    ...(sameText.length === 0
      ? []
      : [
          `\n${same} the same text and will remain; --with-copies redacts them too:\n`,
          tableText(context, ink, sameText, columns),
        ]),
    ...(builtOn.length === 0
      ? []
      : [`\n${later} may repeat the text, written on these; --with-copies redacts such too\n`]),
  ].join('')
}

/** `isDecided`: the command names what happens to current versions. */
function planAnswer(context: Context, plan: RedactionPlan, isDecided: boolean): Answer {
  const { versions, current, already, sameText } = plan
  const ink = inkOf(context)
  const live = new Set(current.map(({ versionId }) => versionId))
  const before = countText(already, 'more was', 'more were')
  return {
    text: [
      `Would redact ${countText(versions.length, 'version', 'versions')}\n`,
      tableText(context, ink, versions, versionColumns(context, ink, live)),
      already === 0 ? '' : `\n${before} redacted before\n`,
      copiesText(context, ink, plan),
    ].join(''),
    inked: true,
    paged: true,
    json: {
      dry_run: true,
      versions: versions.map(versionJson),
      current: [...live],
      already_redacted: already,
      same_text: sameText.map(versionJson),
      built_on: plan.builtOn.map(versionJson),
    },
    ...(current.length === 0 || isDecided ? {} : { note: currentNote(current.length) }),
  }
}

function currentNote(count: number): string {
  const some = countText(count, 'version is', 'versions are')
  return `${some} current: --overwrite, --delete or --keep-current decides about them`
}
