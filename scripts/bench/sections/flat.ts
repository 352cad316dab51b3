// The first verified read of an empty machine with a grant, in stores that have equal memories and
// histories of different lengths, next to a clone by git that takes no history either.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Context } from '../context.ts'
import { type History, makeHistory, pathsOf, withStore } from '../long-history.ts'
import { commandLine, run } from '../machine.ts'
import { byTurns, type Contender, type Measured } from '../measure.ts'
import { budget, type Section } from '../page.ts'
import { percent } from '../statistics.ts'

const author = { actor: { type: 'user', id: 'bench' } } as const
const nothing = 'node -e 0'
/** In a process of its own: its processor time is not that of a reader. */
const hostModule = fileURLToPath(new URL('../../soak/host.js', import.meta.url))

export async function measureFlat(context: Context): Promise<Section> {
  const { flat, sandbox, processes: rounds } = context.scale
  const reads: Contender[] = []
  const clones: Contender[] = []
  const ends: (() => void)[] = []
  for (const commits of flat) {
    context.log(`a history of ${commits} commits, for sandboxes`)
    const directory = context.directory(`flat-${commits}`)
    const history = await makeHistory(directory, { memories: sandbox.memories, commits })
    const { read, clone, end } = await shareByGrant(history, directory)
    reads.push(read)
    clones.push(clone)
    ends.push(end)
  }
  const idle = { name: nothing, take: () => run('node', ['-e', '0'], { cwd: '/' }) }
  const measured = await byTurns([...reads, ...clones, idle], { rounds })
  for (const end of ends) end()
  const ours = measured.slice(0, reads.length)
  return {
    title: 'The first read with a grant',
    rows: ours.map((one, index) => ({
      what: `${flat[index]} commits`,
      measured: [one, ...measured.slice(reads.length + index, reads.length + index + 1)],
    })),
    budgets: [
      budget('first read with a grant, the longest history, × the shortest', spread(ours), 1.15),
    ],
    note:
      `${sandbox.memories} memories in each. From an empty home directory to the printed memory, ` +
      'over http-backend, whose processor time is not counted. The spread of the processor time ' +
      `is ${percent(spread(ours) - 1)}; ${nothing} takes ` +
      `${(measured.at(-1)?.processor ?? Number.NaN).toFixed(0)} ms.`,
  }
}

/** The largest processor time, as a multiple of the smallest. */
function spread(measured: readonly Measured[]): number {
  const all = measured.map(({ processor }) => processor)
  return Math.max(...all) / Math.min(...all)
}

/**
 * A remote with the store, a grant to it in a file, and readers of one memory, in an empty home
 * directory each. Call `end` after the last one.
 */
export async function shareByGrant(history: History, directory: string) {
  const remote = join(directory, 'remote.git')
  run('git', ['init', '--quiet', '--bare', '--initial-branch=main', remote], { cwd: directory })
  const grant = join(directory, 'grant')
  await withStore(history.places, async (store) => {
    await store.remotes.add('origin', remote)
    const { text } = await store.as(author).grants.give()
    writeFileSync(grant, text, { mode: 0o600 })
  })
  const host = spawn(process.execPath, [hostModule, remote, '127.0.0.1'])
  const [line] = await once(host.stdout, 'data')
  const url = String(line).trim()
  const home = join(directory, 'home')
  const fresh = (program: string, ...words: readonly string[]): Buffer => {
    rmSync(home, { recursive: true, force: true })
    mkdirSync(home)
    const env = { GITLOCKET_GRANT_FILE: grant, GITLOCKET_REMOTE: url }
    return run(program, words, { cwd: home, env })
  }
  const [path = ''] = pathsOf(history.size)
  return {
    url,
    grant,
    path,
    fresh,
    read: { name: 'gitlocket', take: () => fresh(process.execPath, commandLine, 'cat', path) },
    clone: {
      name: 'git clone --depth 1',
      take: () => fresh('git', 'clone', '-q', '--depth', '1', '--bare', url, 'x'),
    },
    end: () => void host.kill(),
  }
}
