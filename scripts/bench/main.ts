// `npm run bench`: measures the budgets of the design and other tools, in one run on one disk,
// prints the page and writes docs/BENCHMARKS.md. Tests never time anything.

import { writeFileSync } from 'node:fs'
import { type Context, createContext } from './context.ts'
import { describeMachine, scratchDirectory } from './machine.ts'
import { type Options, parseOptions, type SectionName, usage } from './options.ts'
import { renderPage, type Section } from './page.ts'
import { compareBuilds } from './quick.ts'
import { measureFlat } from './sections/flat.ts'
import { measureHistory } from './sections/history.ts'
import { measureProcesses } from './sections/processes.ts'
import { measureReads } from './sections/reads.ts'
import { measureServer } from './sections/server.ts'
import { measureSync } from './sections/sync.ts'
import { measureWeb } from './sections/web.ts'
import { measureWrites } from './sections/writes.ts'
import { digits } from './statistics.ts'

const measure: Readonly<Record<SectionName, (context: Context) => Promise<Section>>> = {
  writes: measureWrites,
  reads: measureReads,
  processes: measureProcesses,
  sync: measureSync,
  history: measureHistory,
  server: measureServer,
  flat: measureFlat,
  web: measureWeb,
}

interface Start {
  readonly options: Options
  readonly scratch: string
}

/** Ends the process with exit code 2 if the command line is invalid. */
function start(): Start {
  try {
    const options = parseOptions(process.argv.slice(2))
    return { options, scratch: scratchDirectory(options.directory) }
  } catch (error) {
    console.error(error instanceof Error ? error.message : error)
    console.error(usage)
    return process.exit(2)
  }
}

async function main({ options, scratch }: Start): Promise<void> {
  const { scale, sections, peers, output, command, against } = options
  const context = createContext(scale, scratch, peers)
  if (against !== undefined) {
    process.exitCode = (await compareBuilds(context, against)) ? 1 : 0
    return
  }
  const done: Section[] = []
  for (const name of sections) {
    done.push(await measure[name](context))
    context.log(`${name} is done after ${digits(performance.now() / 60_000)} minutes`)
    // A run that ends early keeps what it has measured.
    if (output !== undefined) writeFileSync(output, renderPage(describeMachine(), command, done))
  }
  console.log(renderPage(describeMachine(), command, done))
}

await main(start())
