// The first verified read of a store in RAM, by the bundle for runtimes without Node, next to the
// same read with a disk and a clone by git that takes no history either.

import { fileURLToPath } from 'node:url'
import type { Context } from '../context.ts'
import { makeHistory } from '../long-history.ts'
import { byTurns } from '../measure.ts'
import { budget, type Section, times } from '../page.ts'
import { shareByGrant } from './flat.ts'

/** A grant's holder begins without the history: its length does not matter. */
const size = { memories: 2000, commits: 4000 }
const readerModule = fileURLToPath(new URL('../web-reader.js', import.meta.url))

export async function measureWeb(context: Context): Promise<Section> {
  context.log(`a history of ${size.commits} commits, for a store in RAM`)
  const directory = context.directory('web')
  const history = await makeHistory(directory, size)
  const { url, grant, path, fresh, read, clone, end } = await shareByGrant(history, directory)
  const take = (): Buffer => fresh(process.execPath, readerModule, url, grant, path)
  const ours = { name: 'gitlocket/web', take }
  const measured = await byTurns([ours, read, clone], { rounds: context.scale.processes })
  end()
  const row = { what: 'opened, and a memory read', measured }
  return {
    title: 'A store in RAM',
    rows: [row],
    budgets: [
      budget(
        'first read of a store in RAM, processor time, × with a disk',
        times(row, read.name, 'processor'),
        3,
      ),
    ],
    note:
      `${size.memories} memories, opened with a grant over http-backend, whose processor time is ` +
      'not counted: by the bundle `gitlocket/web` in a new process of Node, and by the command ' +
      'line in an empty home directory.',
  }
}
