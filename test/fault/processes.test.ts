// Several processes on one store, and processes that are killed: no acknowledged write is lost, and
// nothing that a dead process left behind stops the next one.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readdirSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import {
  createStore,
  formatIdentity,
  generateIdentity,
  type Identity,
  openStore,
} from '../../src/index.ts'
import { patience } from '../support/patience.ts'
import { full } from '../support/seed.ts'
import { git, temporaryDirectory } from '../support/temporary.ts'

const program = fileURLToPath(new URL('../support/store-writer.mjs', import.meta.url))

interface Place {
  readonly directory: string
  readonly stateDirectory: string
  readonly identity: Identity
  readonly identityFile: string
}

async function newStore(): Promise<Place> {
  const root = temporaryDirectory()
  const identity = await generateIdentity()
  const identityFile = `${root}/identity`
  writeFileSync(identityFile, formatIdentity(identity), { mode: 0o600 })
  const place = {
    directory: `${root}/store`,
    stateDirectory: `${root}/state`,
    identity,
    identityFile,
  }
  // Three hundred rounds write more than the default limit.
  const { store } = await createStore({ ...place, limits: { memories: 1_000_000 } })
  await store.close()
  return place
}

interface Writer {
  /** What the process has printed, line by line. */
  readonly lines: () => readonly string[]
  readonly kill: () => void
  readonly exit: Promise<number | null>
}

function startWriter(place: Place, name: string, count: number): Writer {
  const { directory, stateDirectory, identityFile } = place
  const args = [program, directory, stateDirectory, identityFile, name, String(count)]
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'pipe'] })
  let output = ''
  let errors = ''
  child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()))
  child.stderr.on('data', (chunk: Buffer) => (errors += chunk.toString()))
  const exit = once(child, 'close').then(([code]: unknown[]) => {
    expect(errors).toBe('')
    return typeof code === 'number' ? code : null
  })
  return {
    lines: () => output.split('\n').slice(0, -1),
    kill: () => child.kill('SIGKILL'),
    exit,
  }
}

test('two processes that write at once keep the writes of both', { tags: 'slow' }, async () => {
  const place = await newStore()
  const each = full ? 200 : 60
  const writers = ['one', 'two'].map((name) => startWriter(place, name, each))
  expect(await Promise.all(writers.map((writer) => writer.exit))).toEqual([0, 0])
  const store = await openStore(place)
  for (const name of ['one', 'two']) {
    expect((await store.list(`/${name}`))?.children).toHaveLength(each)
  }
  expect(await store.maintenance.verify()).toMatchObject({
    commits: 1 + 2 * each,
    memories: 2 * each,
  })
  await store.close()
  git(['fsck', '--strict'], place.directory)
})

test(
  'processes killed under load lose no acknowledged write and leave no lock',
  { tags: 'slow' },
  async () => {
    const place = await newStore()
    const kills = full ? 300 : 3
    const acknowledged: string[] = []
    for (let round = 0; round < kills; round += 1) {
      const name = `round-${round}`
      const writer = startWriter(place, name, 100_000)
      await expect.poll(() => writer.lines().length, patience).toBeGreaterThan(3)
      // A different moment each time, over some tens of commands and a checkpoint now and then.
      await new Promise((resolve) => setTimeout(resolve, (round * 37) % 120))
      writer.kill()
      await writer.exit
      for (const index of writer.lines().slice(1)) acknowledged.push(`/${name}/${index}.md`)
    }
    const store = await openStore(place)
    for (const path of acknowledged) expect(await store.read(path), path).toBeDefined()
    await store.maintenance.verify()
    // The next writer clears away what the dead left.
    const author = { actor: { type: 'user', id: 'survivor' } } as const
    await store.as(author).apply([{ type: 'create', path: '/last.md', content: 'still writable' }])
    await store.close()
    expect(
      readdirSync(`${place.directory}/gitlocket`).filter((file) => /lock|owner/.test(file)),
    ).toEqual([])
    expect(existsSync(`${place.directory}/refs/heads/main.lock`)).toBe(false)
    git(['fsck', '--strict'], place.directory)
  },
)
