// Verification of a whole history from genesis: with worker threads, and on one core without them.

import { atLeast, type Section } from '../report.ts'
import type { Site } from '../site.ts'
import { bytes, digits } from '../statistics.ts'
import { memoryBound, runTask } from '../task.ts'

const runs = [
  { what: 'all cores, with threads', perSecondMin: 5000, oneCore: false, threads: undefined },
  { what: 'one core, no threads', perSecondMin: 2500, oneCore: true, threads: 0 },
] as const

export async function measureVerification(site: Site): Promise<Section> {
  const { context, history, identityFile, size } = site
  const measured = runs.map(({ what, perSecondMin, oneCore, threads }) => {
    context.log(`verifying all commits: ${what}`)
    const task = { type: 'verify', ...(threads === undefined ? {} : { threads }) } as const
    const answer = runTask(history.places, identityFile, task, oneCore)
    return { what, perSecondMin, answer, perSecond: (answer.done / answer.work) * 1000 }
  })
  return {
    bounds: [
      ...measured.map(({ what, perSecond, perSecondMin }) =>
        atLeast(`verify, commits per second: ${what}`, perSecond, perSecondMin, digits),
      ),
      ...measured.map(({ what, answer }) => memoryBound(`verify, ${what}`, answer.rssMax)),
    ],
    tables: [
      {
        title: `Verify from genesis ${size}`,
        columns: ['', 'commits per second', 'seconds', 'commits', 'memory'],
        rows: measured.map(({ what, answer, perSecond }) => [
          what,
          digits(perSecond),
          digits(answer.work / 1000),
          digits(answer.done),
          bytes(answer.rssMax),
        ]),
        notes: [
          '`store.maintenance.verify` on an open store: each commit, record, detail and memory ' +
            'that git has, nothing from a cache. One core: the process is held to it where there ' +
            'is `taskset`.',
        ],
      },
    ],
  }
}
