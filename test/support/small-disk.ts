// A small disk that is really there, for tests of what happens when it is full or read-only. Root
// may mount one, though a container may refuse it to root, too.

import { execFileSync } from 'node:child_process'
import { closeSync, openSync, writeSync } from 'node:fs'

export const isRoot: boolean = process.getuid?.() === 0

/** Whether this process may mount: a disk in RAM is over the directory from now on. */
export function mountDisk(directory: string, size: string): boolean {
  try {
    mount('-t', 'tmpfs', '-o', `size=${size}`, 'tmpfs', directory)
    return true
  } catch {
    return false
  }
}

export function remountDisk(directory: string, mode: 'ro' | 'rw'): void {
  mount('-o', `remount,${mode}`, directory)
}

export function unmountDisk(directory: string): void {
  execFileSync('umount', ['-l', directory])
}

/** To the last byte, with a file that may be removed again. */
export function fillDisk(filler: string): void {
  const fd = openSync(filler, 'a')
  for (let size = 65_536; size > 0;) {
    try {
      if (writeSync(fd, Buffer.alloc(size)) < size) size = 0
    } catch {
      size = Math.floor(size / 2)
    }
  }
  closeSync(fd)
}

function mount(...args: readonly string[]): void {
  execFileSync('mount', args, { stdio: 'ignore' })
}
