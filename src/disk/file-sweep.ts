// Removes files of the repository durably: remembers which directories need a sync. Never follows a
// symbolic link. Must not know why a file is removed.

import { dirname } from '../platform/paths.ts'
import type { Disk } from './disk.ts'

export class FileSweep {
  readonly #disk: Disk
  readonly #changed: Set<string> = new Set()

  constructor(disk: Disk) {
    this.#disk = disk
  }

  remove(path: string): void {
    const directory = path.slice(0, path.lastIndexOf('/'))
    // A removal costs a sync of the directory, so check for the file first.
    if (!this.#disk.list(directory).includes(path.slice(directory.length + 1))) return
    this.removeKnown(path)
  }

  /** Removes a file that was seen in a listing. */
  removeKnown(path: string): void {
    this.#disk.remove(path)
    this.touch(path.slice(0, path.lastIndexOf('/')))
  }

  /** Removes every file below a directory, and keeps the directories. */
  empty(directory: string): void {
    for (const path of filesBelow(this.#disk, directory)) this.removeKnown(path)
  }

  /** Notes that names in a directory have changed. */
  touch(directory: string): void {
    this.#changed.add(directory)
  }

  async sync(): Promise<void> {
    for (const directory of this.#changed) await this.#syncOf(directory)
    this.#changed.clear()
  }

  /** A sync drops its directory: then the removal of that directory is made durable. */
  async #syncOf(directory: string): Promise<void> {
    try {
      await this.#disk.syncDirectory(directory)
    } catch (error) {
      if (this.#disk.stat(directory) !== undefined) throw error
      await this.#syncOf(dirname(directory))
    }
  }
}

/** The paths of all files below a directory; none if it does not exist. */
export function filesBelow(disk: Disk, directory: string): string[] {
  return disk.entries(directory).flatMap(({ name, isDirectory }) => {
    const path = `${directory}/${name}`
    return isDirectory ? filesBelow(disk, path) : [path]
  })
}
