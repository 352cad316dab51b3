// Processes that are killed in the middle of a sync, with whatever git runs for them at the remote:
// nothing that was acknowledged is lost, here or there, and nothing is in the way of the next one.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { formatIdentity } from '../../src/index.ts'
import {
  bareRemote,
  checkWithGit,
  type Clone,
  firstClone,
  headOf,
  joinClone,
  sync,
  syncAll,
} from '../support/clones.ts'
import { patience } from '../support/patience.ts'
import { full } from '../support/seed.ts'
import { author, reopen } from '../support/stores.ts'
import { temporaryDirectory } from '../support/temporary.ts'

const program = fileURLToPath(new URL('../support/sync-process.mjs', import.meta.url))
const kills = full ? 60 : 2

interface Killed {
  readonly written: readonly string[]
  readonly sent: readonly string[]
}

/** Lets it work until it has sent something, and `ms` longer. */
async function killAfter({ place }: Clone, name: string, ms: number): Promise<Killed> {
  const identityFile = `${temporaryDirectory()}/identity`
  writeFileSync(identityFile, formatIdentity(place.identity), { mode: 0o600 })
  const args = [program, place.directory, place.stateDirectory, identityFile, name]
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'pipe'] })
  let output = ''
  let errors = ''
  child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()))
  child.stderr.on('data', (chunk: Buffer) => (errors += chunk.toString()))
  const closed = once(child, 'close')
  await expect.poll(() => output + errors, patience).toMatch(/^sent|Error/m)
  await new Promise((resolve) => setTimeout(resolve, ms))
  child.kill('SIGKILL')
  await closed
  expect(errors).toBe('')
  const paths = (word: string): string[] => {
    return [...output.matchAll(new RegExp(`^${word} (.*)\n`, 'gm'))].flatMap(
      ([, path]) => path ?? [],
    )
  }
  return { written: paths('wrote'), sent: paths('sent') }
}

test(
  'processes killed while they sync lose nothing that they acknowledged',
  { tags: 'slow' },
  async () => {
    const remote = bareRemote()
    const first = await firstClone(remote)
    await sync(first)
    const joined = await joinClone(first, remote)
    await joined.store.close()
    const written: string[] = []
    for (let round = 0; round < kills; round += 1) {
      // A different moment each time, over several syncs.
      const killed = await killAfter(joined, `round-${round}`, (round * 37) % 150)
      written.push(...killed.written)
      const change = { type: 'create', path: `/first/${round}.md`, content: 'first\n' } as const
      await first.store.as(author).apply([change])
      await sync(first)
      for (const path of killed.sent) expect(await first.store.read(path), path).toBeDefined()
    }
    const again = { ...joined, store: await reopen(joined.place) }
    for (const path of written) expect(await again.store.read(path), path).toBeDefined()
    await syncAll([again, first])
    expect(await headOf(again)).toBe(await headOf(first))
    for (const path of written) expect(await first.store.read(path), path).toBeDefined()
    for (const { store } of [again, first]) {
      await store.maintenance.verify()
      await store.close()
    }
    expectTidy(joined)
    for (const directory of [remote, first.place.directory, joined.place.directory]) {
      checkWithGit(directory)
    }
  },
)

function expectTidy({ place }: Clone): void {
  const files = readdirSync(place.directory, { recursive: true, encoding: 'utf8' })
  expect(files.filter((name) => /tmp_|\.lock|\/lock|owner\.|pending\./.test(name))).toEqual([])
}
