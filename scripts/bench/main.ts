// `npm run bench`: measures the budgets of the design beside other tools, in one run on one disk,
// prints the tables and writes docs/BENCHMARKS.md. Tests never time anything; this does nothing else.

import { writeFileSync } from 'node:fs'
import { loadavg } from 'node:os'
import { describeMachine, scratchDirectory } from './machine.ts'
import { parseOptions, usage } from './options.ts'
import type { Options, SectionName } from './options.ts'
import { renderReport } from './report.ts'
import type { Section } from './report.ts'
import { runContext } from './run-context.ts'
import type { RunContext } from './run-context.ts'
import { measureCommands } from './sections/commands.ts'
import { measureConcurrent } from './sections/concurrent.ts'
import { measureHistory } from './sections/history.ts'
import { measureViews } from './sections/views.ts'
import { digits } from './statistics.ts'

const busyLoad = 0.5

const measure: Readonly<Record<SectionName, (context: RunContext) => Promise<Section>>> = {
  commands: measureCommands,
  concurrent: measureConcurrent,
  views: measureViews,
  history: measureHistory,
}

function options(): Options {
  try {
    return parseOptions(process.argv.slice(2))
  } catch (error) {
    console.error(error instanceof Error ? error.message : error)
    console.error(usage)
    return process.exit(2)
  }
}

async function main({
  scale,
  sections,
  directory,
  peers,
  output,
  command,
}: Options): Promise<void> {
  const context = runContext(scale, scratchDirectory(directory), peers)
  const [load = 0] = loadavg()
  if (load > busyLoad) context.log(`the machine is busy (load ${digits(load)}): do not trust p99s`)
  const done: Section[] = []
  for (const name of sections) done.push(await measure[name](context))
  const report = renderReport(describeMachine(), command, done)
  console.log(report)
  context.log(`took ${digits(performance.now() / 60_000)} minutes`)
  if (output !== undefined) writeFileSync(output, report)
}

await main(options())
