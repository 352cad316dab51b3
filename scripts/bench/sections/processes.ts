// Commands in a process of their own, as a shell starts them, next to a process of Node.js that
// does nothing.

import { copyFileSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { Context } from '../context.ts'
import { type History, makeHistory } from '../long-history.ts'
import { commandLine, run } from '../machine.ts'
import { byTurns, type Contender } from '../measure.ts'
import { budget, type Row, type Section, times } from '../page.ts'
import { noteText, seededChoice } from '../workload.ts'

const nothing = 'node -e 0'

export async function measureProcesses(context: Context): Promise<Section> {
  const { processes: rounds, search } = context.scale
  context.log('commands in new processes')
  const size = { memories: 100, commits: 100 }
  const small = await makeHistory(context.directory('processes'), size)
  const large = await makeHistory(context.directory('search'), {
    memories: search,
    commits: search,
  })
  let created = 0
  const compare = async (
    what: string,
    history: History,
    words: () => readonly string[],
  ): Promise<Row> => {
    const start = contender(history, context.directory('processes'))
    return { what, measured: await byTurns([start(what, words), start(nothing)], { rounds }) }
  }
  const version = await compare('--version', small, () => ['--version'])
  const cat = await compare('cat', small, () => ['cat', '/0/0.md'])
  const create = await compare('create', small, () => ['create', `/${(created += 1)}.md`, '-'])
  const find = await compare(`search in ${search} memories`, large, () => ['search', 'cache key'])
  return {
    title: 'A new process',
    rows: [version, cat, create, find],
    budgets: [
      budget(`gitlocket --version, × ${nothing}`, times(version, nothing), 1.3),
      budget(`gitlocket cat, × ${nothing}`, times(cat, nothing), 2.5),
      budget(
        `gitlocket search in ${search} memories, processor time, × ${nothing}`,
        times(find, nothing, 'processor'),
        9,
      ),
    ],
    note:
      'From the start of the process to its end; its files are in the cache of the system. ' +
      '`create` has its content on disk, and packed, when it ends.',
  }
}

/** With the store of a history, and a home directory for its identity. */
function contender({ clone, places }: History, home: string) {
  const config = join(home, '.config', 'gitlocket')
  mkdirSync(config, { recursive: true, mode: 0o700 })
  copyFileSync(clone.identityFile, join(config, 'identity'))
  const { directory, stateDirectory } = places
  const env = { GITLOCKET_STORE: directory, GITLOCKET_STATE_DIRECTORY: stateDirectory }
  const input = noteText(seededChoice('input'))
  return (name: string, words?: () => readonly string[]): Contender => ({
    name: words === undefined ? name : 'gitlocket',
    take() {
      const args = words === undefined ? ['-e', '0'] : [commandLine, ...words()]
      run(process.execPath, args, { cwd: home, env, input })
    },
  })
}
