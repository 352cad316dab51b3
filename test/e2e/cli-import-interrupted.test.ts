// An import as a process that ends in the middle: by Ctrl-C, and by kill -9 again and again. The
// same command continues it. Every single write is test/fault/import-crash.test.ts's.

import type { ChildProcess } from 'node:child_process'
import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { ended, type Home, newHomeWithStore } from './cli-process.ts'

const COUNT = 400

async function homeWithNotes(): Promise<Home> {
  const home = await newHomeWithStore()
  for (let index = 0; index < COUNT; index += 1) home.file(`in/${index}.md`, `${index}\n`)
  return home
}

/** What the journals hold and when they were written last: it changes with every commit. */
function writes(home: Home): string {
  const directory = join(home.store, 'gitlocket')
  const journals = readdirSync(directory).filter((name) => name.startsWith('journal-'))
  return journals.map((name) => `${name} ${statSync(join(directory, name)).mtimeMs}`).join()
}

/** Starts the import, and ends it once it has written something. */
async function startAndEnd(home: Home, signal: 'SIGINT' | 'SIGKILL'): ReturnType<typeof ended> {
  const before = writes(home)
  const child: ChildProcess = home.start(['import', '--from', 'markdown', 'in'])
  const end = ended(child)
  while (child.exitCode === null && writes(home) === before) {
    await new Promise((resolve) => setTimeout(resolve, 2))
  }
  child.kill(signal)
  return end
}

async function expectWhole(home: Home): Promise<number> {
  const { data } = JSON.parse(await home.ok('ls', '-R', '--json'))
  const sizes = data.flatMap((item: Record<string, unknown>) => {
    return item['type'] === 'memory' ? [[item['path'], item['content_size_bytes']]] : []
  })
  for (const [path, size] of sizes) {
    expect(size).toBe(/\/(\d+)\.md/.exec(path)?.[1]?.concat('\n').length)
  }
  return sizes.length
}

test('reports after Ctrl-C how to continue', { tags: 'slow' }, async () => {
  const home = await homeWithNotes()
  const { exitCode, stderr } = await startAndEnd(home, 'SIGINT')
  expect(exitCode).toBe(130)
  expect(stderr).toMatch(/Cancelled; \d+ memor(?:y was|ies were) imported before/)
  expect(stderr).toContain('hint: Run it again: it continues where it stopped')
  const [, before] = /; (\d+) /.exec(stderr) ?? []
  expect(await expectWhole(home)).toBe(Number(before))
  const rest = await home.json('import', '--from', 'markdown', 'in')
  expect(rest).toMatchObject({ unchanged: Number(before), imported: COUNT - Number(before) })
})

test('completes after being killed again and again', { tags: 'slow' }, async () => {
  const home = await homeWithNotes()
  let before = 0
  for (let round = 0; round < 3; round += 1) {
    await startAndEnd(home, 'SIGKILL')
    const count = await expectWhole(home)
    expect(count).toBeGreaterThanOrEqual(before)
    before = count
  }
  expect(before).toBeLessThan(COUNT)
  await home.ok('import', '--from', 'markdown', 'in')
  expect(await expectWhole(home)).toBe(COUNT)
  const { commits } = await home.json('verify')
  // The genesis, and one for each file.
  expect(commits).toBe(1 + COUNT)
})
