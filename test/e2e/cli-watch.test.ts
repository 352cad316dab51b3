// `sync --watch` as an unattended process: it reports each transfer and each error once, outlives
// an unreachable remote, and ends on a signal.

import type { ChildProcess } from 'node:child_process'
import { chmodSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { bareRemote } from '../support/clones.ts'
import { advertisement, cut, on, stall, startGitServer } from '../support/git-server.ts'
import { patience } from '../support/patience.ts'
import { git, temporaryDirectory } from '../support/temporary.ts'
import { firstMachine, nextMachine } from './cli-machines.ts'
import { type Ended, ended, newHomeWithStore } from './cli-process.ts'

/** A watch whose turns follow each other quickly. */
const words = ['sync', '--watch', '--interval', '1']
/** A watch that does nothing by itself for half a day. */
const seldom = ['sync', '--watch', '--interval', '86400']

interface Watch {
  readonly child: ChildProcess
  readonly end: Promise<Ended>
  /** Resolves once it has printed `text` on one of its streams, `times` times. */
  said(text: string, times?: number): Promise<void>
}

function watching(child: ChildProcess): Watch {
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream?.on('data', (chunk: Buffer) => {
      output += chunk.toString()
    })
  }
  const said = async (text: string, times = 1): Promise<void> => {
    const holds = (): boolean => count(output, text) >= times || child.exitCode !== null
    await expect.poll(holds, patience).toBe(true)
    if (count(output, text) < times) throw new Error(`Not said: ${output}`)
  }
  return { child, end: ended(child), said }
}

function count(text: string, part: string): number {
  return text.split(part).length - 1
}

async function hostedMachine() {
  const repository = bareRemote()
  git(['config', 'http.receivepack', 'true'], repository)
  const server = await startGitServer({ repository })
  return { repository, server, first: await firstMachine(server.url) }
}

describe('sync --watch', () => {
  test(
    'reports transfers, outlives an unreachable remote, ends on SIGTERM with 0',
    { tags: 'slow' },
    async () => {
      const { server, repository, first } = await hostedMachine()
      server.fault = on(advertisement, cut())
      const watch = watching(first.home.start(words))
      await watch.said('The connection to the remote was cut off')
      server.fault = undefined
      await watch.said('origin: nothing to do')
      await nextMachine(first, repository)
      await watch.said('origin: received 1 commit')
      const turns = server.requests.length
      while (server.requests.length < turns + 2) await new Promise((done) => setTimeout(done, 20))
      watch.child.kill('SIGTERM')
      const { exitCode, stdout, stderr } = await watch.end
      expect(exitCode).toBe(0)
      // The idle turns before and after printed nothing, and the failures one message.
      expect([count(stdout, 'origin: '), count(stderr, 'gitlocket: ')]).toEqual([2, 1])
      await first.home.ok('verify')
    },
  )

  test(
    'prints one JSON value a line, and ends on SIGINT in the middle of a sync',
    { tags: 'slow' },
    async () => {
      const { server, first } = await hostedMachine()
      await first.home.ok('create', 'more.md', '--text', 'more')
      const watch = watching(first.home.start([...words, '--json']))
      await watch.said('"sent"')
      const { length } = server.requests
      server.fault = on(advertisement, stall())
      while (server.requests.length === length) await new Promise((done) => setTimeout(done, 20))
      watch.child.kill('SIGINT')
      const { exitCode, stdout } = await watch.end
      expect(exitCode).toBe(0)
      const values = stdout
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line))
      expect(values).toEqual([
        expect.objectContaining({
          remote: 'origin',
          sent: expect.objectContaining({ commits: 1 }),
        }),
        { type: 'sync_watch', ended: true },
      ])
    },
  )

  test(
    'ends by itself at an error that another attempt does not fix',
    { tags: 'slow' },
    async () => {
      const home = await newHomeWithStore()
      const { exitCode, stderr } = await home.run(words)
      expect([exitCode, stderr]).toEqual([3, expect.stringContaining('has no remote')])
    },
  )
})

/** A `git` that notes each of its runs in a file. */
function countedGit(): {
  readonly env: Readonly<Record<string, string>>
  readonly count: () => number
} {
  const directory = temporaryDirectory()
  const log = join(directory, 'runs')
  writeFileSync(log, '')
  const path = process.env['PATH'] ?? ''
  const script = `#!/bin/sh\necho >> '${log}'\nPATH='${path}' exec git "$@"\n`
  writeFileSync(join(directory, 'git'), script)
  chmodSync(join(directory, 'git'), 0o755)
  return { env: { PATH: `${directory}:${path}` }, count: () => readFileSync(log, 'utf8').length }
}

async function stopped({ child, end }: Watch): Promise<Ended> {
  child.kill('SIGTERM')
  return end
}

async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await new Promise((resolve) => setTimeout(resolve, 20))
}

describe('an unattended sync --watch notices', () => {
  test('a change here and one at a path, long before the interval', { tags: 'slow' }, async () => {
    const repository = bareRemote()
    const first = await firstMachine(repository)
    const second = await nextMachine(first, repository)
    const watch = watching(first.home.start(seldom))
    await watch.said('received 1 commit')
    await first.home.ok('create', 'here.md', '--text', 'here')
    await watch.said('sent 1 commit')
    await second.ok('sync')
    await second.ok('create', 'there.md', '--text', 'there')
    await second.ok('sync')
    await watch.said('received 1 commit', 2)
    git(['pack-refs', '--all'], repository)
    await second.ok('create', 'packed.md', '--text', 'packed')
    await second.ok('sync')
    await watch.said('received 1 commit', 3)
    const { exitCode, stderr } = await stopped(watch)
    expect([exitCode, stderr]).toEqual([0, ''])
  })

  test('nothing without a change and sends one request an interval', { tags: 'slow' }, async () => {
    const { server, first } = await hostedMachine()
    const copy = bareRemote()
    const { env, count: runs } = countedGit()
    await first.home.ok('remote', 'add', 'copy', copy)
    await first.home.ok('sync')
    const { length: before } = server.requests
    const watch = watching(first.home.start(words, env))
    // The files that the first turn changed have been looked at by then.
    await until(() => server.requests.length >= before + 6)
    const [asked, ran] = [server.requests.length, runs()]
    await until(() => server.requests.length >= asked + 3)
    const list = '/store.git/info/refs?service=git-upload-pack'
    const paths = server.requests.slice(asked).map(({ method, path }) => `${method} ${path}`)
    expect([...new Set(paths)]).toEqual([`GET ${list}`])
    expect(runs()).toBe(ran)
    expect((await stopped(watch)).exitCode).toBe(0)
  })
})
