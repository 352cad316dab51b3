// Opening a store with a long history, each time in a process of its own: with its caches, which is
// the rule, and without them, which is what a new clone has.

import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { sizeOf } from '../long-history.ts'
import { run } from '../machine.ts'
import type { OpenAnswer, OpenRequest } from '../open-child.ts'
import { atMost, type Section } from '../report.ts'
import { besideStore, type Site } from '../site.ts'
import { bytes, digits, milliseconds, ratio, summarize } from '../statistics.ts'
import { compareCommands, medianOf, nothing } from './processes.ts'

/** × a process that does nothing. */
const warmTimesMax = 3
const warmBytesMax = 200e6
const shown = 'gitlocket cat'

export async function measureOpens(site: Site): Promise<Section> {
  const { context, history, size } = site
  context.log(`warm opens ${size}`)
  const answers = Array.from({ length: context.scale.opens }, () => openInChild(site))
  const rss = summarize(answers.map(({ rssMax }) => rssMax))
  const parts: readonly (readonly [string, (answer: OpenAnswer) => number])[] = [
    ['the process and its modules', ({ loaded }) => loaded],
    ['… and the store is open', ({ opened }) => opened],
    ['… and the first view', ({ viewed }) => viewed],
  ]
  const rows = parts.map(([what, of]) => {
    const { n, median, p99 } = summarize(answers.map(of))
    return [what, milliseconds(median), milliseconds(p99), digits(n)]
  })
  const path = `/${history.notes[0]?.path ?? ''}`
  const home = besideStore(site, 'home')
  const measured = await compareCommands(history.places, home, context.scale.processes, {
    [shown]: () => ['cat', path],
  })
  const times = medianOf(measured, shown) / medianOf(measured, nothing)
  const columns = ['since the process began', 'median', 'p99', 'n']
  const notes = [
    `A program with the library. It holds ${bytes(rss.median)} at its first view. ` +
      `\`${shown}\` of the same memory takes ${milliseconds(medianOf(measured, shown))}, ` +
      `${ratio(times)} the ${milliseconds(medianOf(measured, nothing))} of \`${nothing}\`.`,
  ]
  return {
    bounds: [
      atMost(`${shown} ${size}, × ${nothing}`, times, warmTimesMax, ratio),
      atMost(`memory of that process ${size}`, rss.median, warmBytesMax, bytes),
    ],
    tables: [{ title: `Warm open ${size}`, columns, rows, notes }],
  }
}

/** Call it last, on a closed store with caches: it deletes them. */
export function measureWithoutCaches(site: Site): [string, string][] {
  const { directory } = site.history.places
  const caches = join(directory, 'gitlocket', 'cache')
  const cacheBytes = sizeOf(caches)
  site.context.log('opening without caches')
  rmSync(caches, { recursive: true })
  const cold = openInChild(site)
  return [
    ['caches on disk', bytes(cacheBytes)],
    ['open without caches, to the first view', milliseconds(cold.viewed)],
    ['memory of that process', bytes(cold.rssMax)],
  ]
}

function openInChild(site: Site): OpenAnswer {
  const { directory, stateDirectory } = site.history.places
  const { identityFile } = site
  const path = site.history.notes[0]?.path ?? ''
  const request: OpenRequest = { directory, stateDirectory, identityFile, path }
  const module = fileURLToPath(new URL('../open-child.js', import.meta.url))
  const output = run(process.execPath, [module, JSON.stringify(request)], { cwd: directory })
  const answer: OpenAnswer = JSON.parse(output.toString())
  return answer
}
