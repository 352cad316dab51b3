// `sync --watch` as an unattended process: it reports each transfer and each error once, outlives
// an unreachable remote, and ends on a signal.

import type { ChildProcess } from 'node:child_process'
import { describe, expect, test } from 'vitest'
import { bareRemote } from '../support/clones.ts'
import { advertisement, cut, on, stall, startGitServer } from '../support/git-server.ts'
import { git } from '../support/temporary.ts'
import { firstMachine, nextMachine } from './cli-machines.ts'
import { type Ended, ended, newHomeWithStore } from './cli-process.ts'

/** A watch whose turns follow each other quickly. */
const words = ['sync', '--watch', '--interval', '1']

interface Watch {
  readonly child: ChildProcess
  readonly end: Promise<Ended>
  /** Resolves once it has printed this on one of its streams. */
  said(text: string): Promise<void>
}

function watching(child: ChildProcess): Watch {
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream?.on('data', (chunk: Buffer) => {
      output += chunk.toString()
    })
  }
  const said = async (text: string): Promise<void> => {
    for (let waited = 0; !output.includes(text); waited += 20) {
      if (waited > 20_000 || child.exitCode !== null) throw new Error(`Not said: ${output}`)
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
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
