// What stock git and git-filter-repo do to a whole repository: the peers of redaction and
// repack. Each takes a closed bare repository, alters it, and gives milliseconds.

import { writeFileSync } from 'node:fs'
import { findVersion, run } from '../machine.ts'
import { timed } from '../rounds.ts'

export const filterRepo = 'git filter-repo'

/** Throws, saying what to install, if it is not there. */
export function checkFilterRepo(): void {
  if (findVersion('git-filter-repo') === undefined) {
    throw new Error('install git-filter-repo, and have it in the PATH')
  }
}

/**
 * Takes one blob out of all history. filter-repo itself ends with the expiry of reflogs and
 * `git gc --prune=now`, which is in the time.
 */
export async function stripBlob(cwd: string, blob: string, listFile: string): Promise<number> {
  writeFileSync(listFile, `${blob}\n`)
  const args = ['filter-repo', '--force', '--quiet', '--strip-blobs-with-ids', listFile]
  const elapsed = await timed(() => run('git', args, { cwd }))
  checkGone(cwd, `${blob}\n`)
  return elapsed
}

/** With the compression that git itself would choose: a store says that it wants less of it. */
export function collectGarbage(cwd: string, aggressive: boolean): Promise<number> {
  const how = aggressive ? ['--aggressive'] : []
  const args = ['-c', 'core.compression=-1', 'gc', '--quiet', '--prune=now', ...how]
  return timed(() => run('git', args, { cwd }))
}

/** The blob that a commit of the bench put in: each changes one memory. */
export function blobOf(cwd: string, commit: string): string {
  const words = ['diff-tree', '-r', '--no-commit-id', '--diff-filter=AM', commit]
  const [line = '', ...more] = run('git', words, { cwd }).toString().trimEnd().split('\n')
  const blob = line.split(/\s/)[3]
  if (blob !== undefined && more.length === 0) return blob
  throw new Error(`Commit ${commit} does not change one file`)
}

/** Throws if git still has one of the objects, given one a line. */
export function checkGone(cwd: string, objects: string): void {
  const output = run('git', ['cat-file', '--batch-check'], { cwd, input: objects }).toString()
  const lines = output.trimEnd().split('\n')
  const left = lines.filter((line) => !line.endsWith(' missing')).length
  if (left > 0) throw new Error(`git still has ${left} of ${lines.length} erased objects`)
}

/** Throws if git finds anything to say: damage, or objects that nothing needs. */
export function checkSound(cwd: string): void {
  const output = run('git', ['fsck', '--full', '--strict', '--no-progress'], { cwd }).toString()
  if (output !== '') throw new Error(`git fsck says: ${output.split('\n')[0] ?? ''}`)
}
