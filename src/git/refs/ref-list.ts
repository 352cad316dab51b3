// All refs of a repository, loose and packed, as git stores them. Must never change the value of
// refs/heads/main.

import type { Disk } from '../../disk/disk.ts'
import { filesBelow, FileSweep } from '../../disk/file-sweep.ts'
import type { Oid } from '../objects/object.ts'
import { branchName } from './branch.ts'
import { editUnderLock, type GitFileLockContext, textOf } from './git-file-lock.ts'

export const lockSuffix = '.lock'
const packedName = 'packed-refs'

export interface Ref {
  readonly name: string
  /** The commit or tag that it points at; undefined for a symbolic ref. */
  readonly oid: Oid | undefined
  /** The ref that a symbolic ref points at. */
  readonly target?: string | undefined
}

/** All refs, including packed refs that a loose ref hides. */
export function listRefs(disk: Disk, directory: string): readonly Ref[] {
  return [...looseRefs(disk, directory), ...packedRefs(disk, directory)]
}

/** Removes a ref, loose and packed; the packed one first, since the loose one hides it. */
export async function removeRef(files: GitFileLockContext, name: string): Promise<void> {
  await sweepPackedRefs(files, (ref) => ref.name === name)
  const sweep = new FileSweep(files.disk)
  sweep.remove(`${files.directory}/${name}`)
  await sweep.sync()
}

export function looseRefs(disk: Disk, directory: string): Ref[] {
  return filesBelow(disk, `${directory}/refs`).flatMap((path): Ref[] => {
    const name = path.slice(directory.length + 1)
    if (name.endsWith(lockSuffix)) return []
    const text = textOf(disk, path)
    const symbolic = /^ref: (.*?)\s*$/.exec(text)
    if (symbolic !== null) return [{ name, oid: undefined, target: symbolic[1] }]
    const oid = /^[0-9a-f]{40}(?=\s*$)/.exec(text)?.[0]
    return oid === undefined ? [] : [{ name, oid }]
  })
}

function packedRefs(disk: Disk, directory: string): Ref[] {
  return textOf(disk, `${directory}/${packedName}`)
    .split('\n')
    .flatMap((line): Ref[] => {
      const [, oid, name] = /^([0-9a-f]{40}) (.+)$/.exec(line) ?? []
      return name === undefined ? [] : [{ name, oid }]
    })
}

/** Removes refs from packed-refs. A line that starts with ^ belongs to the line before. */
export async function sweepPackedRefs(
  files: GitFileLockContext,
  isErasedRef: (ref: Ref) => boolean,
): Promise<void> {
  // Then packed-refs holds only an outdated value of the branch.
  const isHidden = files.disk.stat(`${files.directory}/${branchName}`) !== undefined
  await editUnderLock(files, packedName, (text) => {
    let isKept = true
    const kept = text.split('\n').filter((line) => {
      const [, oid, name] = /^([0-9a-f]{40}) (.+)$/.exec(line) ?? []
      if (oid !== undefined && name !== undefined) {
        isKept = (name === branchName && !isHidden) || !isErasedRef({ name, oid })
      } else if (!line.startsWith('^')) isKept = true
      return isKept
    })
    return kept.join('\n')
  })
}
