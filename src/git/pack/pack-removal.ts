// Removes packs, and git's files that refer to them. Must be called only after everything needed
// from a pack is durable elsewhere. Knows no locks.

import type { Disk } from '../../disk/disk.ts'

/**
 * The files of a pack, in the order of removal. The pack is first: a crash then leaves an index
 * without a pack, which readers ignore and which holds no object.
 */
const extensions = ['pack', 'idx', 'rev', 'bitmap', 'mtimes', 'promisor', 'keep']
/** The name of the multi-pack-index, a file or, in newer versions of git, a directory. */
const multiPackIndex = 'multi-pack-index'

/** The multi-pack-index is removed first: git reports damage if it names a missing pack. */
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
    // The directory itself is kept: git looks only for the files in it.
    if (file !== `${multiPackIndex}.d`) disk.remove(path)
  }
}

/**
 * Removes indexes without a pack. They are gitlocket's: git never leaves an index alone. Requires
 * both locks of the store: an index that is about to get its pack looks the same.
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
 * Names with a pack but no index, or an index but no pack: a removal was interrupted, or a running
 * git is about to complete them. Without extension.
 */
export function brokenPacks(disk: Disk, directory: string): string[] {
  // Git creates the .keep file before all other files of a pack.
  const files = disk.list(directory).filter((file) => /^pack-.*\.(?!keep$)/.test(file))
  const present = new Set(files)
  const names = new Set(files.map((file) => file.replace(/\.[a-z]+$/, '')))
  return [...names].filter((name) => {
    return !present.has(`${name}.pack`) || !present.has(`${name}.idx`)
  })
}
