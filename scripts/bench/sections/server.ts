// Guarded updates over HTTP, next to the library.

import { httpUpdater, libraryUpdater, type Updater } from '../../load/updates.ts'
import type { Context } from '../context.ts'
import { startHosted } from '../hosted.ts'
import { byTurns, type Contender } from '../measure.ts'
import { budget, type Row, type Section, times } from '../page.ts'

const LIBRARY = 'the library'

export async function measureServer(context: Context): Promise<Section> {
  context.log('guarded updates over HTTP and by the library')
  const { client, server } = await startHosted(context.directory('server'))
  try {
    const library = await libraryUpdater(context.directory('server-library'))
    const contenders = [
      await contender('over HTTP', await httpUpdater(client)),
      await contender(LIBRARY, library),
    ]
    const { rounds } = context.scale
    const row: Row = {
      what: 'a guarded update',
      measured: await byTurns(contenders, { rounds: 4 * rounds, units: 10 }),
    }
    await library.close()
    return {
      title: 'The server of the Memory Stores API',
      rows: [row],
      budgets: [budget(`a guarded update over HTTP, × ${LIBRARY}`, times(row, LIBRARY), 2)],
      note:
        'Each update of 1 kB is on condition of the SHA-256 of the content before it, by plain ' +
        'HTTP over loopback. The processor time is that of the client alone.',
    }
  } finally {
    await server.stop()
  }
}

async function contender(name: string, { begin }: Updater): Promise<Contender> {
  return { name, take: await begin('alone') }
}
