// Copies files durably, in pieces, while a server runs. Follows no link.

import { dirname } from 'node:path'
import { pause } from '../async.ts'
import { type Disk, makeDurableDirectory } from '../disk/disk.ts'
import { filesBelow } from '../disk/file-sweep.ts'
import { MEBIBYTE } from '../limits.ts'

/** The files of a directory to copy, by their paths in it. */
export type Choice = (path: string) => boolean

/**
 * Copies the files below `from` that are chosen and not there yet. Durable when it resolves, with
 * the names in all directories that were made.
 */
export async function copyFiles(
  disk: Disk,
  from: string,
  to: string,
  choice: Choice,
): Promise<void> {
  const directories = new Set([to])
  await makeDurableDirectory(disk, to)
  for (const file of filesBelow(disk, from)) {
    const path = file.slice(from.length + 1)
    const target = `${to}/${path}`
    if (!choice(path) || disk.stat(target) !== undefined) continue
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
