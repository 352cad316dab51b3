// What no implementation can do without on this machine: a signature, an envelope, a synced append,
// the start of a process. Measured in the run, so that each row can be set against its limit.

import { closeSync, fdatasyncSync, openSync, writeSync } from 'node:fs'
import { join } from 'node:path'
// Internal: the same primitives as the product's own.
import { saltLength, sealBytes, headerLength } from '../../dist/crypto/aead.js'
import { sign, signingKeyPair } from '../../dist/crypto/signature.js'
import { run } from './machine.ts'
import { timed } from './rounds.ts'
import type { RunContext } from './run-context.ts'
import { summarize } from './statistics.ts'

/** Medians in milliseconds. */
export interface Limits {
  readonly signature: number
  /** Of 1.5 kB. */
  readonly envelope: number
  readonly append: number
  /** `node -e 0` */
  readonly start: number
}

const samples = 400
const starts = 20
const padded = new Uint8Array(1536)

export async function measureLimits(context: RunContext): Promise<Limits> {
  const directory = context.directory('limits')
  const pair = signingKeyPair(new Uint8Array(32).fill(1))
  const message = new Uint8Array(600)
  const seal = {
    header: new Uint8Array(headerLength),
    salt: new Uint8Array(saltLength),
    key: new Uint8Array(32),
    context: new Uint8Array(40),
    plaintext: padded,
  }
  const fd = openSync(join(directory, 'log'), 'a')
  const limits = {
    signature: await median(samples, () => sign(message, pair)),
    envelope: await median(samples, () => sealBytes(seal)),
    append: await median(samples, () => {
      writeSync(fd, padded)
      fdatasyncSync(fd)
    }),
    start: await median(starts, () => run(process.execPath, ['-e', '0'], { cwd: directory })),
  }
  closeSync(fd)
  return limits
}

async function median(count: number, work: () => unknown): Promise<number> {
  const all: number[] = []
  for (let done = 0; done < count; done += 1) all.push(await timed(work))
  return summarize(all).median
}
