// Real processes that have one store open and write by turns. None keeps the lock between its
// commands, and none waits here: a process that is stopped, or dies, right after its answer blocks
// no other, and each builds on what the others wrote.

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'
import {
  createDiskObjectStore,
  openDiskObjectStore,
} from '../../src/git/disk-store/disk-object-store.ts'
import type { ObjectStore } from '../../src/git/object-store.ts'
import { git, temporaryDirectory } from '../support/temporary.ts'
import { TestHistory } from '../support/transitions.ts'

const turnProcess = fileURLToPath(new URL('../support/turn-process.mjs', import.meta.url))
const options = { idleMs: Infinity, lockWaitMs: 0 }

interface Writer {
  readonly process: ChildProcess
  /** Gives an order, and resolves with the answer. */
  readonly tell: (order: 'write' | 'hold') => Promise<string>
  readonly end: () => Promise<unknown>
}

async function start(directory: string): Promise<Writer> {
  const child = spawn(process.execPath, [turnProcess, directory], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  const answers = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  const answer = async (): Promise<string> => String((await answers.next()).value)
  const ended = once(child, 'close')
  expect(await answer()).toBe('open')
  return {
    process: child,
    tell(order) {
      child.stdin.write(`${order}\n`)
      return answer()
    },
    end() {
      child.stdin.end()
      return ended
    },
  }
}

async function write(store: ObjectStore): Promise<string> {
  return store.exclusive(async () => {
    const transition = new TestHistory(1, store.head).next()
    await store.commit([transition])
    return transition.next
  })
}

function parentOf(store: ObjectStore, commit: string): string | undefined {
  const body = Buffer.from(store.read(commit)?.body ?? []).toString()
  return /^parent ([0-9a-f]{40})$/m.exec(body)?.[1]
}

async function newStore(): Promise<{ readonly directory: string; readonly store: ObjectStore }> {
  const directory = temporaryDirectory()
  return { directory, store: await createDiskObjectStore({ ...options, directory }) }
}

test('two processes write by turns, each on top of the other', { tags: 'slow' }, async () => {
  const { directory, store } = await newStore()
  const other = await start(directory)
  const commits: string[] = []
  for (let turn = 0; turn < 24; turn += 1) {
    // Runs of one, two and three commands each, and a checkpoint by either side now and then.
    for (let own = 0; own <= turn % 3; own += 1) commits.push(await write(store))
    if (turn % 8 === 7) await store.checkpoint()
    for (let theirs = 0; theirs <= turn % 2; theirs += 1) commits.push(await other.tell('write'))
    store.refresh()
    expect(store.head).toBe(commits.at(-1))
  }
  await other.end()
  await store.close()
  expect(git(['rev-list', '--reverse', 'main'], directory).trim().split('\n')).toEqual(commits)
  git(['fsck', '--strict', '--no-dangling'], directory)
})

test(
  'a process that is stopped right after its answer blocks no other',
  { tags: 'slow' },
  async () => {
    const { directory, store } = await newStore()
    const other = await start(directory)
    for (let turn = 0; turn < 10; turn += 1) {
      const before = await other.tell('write')
      other.process.kill('SIGSTOP')
      const commit = await write(store)
      expect(parentOf(store, commit)).toBe(before)
      other.process.kill('SIGCONT')
      expect(parentOf(store, await other.tell('write'))).toBe(commit)
    }
    await other.end()
    await store.close()
  },
)

test(
  'killed right after its answer, or with the lock, a process leaves the store to others',
  {
    tags: 'slow',
  },
  async () => {
    const { directory, store } = await newStore()
    for (const last of ['write', 'hold'] as const) {
      const other = await start(directory)
      await other.tell('write')
      const before = await other.tell(last)
      other.process.kill('SIGKILL')
      await once(other.process, 'close')
      const commit = await write(store)
      if (last === 'write') expect(parentOf(store, commit)).toBe(before)
      expect(await write(store)).toBe(store.head)
    }
    await store.checkpoint()
    await store.close()
    expect(readdirSync(join(directory, 'gitlocket')).toSorted()).toEqual(['journal-a', 'journal-b'])
    git(['fsck', '--strict', '--no-dangling'], directory)
  },
)

test(
  'a mark or lock that was tampered with costs a look, and no commit',
  {
    tags: 'slow',
  },
  async () => {
    const { directory, store } = await newStore()
    const other = await start(directory)
    const commits: string[] = []
    for (const name of ['last-writer', 'lock', 'last-writer', 'lock']) {
      commits.push(await write(store), await other.tell('write'))
      writeFileSync(join(directory, 'gitlocket', name), 'tampered', {
        flag: name === 'lock' ? 'w' : 'r+',
      })
      commits.push(await write(store), await other.tell('write'))
    }
    await other.end()
    await store.close()
    const reopened = await openDiskObjectStore({ ...options, directory })
    expect(reopened.head).toBe(commits.at(-1))
    await reopened.close()
    expect(git(['rev-list', '--reverse', 'main'], directory).trim().split('\n')).toEqual(commits)
  },
)
