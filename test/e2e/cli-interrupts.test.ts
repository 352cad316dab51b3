// Ctrl-C at any moment of long work: it leaves the old state or the new one, and the message tells
// which.

import { cpSync } from 'node:fs'
import { beforeAll, describe, expect, test } from 'vitest'
import { full } from '../support/seed.ts'
import { ended, type Home, newHome, sharedHome } from './cli-process.ts'

const MEMORIES = full ? 4000 : 300
const redactDelays = full ? [200, 300, 400, 500, 700, 900, 1200] : [500]
const compactDelays = full ? [200, 400, 700] : [400]

describe('Ctrl-C', () => {
  const long = sharedHome()
  let leak = ''
  beforeAll(async () => {
    await long.ok('init')
    await long.ok('settings', '--memory-limit', '10000')
    await long.ok('create', 'leak.md', '--text', 'a secret', '--session', 'leak')
    leak = String((await long.json('cat', 'leak.md'))['memory_version_id'])
    for (let index = 0; index < MEMORIES; index += 1) long.file(`in/${index}.md`, `${index}\n`)
    await long.ok('import', 'in')
    await long.ok('rm', 'leak.md')
  })

  function copy(): Home {
    const home = newHome()
    cpSync(long.directory, home.directory, { recursive: true })
    return home
  }

  async function stateOf(home: Home): Promise<'old' | 'new'> {
    const { stdout } = await home.run(['log', '--json', '--redacted'])
    const { data: versions } = JSON.parse(stdout)
    return versions.some(({ id }: { readonly id: string }) => id === leak) ? 'new' : 'old'
  }

  test.each(redactDelays)('after %d ms of redact', { tags: 'slow' }, async (delay) => {
    const home = copy()
    const child = home.start(['redact', leak, '--yes'])
    const timer = setTimeout(() => child.kill('SIGINT'), delay)
    const { exitCode, stderr } = await ended(child)
    clearTimeout(timer)
    const state = await stateOf(home)
    if (exitCode === 0) expect(state).toBe('new')
    else {
      expect(exitCode).toBe(130)
      // Before the command listens for signals, it cannot report anything.
      if (stderr.includes('nothing was redacted')) expect(state).toBe('old')
      if (stderr.includes('the versions are redacted')) expect(state).toBe('new')
    }
    await home.ok('verify', '--absence')
    if (state === 'old') {
      expect((await home.run(['redact', leak, '--yes'])).exitCode).toBe(0)
      await home.ok('verify', '--absence')
    }
  })

  test.each(compactDelays)('after %d ms of compact', { tags: 'slow' }, async (delay) => {
    const home = copy()
    const child = home.start(['compact'])
    const timer = setTimeout(() => child.kill('SIGINT'), delay)
    const { exitCode } = await ended(child)
    clearTimeout(timer)
    expect([0, 130]).toContain(exitCode)
    await home.ok('verify')
    await home.ok('compact')
    expect((await home.ok('ls')).split('\n')).toHaveLength(MEMORIES + 1)
  })
})
