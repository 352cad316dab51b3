// The checks of `doctor` on the store: whether this device can open it, its packs and caches, and
// what stock git says about it. The locks are in file-checks.ts.

import { spawnSync } from 'node:child_process'
import { systemDisk } from '../../disk/system-disk.ts'
import { StoreError, hasCode } from '../../errors.ts'
import { framesOf, type JournalSurvey, surveyJournals } from '../../git/journal/journal-survey.ts'
import type { ObjectAmount } from '../../git/object-store.ts'
import { ownDirectoryName } from '../../git/refs/repository.ts'
import { mendStore, surfaceOf } from '../../operations/error-surface.ts'
import type { MemoryStore } from '../../store/memory-store.ts'
import type { StoreStatus } from '../../store/store-report.ts'
import type { Context } from '../call/command.ts'
import type { Environment } from '../call/environment.ts'
import { packedBytes } from '../commands/compact.ts'
import { beginningText } from '../commands/overview/status.ts'
import { cacheBytes, cacheDirectory, diskUsage, irregularFiles } from '../machine/disk-usage.ts'
import { remoteAccess } from '../machine/remote-access.ts'
import { auditHere, isStoreHere, withStore } from '../store/open-store.ts'
import { eraseAside, eraseForeign, foreignListsText, putAsideText } from '../store/residue.ts'
import { findVanished, firstStore, vanishedError } from '../store/vanished.ts'
import { withProgress } from '../terminal/progress.ts'
import {
  amountJson,
  erasedText,
  reclaimableJson,
  repeatedText,
  unreachableText,
} from '../text/reclaimable.ts'
import { clockText } from '../text/times.ts'
import { countText, sizeText } from '../text/words.ts'
import { checkForeignFiles, checkLocks, findStrayFiles } from './file-checks.ts'
import { fail, failed, ok, type DoctorFinding, warn } from './finding.ts'

const NOT_A_STORE = 7
const TAMPERED = 11
const JOURNAL_DAMAGED = 17
const PACKS_MANY = 50
/** How long a remote may take to show its refs. */
const ASKED_MS = 10_000
/** Reclaimable space is a warning if it reaches both this size and this share of the packs. */
const RECLAIMABLE_BYTES = 10_000_000
const RECLAIMABLE_SHARE = 0.1

interface StoreCheck {
  readonly findings: readonly DoctorFinding[]
  /** Undefined for a store that cannot be opened. */
  readonly reclaimable: Readonly<Record<string, unknown>> | undefined
}

/** The finding where there is no store: not made yet, or gone. */
export async function withoutStore(environment: Environment): Promise<StoreCheck> {
  const vanished = await findVanished(environment)
  const { storeDirectory } = environment
  const finding =
    vanished === undefined
      ? fail('Store', `none yet at ${storeDirectory}`, firstStore, NOT_A_STORE)
      : failed('Store', vanishedError(environment, vanished))
  return { findings: [finding], reclaimable: undefined }
}

export async function checkStore(context: Context): Promise<StoreCheck> {
  const locks = await checkLocks(context.environment.storeDirectory)
  const opened = await checkOpened(context, locks.held)
  if (opened.isForeign) return opened
  const { findings, reclaimable } = opened
  const foreign = findStrayFiles(context.environment.storeDirectory)
  const others = [
    ...locks.findings,
    checkCaches(context),
    checkForeignFiles(foreign),
    checkGit(context, foreign),
  ]
  return { findings: [...findings, ...others], reclaimable }
}

/** What opening shows, with the rights of this device. `isForeign`: the directory is no store. */
async function checkOpened(
  context: Context,
  isInUse: boolean,
): Promise<StoreCheck & { readonly isForeign: boolean }> {
  const nothing = { findings: [], reclaimable: undefined, isForeign: false }
  try {
    if (!isStoreHere(context)) return nothing
    return { ...(await checkAsMember(context, isInUse)), isForeign: false }
  } catch (error) {
    // The check of the identity has said it.
    if (hasCode(error, 'invalid_identity')) return nothing
    if (hasCode(error, 'permission_denied')) {
      return { ...nothing, findings: [await checkAsAuditor(context)] }
    }
    const journals = hasCode(error, 'journal_corrupt') ? checkJournals(context.environment) : []
    const findings = [failed('Store', error), ...journals]
    return { ...nothing, findings, isForeign: hasCode(error, 'not_a_store') }
  }
}

async function checkAsMember(context: Context, isInUse: boolean): Promise<StoreCheck> {
  const { status, grants, unreachable } = await withStore(context, async (store) => {
    // The status first: the search checkpoints, which erases pending objects.
    return {
      status: await store.status(),
      grants: await checkGrants(context, store),
      unreachable: isInUse ? inUse : await findUnreachable(context, store),
    }
  })
  const found = 'error' in unreachable ? null : amountJson(unreachable)
  return {
    findings: [
      ok('Store', `${status.storeId}, ${status.role}`),
      ...(status.beginning ? [ok('History', beginningText(context, status.beginning))] : []),
      checkClock(status),
      checkPacks(status),
      checkPurge(status),
      ...checkForeignPurges(status),
      ...checkPutAside(status),
      checkReclaimable(status, unreachable),
      checkSize(context, status),
      ...grants,
    ],
    reclaimable: { ...reclaimableJson(status.reclaimable), unreachable: found },
  }
}

/** On a device that gives grants: whether their holders can begin. Asks its remotes. */
async function checkGrants(context: Context, store: MemoryStore): Promise<DoctorFinding[]> {
  const { signal } = context.interrupts
  const access = { ...remoteAccess(context), signal, timeoutMs: ASKED_MS }
  const survey = await store.grants.survey(access)
  if (survey === undefined) return []
  const { live, due, remotes } = survey
  const check = 'Grants'
  const fix = '`gitlocket sync`, which this machine should run at least each hour'
  const findings = remotes.flatMap(({ remote, lacks, error }): DoctorFinding[] => {
    if (error !== undefined) {
      return [warn(check, `${remote} was not asked: ${error.message}`, surfaceOf(error).advice)]
    }
    return lacks.map((kind) => warn(check, lackText(remote, kind), fix))
  })
  if (due.length > 0) {
    const count = countText(due.length, 'grant', 'grants')
    findings.push(warn(check, `no record ends ${count} whose time is over`, fix))
  }
  if (remotes.length === 0) {
    findings.push(warn(check, 'holders cannot begin without a remote', 'gitlocket remote add'))
  }
  if (findings.length > 0) return findings
  return [ok(check, `${countText(live, 'grant', 'grants')}; holders can begin`)]
}

function lackText(remote: string, kind: 'start' | 'wraps' | 'stale'): string {
  if (kind === 'stale') return `what holders begin with at ${remote} is not up to date`
  return `${remote} lacks the ${kind} that this device made: holders cannot begin`
}

/** An auditor opens no store: it verifies the trail, and keeps nothing that could be checked. */
async function checkAsAuditor(context: Context): Promise<DoctorFinding> {
  try {
    const { storeId, role, entries } = await auditHere(context)
    const commits = countText(entries.length, 'commit', 'commits')
    return ok('Store', `${storeId}, ${role}: the trail of ${commits} verifies`)
  } catch (error) {
    return failed('Store', error)
  }
}

type Unreachable = ObjectAmount | { readonly error: StoreError }

/** The search packs the journal first, so it would wait for the locks. */
const inUse = { error: new StoreError('locked', 'another process holds a lock of the store') }

/** A failure of the search is no finding about the store, unless it found damage. */
async function findUnreachable(context: Context, store: MemoryStore): Promise<Unreachable> {
  const { signal } = context.interrupts
  try {
    return await withProgress(context, 'Looking for unreachable objects', (options) =>
      store.maintenance.unreachable(options),
    )
  } catch (error) {
    if (!(error instanceof StoreError) || signal.aborted) throw error
    return { error }
  }
}

function checkClock({ clockLeap }: StoreStatus): DoctorFinding {
  if (clockLeap === undefined) return ok('Clock', 'agrees with the newest record')
  const fix =
    'Set the clock if it is wrong; if the record is wrong, the next write corrects its place'
  return warn('Clock', clockText(clockLeap), fix)
}

function checkPacks({ storage }: StoreStatus): DoctorFinding {
  const { packs, checkpointError, looseObjects, journalBytes } = storage
  const check = 'Packs'
  if (checkpointError !== undefined) return failed(check, checkpointError)
  const found =
    `${packs.length}, ${sizeText(packedBytes(storage))}; journal ${sizeText(journalBytes)}; ` +
    `${looseObjects} loose objects`
  if (packs.length <= PACKS_MANY) return ok(check, found)
  return warn(check, found, '`gitlocket compact` merges them')
}

/** A checkpoint erases the objects of redacted versions, unless it fails. */
function checkPurge({ storage, reclaimable }: StoreStatus): DoctorFinding {
  const { purgePending } = storage
  if (purgePending === 0) return ok('Redaction', 'nothing waits to be erased')
  const found = `${erasedText(purgePending, reclaimable)}, to be erased`
  return warn('Redaction', found, '`gitlocket compact` erases them')
}

/** Lists of objects to erase that another identity wrote here, or that someone has planted. */
function checkForeignPurges({ storage: { foreignPurges } }: StoreStatus): readonly DoctorFinding[] {
  if (foreignPurges === 0) return []
  return [warn('Redaction', foreignListsText(foreignPurges), eraseForeign)]
}

/** Files that a repair has replaced are useful only while something is still missing. */
function checkPutAside({ storage: { putAside } }: StoreStatus): readonly DoctorFinding[] {
  if (putAside === 0) return []
  const fix = `\`gitlocket verify\` reads everything; ${eraseAside}`
  return [warn('Put aside', putAsideText(putAside), fix)]
}

/** Measured, not estimated; what better deltas would save is known only after a repack. */
function checkReclaimable(
  { reclaimable, storage }: StoreStatus,
  unreachable: Unreachable,
): DoctorFinding {
  const check = 'Reclaimable'
  if ('error' in unreachable) {
    const { error } = unreachable
    if (error.code === 'object_corrupt' || error.code === 'pack_corrupt') {
      return failed(check, error)
    }
    const fix = 'Run `gitlocket doctor` again when nothing else uses the store'
    return warn(check, `unreachable objects were not counted: ${error.message}`, fix)
  }
  const copies = repeatedText(reclaimable)
  const strays = unreachableText(unreachable)
  const found = [copies, strays].filter((part) => part !== undefined).join('; ')
  if (found === '') return ok(check, 'none: every object is stored once, and needed')
  const bytes = reclaimable.repeated.bytes + unreachable.bytes
  if (bytes < Math.max(RECLAIMABLE_BYTES, packedBytes(storage) * RECLAIMABLE_SHARE))
    return ok(check, found)
  const fixes = [
    ...(copies === undefined ? [] : ['`gitlocket compact` drops the copies']),
    ...(strays === undefined
      ? []
      : ['`git gc --prune=now` in the store removes unreachable objects']),
  ]
  return warn(check, found, fixes.join('; '))
}

function checkSize(context: Context, status: StoreStatus): DoctorFinding {
  const { commits, memories, contentBytes, settings } = status
  const bytes = diskUsage(context.environment.storeDirectory)
  const found =
    `${countText(memories, 'memory', 'memories')}, ${sizeText(contentBytes)} of content, ` +
    `${countText(commits, 'commit', 'commits')}, ${sizeText(bytes)} on disk`
  if (memories < settings.limits.memories * 0.9) return ok('Size', found)
  return warn('Size', found, `Delete memories: the limit is ${settings.limits.memories}`)
}

function checkCaches(context: Context): DoctorFinding {
  const directory = cacheDirectory(context.environment)
  const bytes = cacheBytes(context.environment)
  if (bytes === 0) return ok('Caches', 'none; they are created when they help')
  return ok('Caches', `${sizeText(bytes)}, sealed; ${directory} may be deleted at any time`)
}

function checkGit(context: Context, foreign: readonly string[]): DoctorFinding {
  const check = 'git fsck'
  const irregular = irregularFiles(context.environment)
  if (irregular.length > 0) {
    const count = countText(irregular.length, 'link, pipe or device', 'links, pipes or devices')
    const found = `not run: ${count} in the store, such as ${JSON.stringify(irregular[0])}`
    return fail(check, found, 'Remove everything that is neither a file nor a directory', TAMPERED)
  }
  const git = (...args: readonly string[]): ReturnType<typeof runGit> => runGit(context, args)
  if (git('--version').status !== 0) {
    return warn(
      check,
      'git was not found',
      'git is optional; without it `gitlocket doctor --repair --dry-run` reads every object',
    )
  }
  const { status, stderr } = git('fsck', '--strict', '--no-dangling', '--no-progress')
  if (status === 0) return ok(check, 'clean')
  // No repair would remove foreign files, which have a finding of their own.
  const lines = stderr.split('\n').filter((line) => line !== '')
  const others = lines.filter((line) => !foreign.some((name) => line.includes(name)))
  const [first = `status ${status}`] = others
  if (lines.length > 0 && others.length === 0) return ok(check, 'clean, but for the foreign files')
  return fail(check, first, mendStore, TAMPERED)
}

/** Runs stock git without the configuration of the user or the system. */
function runGit(
  context: Context,
  args: readonly string[],
): { readonly status: number | null; readonly stderr: string } {
  const { storeDirectory, searchPath } = context.environment
  return spawnSync('git', [`--git-dir=${storeDirectory}`, ...args], {
    encoding: 'utf8',
    env: {
      PATH: searchPath,
      GIT_CONFIG_GLOBAL: '/dev/null',
      GIT_CONFIG_NOSYSTEM: '1',
      LC_ALL: 'C',
    },
  })
}

/**
 * One finding for each damaged journal. Only for a store that was refused for that: a journal in
 * use by a writer looks damaged too.
 */
function checkJournals({ storeDirectory }: Environment): readonly DoctorFinding[] {
  const surveys = surveyJournals(systemDisk, `${storeDirectory}/${ownDirectoryName}`)
  return [...surveys].flatMap(([name, survey]) => {
    if (survey.damage === undefined) return []
    return [fail('Journal', damageText(name, survey, survey.damage), mendStore, JOURNAL_DAMAGED)]
  })
}

function damageText(
  name: string,
  { before, after }: JournalSurvey,
  { start, end }: { readonly start: number; readonly end: number },
): string {
  const where = end > start ? `bytes ${start} to ${end}` : `cut off at byte ${start}`
  return (
    `${ownDirectoryName}/${name} is damaged (${where}); intact are ` +
    `${commandsText(before)} before that and ${commandsText(after)} after it`
  )
}

function commandsText(batches: JournalSurvey['before']): string {
  return countText(framesOf(batches).length, 'command', 'commands')
}
