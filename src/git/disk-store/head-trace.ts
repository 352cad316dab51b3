// A text that differs after a change of the head of a repository, from the status of a few files:
// for programs that wait for changes of others. Reads no file.

import { systemClock } from '../../clock.ts'
import type { Disk, FileStatus } from '../../disk/disk.ts'
import { journalNames } from '../journal/journal-survey.ts'
import { branchName } from '../refs/branch.ts'
import { ownDirectoryName } from '../refs/repository.ts'

/**
 * A file system may give two writes one time. So a trace differs from every other one as long as
 * the next write could have the same time.
 */
const SETTLED_MS = 3000

/** A write of any process changes a journal, and a checkpoint or a redaction the branch. */
export function traceOfStore(disk: Disk, directory: string): string {
  const journals = journalNames.map((name) => `${ownDirectoryName}/${name}`)
  const files = [...journals, branchName, 'packed-refs'].map((file) => `${directory}/${file}`)
  const now = systemClock()
  const found = files.map((file) => disk.stat(file))
  const trace = found.map(traceOf).join()
  const newest = Math.max(...found.map((status) => status?.mtimeMs ?? 0))
  return now - newest < SETTLED_MS ? `${trace} ${performance.now()}` : trace
}

/** The branch of a repository, with a working tree or without: loose, packed or in a table. */
export function traceOfGit(disk: Disk, repository: string): string {
  const branch = [branchName, 'packed-refs', 'reftable/tables.list']
  const places = [repository, `${repository}/.git`]
  return places
    .flatMap((place) => branch.map((file) => traceOf(disk.stat(`${place}/${file}`))))
    .join()
}

/** Empty without such a file. */
function traceOf(status: FileStatus | undefined): string {
  return status === undefined ? '' : `${status.inode} ${status.size} ${status.mtimeMs}`
}
