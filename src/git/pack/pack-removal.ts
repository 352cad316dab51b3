// Removing packs, and what of stock git's names their objects. Must be called only once whatever is
// still needed of a pack is durable elsewhere. Knows no locks.

import type { Disk } from '../../disk/disk.ts'

/**
 * Files that belong to a pack, in the order of removal. The pack goes first: what a crash leaves is
 * then an index of nothing, which no reader takes for a pack and which holds no object.
 */
const extensions = ['pack', 'idx', 'rev', 'bitmap', 'mtimes', 'promisor', 'keep']
/** What a multi-pack-index consists of, in files and, in newer gits, a directory. */
const multiPackIndex = 'multi-pack-index'

/** The multi-pack-index goes first: git takes one that names a missing pack for damage. */
export async function removePacks(
  disk: Disk,
  directory: string,
  names: readonly string[],
): Promise<void> {
  removeMultiPackIndex(disk, directory)
  for (const name of names) {
    for (const extension of extensions) disk.remove(`${directory}/${name}.${extension}`)
  }
  await disk.syncDirectory(directory)
}

export function removeMultiPackIndex(disk: Disk, directory: string): void {
  for (const file of disk.list(directory)) {
    if (!file.startsWith(multiPackIndex)) continue
    const path = `${directory}/${file}`
    const parts = disk.list(path)
    for (const part of parts) disk.remove(`${path}/${part}`)
    // The directory itself stays: git looks only for the files in it.
    if (file !== `${multiPackIndex}.d`) disk.remove(path)
  }
}

/**
 * Removes indexes whose pack never came or is gone: of ours, since git shows and removes the two in
 * an order in which there is never an index alone. Only under both locks of the store: without them
 * one that is about to get its pack looks the same.
 */
export function removeLoneIndexes(disk: Disk, directory: string): void {
  const files = new Set(disk.list(directory))
  for (const name of brokenPacks(disk, directory).filter((one) => files.has(`${one}.idx`))) {
    for (const extension of extensions) {
      const file = `${name}.${extension}`
      if (files.has(file)) disk.remove(`${directory}/${file}`)
    }
  }
}

/**
 * Names that have a pack but no index, or the other way round: what was being removed when a
 * process died, or what a running git is about to complete. Without extension.
 */
export function brokenPacks(disk: Disk, directory: string): string[] {
  // Git makes the .keep of a pack before anything else of it.
  const files = disk.list(directory).filter((file) => /^pack-.*\.(?!keep$)/.test(file))
  const present = new Set(files)
  const names = new Set(files.map((file) => file.replace(/\.[a-z]+$/, '')))
  return [...names].filter((name) => {
    return !present.has(`${name}.pack`) || !present.has(`${name}.idx`)
  })
}
