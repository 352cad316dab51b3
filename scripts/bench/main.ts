// `npm run bench`: measures the budgets of the design and other tools, in one run on one disk,
// prints the tables and writes docs/BENCHMARKS.md. Tests never time anything.

import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { loadavg } from 'node:os'
import { dirname, join } from 'node:path'
import { describeMachine, scratchDirectory } from './machine.ts'
import { type Options, parseOptions, type SectionName, usage } from './options.ts'
import { compareBuilds } from './quick.ts'
import { renderPlots, renderReport, type Section } from './report.ts'
import { type RunContext, runContext } from './run-context.ts'
import { measureCompact } from './sections/compact.ts'
import { measureConcurrent } from './sections/concurrent.ts'
import { measureDisk } from './sections/disk.ts'
import { measureHistory } from './sections/history.ts'
import { measureMixed } from './sections/mixed.ts'
import { measureProcesses } from './sections/processes.ts'
import { measureRedaction } from './sections/redaction.ts'
import { measureRevert } from './sections/revert.ts'
import { measureSearch } from './sections/search.ts'
import { measureServer } from './sections/server.ts'
import { measureStalls } from './sections/stalls.ts'
import { measureSync } from './sections/sync.ts'
import { measureVerification } from './sections/verification.ts'
import { measureViews } from './sections/views.ts'
import { makeOriginal, type OriginalSite } from './site.ts'
import { digits } from './statistics.ts'

const busyLoad = 0.5

/** The context that the sections share; the long history is made at its first use. */
interface Bench {
  readonly context: RunContext
  readonly site: () => Promise<OriginalSite>
}

const measure: Readonly<Record<SectionName, (bench: Bench) => Promise<Section>>> = {
  mixed: ({ context }) => measureMixed(context),
  concurrent: ({ context }) => measureConcurrent(context),
  views: ({ context }) => measureViews(context),
  processes: ({ context }) => measureProcesses(context),
  disk: ({ context }) => measureDisk(context),
  redaction: async ({ site }) => measureRedaction(await site()),
  revert: async ({ site }) => measureRevert(await site()),
  verification: async ({ site }) => measureVerification(await site()),
  compact: async ({ site }) => measureCompact(await site()),
  stalls: async ({ site }) => measureStalls(await site()),
  sync: async ({ site }) => measureSync(await site()),
  server: ({ context }) => measureServer(context),
  search: ({ context }) => measureSearch(context),
  history: async ({ site }) => measureHistory(await site()),
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
  const context = runContext(scale, scratch, peers)
  const [load = 0] = loadavg()
  if (load > busyLoad) context.log(`the machine is busy (load ${digits(load)}): do not trust p99s`)
  if (against !== undefined) {
    process.exitCode = (await compareBuilds(context, against)) ? 1 : 0
    return
  }
  let original: Promise<OriginalSite> | undefined
  const site = () => (original ??= makeOriginal(context))
  const done: Section[] = []
  for (const name of sections) {
    done.push(await measure[name]({ context, site }))
    context.log(`${name} is done after ${digits(performance.now() / 60_000)} minutes`)
    // A run that ends early keeps what it has measured.
    if (output !== undefined) writeReport(output, command, done)
  }
  console.log(renderReport(describeMachine(), command, done))
}

/** The page, and its plots in `bench/` beside it, from which the plots of other runs go. */
function writeReport(output: string, command: string, sections: readonly Section[]): void {
  const plots = join(dirname(output), 'bench')
  rmSync(plots, { recursive: true, force: true })
  mkdirSync(plots)
  for (const [name, text] of renderPlots(sections)) writeFileSync(join(plots, name), text)
  writeFileSync(output, renderReport(describeMachine(), command, sections))
}

await main(start())
