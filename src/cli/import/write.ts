// Writes what an import has planned, one commit for each memory. A failure (a full disk, Ctrl-C)
// leaves whole memories and says how many; the same command goes on from there.

import type { WorkOptions } from '../../async.ts'
import { StoreError } from '../../errors.ts'
import type { Change } from '../../store/changes/changes.ts'
import type { Author } from '../../store/commits/commit-context.ts'
import type { MemoryStore } from '../../store/memory-store.ts'
import { CommandError } from '../call/command-error.ts'
import { countText } from '../text/sizes.ts'
import { type Job, readText } from './plan.ts'
import { type Candidate, UnsuitableError } from './source.ts'

/** Commits in flight at a time; they share their writes to disk. */
const WINDOW = 64

const goOn = 'Run it again: it continues where it stopped'

/** Returns the number of commits. Throws with how many memories were imported before. */
export async function writeJobs(
  store: MemoryStore,
  jobs: readonly Job[],
  author: Author,
  { signal, progress }: WorkOptions,
): Promise<number> {
  const { contentBytes } = (await store.status()).settings.limits
  let done = 0
  let commits = 0
  for (let at = 0; at < jobs.length; at += WINDOW) {
    if (signal?.aborted === true) {
      throw interrupted(new StoreError('cancelled', 'Cancelled'), done)
    }
    const window = jobs.slice(at, at + WINDOW)
    const results = await Promise.allSettled(
      window.map(async (job) => store.as(author).apply([changeOf(job, contentBytes)])),
    )
    const applied = results.filter((result) => result.status === 'fulfilled')
    done += applied.length
    commits += applied.filter(({ value }) => value.commit !== undefined).length
    const failed = results.find((result) => result.status === 'rejected')
    if (failed !== undefined) throw interrupted(failed.reason, done)
    progress?.(done, jobs.length)
  }
  return commits
}

/** A memory that was changed or moved since it was planned to be overwritten is not. */
function changeOf({ candidate, current }: Job, limit: number): Change {
  const content = contentOf(candidate, limit)
  if (current === undefined) return { type: 'create', path: candidate.path, content }
  const { path, sha256: expectedSha256 } = current
  return { type: 'write', path, content, expectedSha256 }
}

/** Read again: a source may be larger than what fits into RAM, and may change in the meantime. */
function contentOf(candidate: Candidate, limit: number): string {
  try {
    return readText(candidate, limit)
  } catch (error) {
    if (!(error instanceof UnsuitableError)) throw error
    throw new StoreError('invalid_input', `${candidate.origin} has changed: ${error.message}`)
  }
}

function interrupted(error: unknown, done: number): unknown {
  if (!(error instanceof StoreError)) return error
  const { code, details, cause } = error
  const count = countText(done, 'memory was', 'memories were')
  const message = `${error.message}; ${count} imported before`
  return new CommandError(code, message, goOn, { details, cause })
}
