// A repack by another process, which holds the lock for packing from its beginning to its end: the
// requests that other processes make during it.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { openDiskObjectStore } from '../../src/git/disk-store/disk-object-store.ts'
import { commitErasure, erasure, expectSound, prepareStore } from '../support/erasable-store.ts'
import { expectErased } from '../support/erasure.ts'

const program = fileURLToPath(new URL('../support/slow-compact.mjs', import.meta.url))
const lockWaitMs = 100

interface Compaction {
  /** Lets it do its work, and end. */
  readonly goOn: () => void
  /** Resolves with the exit code. */
  readonly ended: Promise<unknown>
}

/** Resolves once the lock is held. */
async function startCompaction(directory: string): Promise<Compaction> {
  const child = spawn(process.execPath, [program, directory], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const ended = once(child, 'exit').then(([code]: unknown[]) => code)
  await once(child.stdout, 'data')
  return { goOn: () => void child.stdin.end(), ended }
}

test(
  'an erasure waits for it, longer than anything else would, and is done',
  { tags: 'slow' },
  async () => {
    const place = await prepareStore()
    const store = await openDiskObjectStore({ ...place, lockWaitMs })
    const { goOn, ended } = await startCompaction(place.directory)
    await expect(store.checkpoint()).rejects.toMatchObject({ code: 'locked' })
    await commitErasure(store, erasure)
    expect(store.status().purgePending).toBe(erasure.dead.size)
    const checkpoint = store.checkpoint()
    await new Promise((resolve) => setTimeout(resolve, 5 * lockWaitMs))
    expect(store.status().purgePending).toBe(erasure.dead.size)
    goOn()
    await checkpoint
    expect(store.status().purgePending).toBe(0)
    expect(await ended).toBe(0)
    expectErased(place.directory, store, erasure)
    await store.close()
    expectSound(place)
  },
)
