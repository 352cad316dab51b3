// A store of fourteen commits, in packs unless a journal is asked for, and the transition that
// erases the fifth one's blob: for tests of the purge together with stock git.

import { execFileSync } from 'node:child_process'
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect } from 'vitest'
import { createDiskObjectStore } from '../../src/git/disk-store/disk-object-store.ts'
import type { ObjectStore, Transition } from '../../src/git/object-store.ts'
import { eraseBlob, type Erasure, testSecret } from './erasure.ts'
import { cleanEnvironment, git, temporaryDirectory } from './temporary.ts'
import { TestHistory } from './transitions.ts'

export const history: readonly Transition[] = new TestHistory(31).take(14)
export const erasure: Erasure = eraseBlob(history, 4)

export interface Place {
  readonly directory: string
  readonly secret: Uint8Array
  /** Runs git in the store; returns what it printed, without the line break. */
  readonly run: (...args: string[]) => string
  readonly write: (name: string, text: string | Uint8Array) => void
}

export async function prepareStore({ packAll = true } = {}): Promise<Place> {
  const directory = join(temporaryDirectory(), 'store.git')
  const store = await createDiskObjectStore({ directory, secret: testSecret })
  await store.exclusive(() => store.commit(history.slice(0, 9)))
  await store.checkpoint()
  await store.exclusive(() => store.commit(history.slice(9)))
  if (packAll) await store.close()
  return {
    directory,
    secret: testSecret,
    run: (...args) => git(args, directory).trimEnd(),
    write: (name, content) => {
      mkdirSync(dirname(join(directory, name)), { recursive: true })
      writeFileSync(join(directory, name), content)
    },
  }
}

export function commitErasure(store: ObjectStore, { transition }: Erasure): Promise<void> {
  return store.exclusive(async () => {
    await store.stage(transition.objects)
    await store.commit([{ ...transition, objects: [] }])
  })
}

/** Stock git finds nothing wrong, and prints nothing at all. */
export function expectSound({ directory }: Place): void {
  const options = { cwd: directory, env: cleanEnvironment(), encoding: 'utf8' } as const
  const args = ['-c', 'core.multiPackIndex=true', 'fsck', '--strict', '--full', '--no-dangling']
  expect(execFileSync('git', args, { ...options, stdio: ['ignore', 'pipe', 'pipe'] })).toBe('')
}

export function packFiles(directory: string, pattern: RegExp): string[] {
  return readdirSync(join(directory, 'objects/pack')).filter((name) => pattern.test(name))
}
