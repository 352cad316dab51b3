// `import`: plain files become memories, one commit per file. Everything is checked before the
// first change; a later failure (a full disk, Ctrl-C) leaves whole memories and says how many.

import { isUtf8 } from 'node:buffer'
import { readFileSync } from 'node:fs'
import { basename, join, resolve } from 'node:path'
import { type ErrorCode, hasCode, StoreError } from '../../errors.ts'
import { checkNewPath } from '../../format/path.ts'
import { attempt, textOf } from '../../home/files.ts'
import type { Change } from '../../store/changes/changes.ts'
import type { Author } from '../../store/commits/commit-context.ts'
import type { MemoryStore } from '../../store/memory-store.ts'
import { CommandError } from '../command-error.ts'
import type { Answer, Input } from '../command.ts'
import type { Context } from '../context.ts'
import { listOf } from '../lists.ts'
import { findFiles, isRealDirectory } from '../memory-files.ts'
import { withStore } from '../open-store.ts'
import { authorOf } from '../options.ts'
import { withProgress } from '../progress.ts'
import { countText } from '../sizes.ts'
import { storePath } from '../store-path.ts'

/** Commits in flight at a time; they share their writes to disk. */
const WINDOW = 64

interface Source {
  readonly file: string
  readonly path: string
}

interface Job extends Source {
  readonly action: 'create' | 'overwrite'
}

export function importFiles(context: Context, input: Input): Promise<Answer> {
  const author = authorOf(context, input)
  const { sources, leftOut } = findSources(input)
  return withStore(context, async (store) => {
    const jobs = await planJobs(store, sources, input.text('on-conflict') ?? 'fail')
    const skipped = sources.length - jobs.length
    const dryRun = input.flag('dry-run')
    const written = dryRun ? 0 : await runJobs(context, store, jobs, author)
    const count = countText(jobs.length, 'memory', 'memories')
    const equal = dryRun || written === jobs.length ? '' : `, ${jobs.length - written} unchanged`
    const skips = skipped === 0 ? '' : `; skipped ${skipped}`
    return {
      text: `${dryRun ? 'Would import' : 'Imported'} ${count}${equal}${skips}\n`,
      json: {
        imported: jobs.length,
        commits: written,
        skipped,
        left_out: leftOut,
        dry_run: dryRun,
      },
      ...(leftOut.length === 0
        ? {}
        : { note: `Left out, since they are not regular files:\n${listOf(leftOut)}` }),
    }
  })
}

function findSources(input: Input): { sources: readonly Source[]; leftOut: readonly string[] } {
  const origin = resolve(input.argument(0))
  const to = storePath(input.text('to') ?? '/')
  const prefix = to === '/' ? '' : to
  const real = isRealDirectory(origin)
  if (real === undefined) throw new StoreError('invalid_input', `There is nothing at ${origin}`)
  if (!real) {
    const path = input.text('to') === undefined ? `/${basename(origin)}` : to
    return { sources: [{ file: origin, path }], leftOut: [] }
  }
  const { files, leftOut } = findFiles(origin)
  const sources = files.map((name) => ({ file: join(origin, name), path: `${prefix}/${name}` }))
  return { sources, leftOut }
}

/** Plans the import. If anything cannot be imported, refuses with a list and changes nothing. */
async function planJobs(
  store: MemoryStore,
  sources: readonly Source[],
  onConflict: string,
): Promise<readonly Job[]> {
  const { settings, memories } = await store.status()
  refuse('invalid_path', 'Some names cannot be paths of memories', sources, nameProblem)
  const limit = settings.limits.contentBytes
  refuse('invalid_input', 'Some files cannot be memories', sources, (source) =>
    contentProblem(source, limit),
  )
  const jobs: Job[] = []
  const conflicts: string[] = []
  for (const source of sources) {
    const occupant = await findOccupant(store, source.path)
    if (occupant === undefined) jobs.push({ ...source, action: 'create' })
    else if (onConflict === 'overwrite' && occupant === source.path) {
      jobs.push({ ...source, action: 'overwrite' })
    } else if (onConflict !== 'skip') conflicts.push(source.path)
  }
  checkRoom(jobs, memories, settings.limits.memories)
  if (conflicts.length === 0) return jobs
  throw new CommandError(
    'path_conflict',
    `Some paths are taken; nothing was imported\n${listOf(conflicts)}`,
    'Add --on-conflict skip or --on-conflict overwrite, or import below another path with --to',
  )
}

function checkRoom(jobs: readonly Job[], memories: number, limit: number): void {
  const actual = memories + jobs.filter(({ action }) => action === 'create').length
  if (actual <= limit) return
  throw new StoreError(
    'store_full',
    `The store would hold ${actual} memories; its limit is ${limit}. Nothing was imported`,
    { details: { actual, limit } },
  )
}

function refuse(
  code: ErrorCode,
  sentence: string,
  sources: readonly Source[],
  problemOf: (source: Source) => string | undefined,
): void {
  const problems = sources.flatMap((source) => {
    const problem = problemOf(source)
    return problem === undefined ? [] : [`${source.file}: ${problem}`]
  })
  if (problems.length === 0) return
  const message = `${sentence}; nothing was imported\n${listOf(problems)}`
  throw new CommandError(code, message, 'Move these files away, or rename or convert them')
}

function nameProblem({ path }: Source): string | undefined {
  try {
    checkNewPath(path)
    return undefined
  } catch (error) {
    if (hasCode(error, 'invalid_path')) return error.message
    throw error
  }
}

function contentProblem(source: Source, limit: number): string | undefined {
  const bytes = readSource(source)
  if (bytes.length > limit) return `${bytes.length} bytes; the limit is ${limit}`
  if (!isUtf8(bytes)) return 'not UTF-8 text'
  return bytes.includes(0) ? 'contains NUL characters' : undefined
}

function readSource({ file }: Source): Uint8Array {
  return attempt('read a file', file, () => readFileSync(file))
}

/** The path that prevents `path` from being created: itself, a directory, or a memory above it. */
async function findOccupant(store: MemoryStore, path: string): Promise<string | undefined> {
  const occupant = await store.list(path, { depth: 0 })
  if (occupant !== undefined) return occupant.type === 'file' ? path : `${path}/`
  for (let at = path.lastIndexOf('/'); at > 0; at = path.lastIndexOf('/', at - 1)) {
    const above = path.slice(0, at)
    const found = await store.list(above, { depth: 0 })
    if (found !== undefined) return found.type === 'file' ? above : undefined
  }
  return undefined
}

/** The number of commits that were made. */
async function runJobs(
  context: Context,
  store: MemoryStore,
  jobs: readonly Job[],
  author: Author,
): Promise<number> {
  const { signal } = context.interrupts
  let done = 0
  let commits = 0
  return withProgress(context, 'Importing', async (progress) => {
    for (let at = 0; at < jobs.length; at += WINDOW) {
      if (signal.aborted) throw interrupted(new StoreError('cancelled', 'Cancelled'), done)
      const window = jobs.slice(at, at + WINDOW)
      const results = await Promise.allSettled(
        window.map((job) => store.as(author).apply([changeOf(job)])),
      )
      const applied = results.filter((result) => result.status === 'fulfilled')
      done += applied.length
      commits += applied.filter(({ value }) => value.commit !== undefined).length
      const failed = results.find((result) => result.status === 'rejected')
      if (failed !== undefined) throw interrupted(failed.reason, done)
      progress(done, jobs.length)
    }
    return commits
  })
}

function changeOf(job: Job): Change {
  const content = textOf(readSource(job), 'an imported file')
  if (job.action === 'create') return { type: 'create', path: job.path, content }
  return { type: 'edit', path: job.path, edit: () => content }
}

function interrupted(error: unknown, done: number): unknown {
  if (!(error instanceof StoreError)) return error
  const count = countText(done, 'memory was', 'memories were')
  return new CommandError(
    error.code,
    `${error.message}; ${count} imported before`,
    'Run it again with --on-conflict skip to continue where it stopped',
  )
}
