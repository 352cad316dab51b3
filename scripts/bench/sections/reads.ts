// Views of a store that is open, next to the SDK's tool on plain files.

import { Commands } from '../commands.ts'
import type { KeeperKind } from '../contenders/notes.ts'
import { plainFiles } from '../contenders/plain-files.ts'
import { product } from '../contenders/product.ts'
import type { Context } from '../context.ts'
import { byTurns, type Contender } from '../measure.ts'
import { budget, type Row, type Section, times } from '../page.ts'

const memories = 1000

export async function measureReads(context: Context): Promise<Section> {
  const { rounds, commands } = context.scale
  context.log('reads')
  const files = await start(context, 'file', (note) => note)
  const file: Row = {
    what: 'a memory is read',
    measured: await byTurns(files, { rounds, units: commands }),
  }
  const roots = await start(context, 'root', () => '')
  const root: Row = {
    what: `${memories} memories are listed`,
    measured: await byTurns(roots, { rounds, units: 5 }),
  }
  return {
    title: 'Reads',
    rows: [file, root],
    budgets: [
      budget('a memory is read, × SDK tool', times(file, plainFiles.name), 0.2),
      budget(`${memories} memories are listed, × SDK tool`, times(root, plainFiles.name), 0.05),
    ],
    note: 'The command `view` of the memory tool, on an open store.',
  }
}

function start(
  context: Context,
  name: string,
  choose: (path: string) => string,
): Promise<readonly Contender[]> {
  const open = async (kind: KeeperKind): Promise<Contender> => {
    const keeper = await kind.start(context.directory(`${name}/${kind.name}`))
    const notes = [...new Commands().fill(memories)]
    // oxlint-disable-next-line unicorn/no-array-fill-with-reference-type -- no array
    await keeper.fill(notes)
    let next = 0
    return {
      name: kind.name,
      take() {
        next = (next + 1) % notes.length
        const path = `/memories/${choose(notes[next]?.path ?? '')}`
        return keeper.run({ command: 'view', path })
      },
      close: () => keeper.close(),
    }
  }
  return Promise.all([product, plainFiles].map(open))
}
