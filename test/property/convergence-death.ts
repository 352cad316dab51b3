// The death of a process at some file operation of its work.

import type { OpenOptions } from '../../src/index.ts'
import { FaultyDisk, type Loss, type Moment } from '../support/faulty-disk.ts'
import { joiningPacker } from '../support/inline-packer.ts'

/** The process dies at file operation `at` from its start, or after its work. */
export interface Death {
  readonly at: number
  readonly moment: Moment
  readonly loss: Loss
}

/** Runs work that dies, at the latest when it is done; does not report how far it came. */
export async function dying(
  death: Death,
  work: (options: (directory: string) => Pick<OpenOptions, 'disk' | 'packer'>) => Promise<void>,
): Promise<void> {
  const disk = new FaultyDisk({ kind: 'death', ...death })
  try {
    await work((directory) => ({ disk, packer: joiningPacker(disk, directory) }))
  } catch (error) {
    if (!disk.dead) throw error
  } finally {
    disk.die(death.loss)
    disk.release()
  }
}
