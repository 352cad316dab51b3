// Copies of the files of stores, durable when they resolve.

import { dirname } from 'node:path'
import { pause } from '../async.ts'
import type { Random } from '../crypto/random.ts'
import { type Disk, makeDurableDirectory } from '../disk/disk.ts'
import { filesBelow } from '../disk/file-sweep.ts'
import { holdStill, isOfCopy } from '../git/disk-store/repository-copy.ts'
import { MEBIBYTE } from '../limits.ts'

/** Copies a repository while it holds still, also next to the process that has it open. */
export function copyRepository(
  { disk, random }: { readonly disk: Disk; readonly random: Random },
  from: string,
  to: string,
): Promise<void> {
  return holdStill(
    { directory: from, disk, random },
    {
      packs: () => copyFiles(disk, from, to, isPack),
      rest: () => copyFiles(disk, from, to, isOfCopy),
    },
  )
}

function isPack(path: string): boolean {
  return path.startsWith('objects/pack/') && isOfCopy(path)
}

/**
 * Copies the files below `from` that are chosen and not there yet. Durable when it resolves, with
 * the names in all directories that were made.
 */
export async function copyFiles(
  disk: Disk,
  from: string,
  to: string,
  isChosen: (path: string) => boolean,
): Promise<void> {
  const directories = new Set([to])
  await makeDurableDirectory(disk, to)
  for (const file of filesBelow(disk, from)) {
    const path = file.slice(from.length + 1)
    const target = `${to}/${path}`
    if (!isChosen(path) || disk.stat(target) !== undefined) continue
    await makeDurableDirectory(disk, dirname(target))
    await copyFile(disk, file, target)
    directories.add(dirname(target))
  }
  for (const directory of directories) await disk.syncDirectory(directory)
}

async function copyFile(disk: Disk, from: string, to: string): Promise<void> {
  const source = disk.open(from, 'r')
  try {
    const target = disk.open(to, 'wx')
    try {
      const size = disk.size(source)
      const buffer = new Uint8Array(Math.min(size, MEBIBYTE))
      for (let at = 0; at < size; at += buffer.length) {
        const count = disk.read(source, buffer, at)
        disk.write(target, buffer.subarray(0, count), at)
        await pause(undefined)
      }
      await disk.sync(target)
    } finally {
      disk.close(target)
    }
  } finally {
    disk.close(source)
  }
}
