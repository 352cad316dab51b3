// Argon2id (FORMAT §7, §7.5), in a worker thread that ends afterwards: the event loop runs on,
// and the hundreds of megabytes are released, which a WebAssembly heap never does otherwise.

import { utf8 } from '../bytes.ts'
import { StoreError } from '../errors.ts'
import { argon2, type StretchParameters } from '../limits.ts'
import { checkNotCancelled } from '../time-slice.ts'
import { findWorker, JobThread } from '../worker-threads.ts'
import type { StretchJob } from './argon2.ts'
import { wipe } from './sodium.ts'

export interface StretchInput extends StretchParameters {
  readonly passphrase: string
  /** 16 bytes. */
  readonly salt: Uint8Array
}

/**
 * The 32-byte key. Throws `weak_key_parameters`, before any work, for parameters outside the
 * bounds: too low exposes the passphrase, too high exhausts the machine. Throws `out_of_memory`
 * and, at once, `cancelled`.
 */
export async function stretchPassphrase(
  input: StretchInput,
  signal?: AbortSignal,
): Promise<Uint8Array> {
  const { passphrase, salt, passes, memoryKiB } = input
  checkStretchParameters({ passes, memoryKiB })
  const job = { password: utf8(passphrase.normalize('NFC')), salt, passes, memoryKiB }
  const key = await runJob(job, signal)
  if (key !== undefined) return key
  throw new StoreError(
    'out_of_memory',
    `Stretching this passphrase needs ${Math.ceil(memoryKiB / 1024)} MiB of free memory`,
  )
}

export function isStretchAllowed({ passes, memoryKiB }: StretchParameters): boolean {
  return isWithin(passes, argon2.passes) && isWithin(memoryKiB, argon2.memoryKiB)
}

function checkStretchParameters(parameters: StretchParameters): void {
  if (isStretchAllowed(parameters)) return
  throw new StoreError(
    'weak_key_parameters',
    `A passphrase must be stretched with ${range(argon2.passes)} passes of Argon2id over ` +
      `${range(argon2.memoryKiB)} KiB`,
  )
}

function isWithin(value: number, { floor, ceiling }: typeof argon2.passes): boolean {
  return Number.isInteger(value) && value >= floor && value <= ceiling
}

function range({ floor, ceiling }: typeof argon2.passes): string {
  return `${floor} to ${ceiling}`
}

async function runJob(
  job: StretchJob,
  signal: AbortSignal | undefined,
): Promise<Uint8Array | undefined> {
  checkNotCancelled(signal)
  const entry = findWorker(import.meta.url, 'argon2-worker')
  if (entry !== undefined) {
    const thread = new JobThread<StretchJob, Uint8Array | undefined>(entry)
    // Cancelled before the thread has ended: releasing its memory takes a while.
    const key = thread.run(job, { signal, cancelMs: 0 }).finally(() => void thread.end())
    // The thread has a copy.
    wipe(job.password)
    return key
  }
  const { stretch } = await import('./argon2.ts')
  return stretch(job)
}
