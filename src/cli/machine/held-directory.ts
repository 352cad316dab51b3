// A directory that is held open, so that it remains the same one even if its path leads elsewhere
// in the meantime: no link is followed below the place that the user has named. On systems without
// a list of open files the path is used instead.

import { closeSync, constants, openSync } from 'node:fs'
import { join } from 'node:path'

/** Where the system shows the open files of this process: files opened below appear there. */
const OPEN_FILES = process.platform === 'linux' ? '/proc/self/fd' : undefined

const { O_DIRECTORY, O_NOFOLLOW, O_RDONLY } = constants

export class HeldDirectory {
  readonly #file: number
  /** Undefined if places are below the descriptor. */
  readonly #path: string | undefined

  private constructor(file: number, path: string | undefined) {
    this.#file = file
    this.#path = path
  }

  /**
   * Throws a system error. A link is followed only if it is the last part of `path`. `isByPath`
   * makes places that remain valid once it is closed.
   */
  static open(path: string, isByPath = OPEN_FILES === undefined): HeldDirectory {
    return new HeldDirectory(openSync(path, O_RDONLY | O_DIRECTORY), isByPath ? path : undefined)
  }

  /** Throws a system error: ELOOP or ENOTDIR for a link. */
  enter(name: string): HeldDirectory {
    const file = openSync(this.place(name), O_RDONLY | O_DIRECTORY | O_NOFOLLOW)
    return new HeldDirectory(file, this.#path === undefined ? undefined : this.place(name))
  }

  place(name: string): string {
    return join(this.#path ?? `${OPEN_FILES}/${this.#file}`, name)
  }

  close(): void {
    closeSync(this.#file)
  }
}

interface ParentOptions {
  readonly isByPath?: boolean | undefined
  /** Gets each directory on the way before it is entered, to create it. */
  readonly make?: (place: string) => void
}

/** Runs `work` in the directory of the file `name`, whose segments are below `root`. */
export function withParent<T>(
  root: string,
  name: string,
  work: (parent: HeldDirectory, last: string) => T,
  { isByPath, make }: ParentOptions = {},
): T {
  const segments = name.split('/')
  const last = segments.pop() ?? ''
  let held = HeldDirectory.open(root, isByPath)
  try {
    for (const segment of segments) {
      make?.(held.place(segment))
      const next = held.enter(segment)
      held.close()
      held = next
    }
    return work(held, last)
  } finally {
    held.close()
  }
}
