// The lock of a process that serves a directory, for as long as it does.

import type { ProcessLock } from './process-lock.ts'

/** Holds a lock until the result is called. Throws `locked` at once if another process has it. */
export function holdForLife(lock: ProcessLock): Promise<() => Promise<void>> {
  return new Promise((done, reject) => {
    const held = lock.hold(0, () => {
      return new Promise<void>((release) => {
        done(async () => {
          release()
          await held
        })
      })
    })
    held.catch(reject)
  })
}
