// `view` of a file and of a directory, warm, beside the SDK's plain-file tool.

import { BetaLocalFilesystemMemoryTool } from '@anthropic-ai/sdk/tools/memory/node'
import { createBenchStore, handlersOf } from '../contenders/product.ts'
import { atMost, type Section } from '../report.ts'
import { takeTurns, timed } from '../rounds.ts'
import type { RunContext } from '../run-context.ts'
import { digits, milliseconds, ratio, summarize, type Summary } from '../statistics.ts'
import { noteText, seededChoice } from '../workload.ts'

const directories = 50
const filesEach = 20
const viewsPerTurn = 20

/** Answers what stands at a path of the memory tool. */
export type View = (path: string) => Promise<string>

export async function measureViews(context: RunContext): Promise<Section> {
  const { views } = context.scale
  context.log(`views of files and directories, ${views} each`)
  const { store } = await createBenchStore(context.directory('views/product'))
  const handlers = handlersOf(store)
  const tool = await BetaLocalFilesystemMemoryTool.init(context.directory('views/plain'))
  const choose = seededChoice('views')
  for (let index = 0; index < directories * filesEach; index += 1) {
    const [path, file_text] = [`/memories/${pathOf(index)}`, noteText(choose)]
    await handlers.create({ command: 'create', path, file_text })
    await tool.create({ command: 'create', path, file_text })
  }
  await store.maintenance.checkpoint()
  const ours: View = (path) => handlers.view({ command: 'view', path })
  const theirs: View = (path) => tool.view({ command: 'view', path })
  const file = () => `/memories/${pathOf(choose(directories * filesEach))}`
  const directory = () => `/memories/${choose(directories)}`
  const files = await compareViews(ours, theirs, file, views)
  const listings = await compareViews(ours, theirs, directory, views)
  await store.close()
  return describe([
    ['a file, 1 kB', files],
    [`a directory of ${filesEach} files`, listings],
  ])
}

function pathOf(index: number): string {
  return `${Math.floor(index / filesEach)}/${index % filesEach}.md`
}

export interface Comparison {
  readonly ours: Summary
  readonly theirs: Summary
}

/** Both by turns, after a warm-up that does not count. */
export async function compareViews(
  ours: View,
  theirs: View,
  path: () => string,
  count: number,
): Promise<Comparison> {
  const perTurn = Math.min(viewsPerTurn, count)
  const lanes = [ours, theirs].map((view) => {
    const samples: number[] = []
    const take = async () => {
      for (let done = 0; done < perTurn; done += 1) {
        const at = path()
        samples.push(await timed(() => view(at)))
      }
    }
    return { every: 1, take, samples }
  })
  await takeTurns(lanes, 2)
  for (const lane of lanes) lane.samples.length = 0
  await takeTurns(lanes, Math.ceil(count / perTurn))
  const [first = [], second = []] = lanes.map((lane) => lane.samples)
  return { ours: summarize(first), theirs: summarize(second) }
}

function describe(compared: readonly (readonly [string, Comparison])[]): Section {
  const rows = compared.flatMap(([what, { ours, theirs }]) => [
    [`${what}: gitlocket`, ...cells(ours, theirs)],
    [`${what}: SDK plain-file tool`, ...cells(theirs, theirs)],
  ])
  return {
    bounds: compared.map(([what, { ours, theirs }]) =>
      atMost(`view of ${what}, × the SDK tool`, ours.median / theirs.median, 1 / 5, ratio),
    ),
    tables: [
      {
        title: 'Views, warm',
        columns: ['', '× SDK tool', 'median', 'p99', 'n'],
        rows,
        notes: [`${directories} directories of ${filesEach} files; each view is of a random one.`],
        plot: {
          name: 'views',
          title: 'Views, warm, median, ms',
          bars: compared.flatMap(([what, { ours, theirs }]) => [
            { label: what, value: ours.median, ours: true },
            { label: 'SDK plain-file tool', value: theirs.median },
          ]),
          format: milliseconds,
        },
      },
    ],
  }
}

export function cells(summary: Summary, base: Summary): readonly string[] {
  const { n, median, p99 } = summary
  return [ratio(median / base.median), milliseconds(median), milliseconds(p99), digits(n)]
}
