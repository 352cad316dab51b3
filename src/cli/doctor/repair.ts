// `doctor --repair`: repairs the store from its own remains and a copy, and reports what was
// damaged, what was saved from where, and what is lost. Decides nothing: store/repair/ does.

import { afterBackup, surfaceOf } from '../../operations/error-surface.ts'
import type { ExitCode } from '../../operations/exit-codes.ts'
import { timestamp, type Wire } from '../../operations/wire.ts'
import { repairStore } from '../../store/repair/repair.ts'
import type { LostChange, LostObject, RepairReport } from '../../store/repair/report.ts'
import { type Answer, CommandError, type Context, type Input } from '../call/command.ts'
import { remoteAccess } from '../machine/remote-access.ts'
import { checkIsDirectory, getIdentity } from '../store/open-store.ts'
import { withProgress } from '../terminal/progress.ts'
import { wire } from '../text/wire.ts'
import { countText } from '../text/words.ts'

const DAMAGED: ExitCode = 11
const BEHIND: ExitCode = 12
/** At most this many lines of a kind are printed; --json has all. */
const LINES_MAX = 20

export async function repair(context: Context, input: Input): Promise<Answer> {
  const { environment } = context
  const { storeDirectory: directory, stateDirectory } = environment
  if (environment.grant !== undefined) throw notRepaired(directory)
  checkIsDirectory(directory)
  const identity = getIdentity(environment)
  const [from, dryRun] = [input.text('from'), input.flag('dry-run')]
  const report = await withProgress(context, 'Reading the store', (shown) =>
    repairStore({
      directory,
      stateDirectory,
      identity,
      from,
      dryRun,
      access: remoteAccess(context),
      ...shown,
    }),
  )
  const exitCode = report.whole ? 0 : report.anchor === 'behind' ? BEHIND : DAMAGED
  return { text: repairText(report, { from, dryRun }), json: repairJson(report), exitCode }
}

/** Without the history nothing here can be verified from its first commit on. */
function notRepaired(directory: string): CommandError {
  return new CommandError(
    'permission_denied',
    'The clone of a grant is not repaired: the remote has all that it has sent',
    `Delete ${directory}: the next command makes it again, without changes that were never sent`,
  )
}

interface Request {
  readonly from: string | undefined
  readonly dryRun: boolean
}

/** The report of a repair as text. */
export function repairText(report: RepairReport, request: Request): string {
  const lines = report.sound
    ? ['The store is sound: nothing was changed']
    : [
        ...listed(report.damages, ({ file, problem }) => `damaged  ${file}: ${problem}`),
        ...mendedLines(report, request.dryRun),
        ...listed(report.missing, missingLine),
        ...listed(report.detached, detachedLine),
        ...verdictLines(report),
      ]
  return `${[...lines, ...anchorLines(report), ...nextLines(report, request)].join('\n')}\n`
}

function listed<T>(items: readonly T[], line: (item: T) => string): readonly string[] {
  const rest = items.length - LINES_MAX
  const more = rest > 0 ? [`         and ${rest} more; --json lists them all`] : []
  return [...items.slice(0, LINES_MAX).map(line), ...more]
}

function mendedLines(report: RepairReport, dryRun: boolean): readonly string[] {
  const { head, saved, aside, forgotten } = report
  const copied = countText(saved.elsewhere, 'object', 'objects')
  const local = countText(saved.here, 'object', 'objects')
  return [
    `${dryRun ? 'to save ' : 'saved   '} ${local} read here, ${copied} taken from the copy`,
    `head     ${head.commit}, at height ${head.height}`,
    ...(aside === undefined ? [] : [`kept     the damaged files, in ${aside} of the store`]),
    ...forgotten.map((name) => `forgot   where the remote ${name} was; a sync finds it again`),
  ]
}

function missingLine({ type, oid, commit, time, path }: LostObject): string {
  const what = path === undefined ? `the ${type} ${oid}` : `a version of ${path}`
  return `missing  ${what}, written in the commit ${commit}${timeText(time)}`
}

function detachedLine({ commit, kind, time, paths }: LostChange): string {
  const what = paths.length > 0 ? `: ${paths.join(', ')}` : kind === undefined ? '' : `: ${kind}`
  return `lost     the change of the commit ${commit}${timeText(time)}${what}`
}

function timeText(time: number | undefined): string {
  return time === undefined ? '' : `, ${new Date(time).toISOString()}`
}

function verdictLines({ verdict }: RepairReport): readonly string[] {
  if (verdict === undefined) return []
  return [`refused  The history does not verify: ${verdict.message}`]
}

function anchorLines({ anchor }: RepairReport): readonly string[] {
  if (anchor === 'none')
    return ['anchor   It is missing: a rollback of the store cannot be detected']
  if (anchor === 'renewed') {
    return [
      'anchor   It was damaged, so a rollback of the store cannot be detected. A new one names ' +
        'the verified head; the old one is kept next to it',
    ]
  }
  if (anchor === 'damaged')
    return ['anchor   It is damaged, and is kept until the history verifies']
  if (anchor === 'behind') return ['anchor   It names a later record than the store has']
  return []
}

function nextLines(report: RepairReport, { from, dryRun }: Request): readonly string[] {
  const { whole, anchor, unmerged, verdict, missing, detached, toErase } = report
  const next: string[] = []
  if (toErase > 0) {
    const objects = countText(toErase, 'object', 'objects')
    next.push(`\`gitlocket compact\` erases ${objects} of redacted versions`)
  }
  if (dryRun && !report.sound) next.push('`gitlocket doctor --repair` does that')
  if (!whole) {
    const another = from === undefined ? '' : 'another '
    const lost = missing.length + detached.length > 0 || verdict !== undefined
    if (lost || anchor === 'behind') {
      next.push(
        `\`gitlocket doctor --repair --from <remote or backup>\` takes missing objects from ` +
          `${another || 'a '}copy that has it; ` +
          'until then the damaged files are kept in gitlocket/damaged',
      )
    }
    if (anchor === 'behind') next.push(afterBackup)
  }
  if (unmerged !== undefined) {
    next.push(
      'The copy has changes that this store lacks: `gitlocket sync` fetches those of a remote',
    )
  }
  if (whole && (anchor === 'none' || anchor === 'renewed')) {
    next.push('`gitlocket sync` before you write, so that nothing is written twice')
  }
  return next.map((line) => `next     ${line}`)
}

function repairJson(report: RepairReport): Wire {
  const { storeId, sound, whole, damages, head, saved, anchor, unmerged, verdict } = report
  return wire({
    storeId,
    sound,
    whole,
    damages,
    head,
    saved: wire({ here: saved.here, fromCopy: saved.elsewhere }),
    keptIn: report.aside,
    objectsToErase: report.toErase,
    forgottenRemotes: report.forgotten,
    missing: report.missing.map(({ oid, type, commit, time, path }) =>
      wire({ objectId: oid, type, commit, time: jsonTime(time), path }),
    ),
    lostChanges: report.detached.map(({ commit, kind, time, deviceId, paths }) =>
      wire({ commit, kind, time: jsonTime(time), deviceId, paths }),
    ),
    verdict: verdict && wire({ code: verdict.code, exitCode: surfaceOf(verdict).exitCode }),
    anchor,
    unmerged,
  })
}

function jsonTime(time: number | undefined): string | undefined {
  return time === undefined ? undefined : timestamp(time)
}
