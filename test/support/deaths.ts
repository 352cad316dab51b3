// The deaths and errors that tests try at every operation of a simulated disk: one for each
// different trace that they leave. Independent of the files written.

import type { ErrorCode } from '../../src/errors.ts'
import type { Fault, FaultyDisk, Loss, Moment } from './faulty-disk.ts'
import { full, seed } from './seed.ts'

export interface Death {
  readonly moment: Moment
  readonly loss: Loss
}

/** A process that was killed: the kernel keeps all completed writes. */
export const killed: Death = { moment: 'torn', loss: 'nothing' }
/** A power failure that takes contents along and leaves the names of their files. */
export const unsynced: Death = { moment: 'after', loss: 'contents' }
/** A power failure that takes all along that was not synced. */
export const unplugged: Death = { moment: 'before', loss: 'contents and names' }

/**
 * Where each operation is struck, every other death leaves what one of these does: what there is
 * after an operation is there before the next one, and of a write that a power failure tears
 * nothing was synced.
 */
export const everyDeath: readonly Death[] = [
  { moment: 'before', loss: 'nothing' },
  killed,
  unsynced,
  unplugged,
]

/** An error of the disk, and how many operations have it. */
export type Failure = readonly [code: ErrorCode, times: number]
export const fullOnce: Failure = ['storage_full', 1]
export const failedOnce: Failure = ['storage_failed', 1]
export const broken: Failure = ['storage_failed', Infinity]
export const everyError: readonly Failure[] = [fullOnce, failedOnce, broken]

/** Whether the disk is as after the first of `everyDeath`: nothing but a write can be torn. */
export function wasBefore(disk: Pick<FaultyDisk, 'log'>, fault: Fault): boolean {
  if (fault.kind !== 'death' || fault.moment !== 'torn') return false
  const struck = disk.log[fault.at - 1]
  return struck !== undefined && !struck.startsWith('write ')
}

/** With FULL=1 the kinds of death strike by turns, in an order that follows from the seed. */
export function struckBy(death: Death, operations: readonly number[]): readonly number[] {
  if (!full) return operations
  const { length } = everyDeath
  return operations.filter((at) => (at + seed) % length === everyDeath.indexOf(death))
}
