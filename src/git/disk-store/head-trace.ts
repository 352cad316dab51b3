// A text that differs after a change of the head of a repository, from the status of a few files:
// for programs that wait for changes of others. Reads no file.

import type { Disk } from '../../disk/disk.ts'

/** A write of any process changes a journal, and a checkpoint or a redaction the branch. */
export function traceOfStore(disk: Disk, directory: string): string {
  const own = `${directory}/gitlocket`
  const journals = disk.list(own).filter((name) => name.startsWith('journal-'))
  const traces = journals.map((name) => traceOf(disk, `${own}/${name}`))
  return [...traces, traceOfGit(disk, directory)].join()
}

/** The branch of a repository, with a working tree or without: loose, packed or in a table. */
export function traceOfGit(disk: Disk, repository: string): string {
  const branch = ['refs/heads/main', 'packed-refs', 'reftable/tables.list']
  const places = [repository, `${repository}/.git`]
  return places.flatMap((place) => branch.map((file) => traceOf(disk, `${place}/${file}`))).join()
}

/** Empty without such a file. */
function traceOf(disk: Disk, file: string): string {
  const status = disk.stat(file)
  return status === undefined ? '' : `${status.inode} ${status.size} ${status.mtimeMs}`
}
