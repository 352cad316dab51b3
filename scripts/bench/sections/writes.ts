// Commands of the memory tool in two regimes: a hot loop, and an agent that writes once in a while.

import { changes, Commands } from '../commands.ts'
import { append } from '../contenders/append.ts'
import { gitCommit } from '../contenders/git-commit.ts'
import type { KeeperKind } from '../contenders/notes.ts'
import { plainFiles } from '../contenders/plain-files.ts'
import { product } from '../contenders/product.ts'
import { sqlite } from '../contenders/sqlite.ts'
import type { Context } from '../context.ts'
import { byTurns, type Contender } from '../measure.ts'
import { budget, type Row, type Section, times } from '../page.ts'
import { milliseconds } from '../statistics.ts'

const memories = 1000
const REST_MS = 100

export async function measureWrites(context: Context): Promise<Section> {
  const { rounds, commands, occasional } = context.scale
  const kinds = [product, append, plainFiles, sqlite(context.peers)]
  context.log('writes in a hot loop')
  const hot: Row = {
    what: 'a change, in a hot loop',
    measured: await byTurns(await start(context, 'hot', kinds), { rounds, units: commands }),
  }
  context.log('writes once in a while')
  const rare: Row = {
    what: `a change, each ${REST_MS} ms after another program's`,
    measured: await byTurns(await start(context, 'rare', [...kinds, gitCommit], true), {
      rounds: occasional,
      rest: REST_MS,
    }),
  }
  const processor = hot.measured[0]?.processor ?? Number.NaN
  const hotLoop = 'the same work in a hot loop, processor time'
  return {
    title: 'Writes',
    rows: [hot, rare],
    budgets: [
      budget('a change in a hot loop, processor time', processor, 0.6, milliseconds),
      budget(`one change, ${REST_MS} ms apart, × ${append.name}`, times(rare, append.name), 3),
      budget(`one change, ${REST_MS} ms apart, × ${plainFiles.name}`, times(rare, 'SDK tool'), 0.8),
      budget(`${hotLoop}, × ${plainFiles.name}`, times(hot, plainFiles.name, 'processor'), 1),
      budget(`${hotLoop}, × SQLCipher`, times(hot, 'SQLCipher', 'processor'), 2.5),
    ],
    note:
      `Commands of the memory tool on ${memories} memories, with sizes and shares as an agent ` +
      'has them, the same for all. Each change is on disk before it answers; background work ' +
      'is part of the processor time, and so are the views between the changes of the hot loop.',
  }
}

async function start(
  context: Context,
  name: string,
  kinds: readonly KeeperKind[],
  changesOnly = false,
): Promise<readonly Contender[]> {
  const started: Contender[] = []
  for (const kind of kinds) {
    try {
      started.push(await contender(kind, context.directory(`${name}/${kind.name}`), changesOnly))
    } catch (error) {
      context.log(`without ${kind.name}: ${String(error)}`)
    }
  }
  return started
}

async function contender(
  kind: KeeperKind,
  directory: string,
  changesOnly: boolean,
): Promise<Contender> {
  const keeper = await kind.start(directory)
  const commands = new Commands()
  await keeper.fill(commands.fill(memories))
  await keeper.settle?.()
  return {
    name: kind.name,
    take: async () => {
      const [command = commands.next()] = changesOnly ? commands.burst(1) : []
      await keeper.run(command)
      return changes.includes(command.command)
    },
    // An agent that writes once in a while packs when it packs.
    settle: async () => (changesOnly ? undefined : keeper.settle?.()),
    close: () => keeper.close(),
  }
}
