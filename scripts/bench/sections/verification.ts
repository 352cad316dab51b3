// Verification of a whole history from genesis: with worker threads, and on one core without them.
// Each is compared with what the cryptography of its commits alone would take, in the same run.

import { availableParallelism } from 'node:os'
import { atLeast, type Section } from '../report.ts'
import type { Site } from '../site.ts'
import { bytes, digits, milliseconds, percent } from '../statistics.ts'
import { bareCryptography, memoryBound, runTask } from '../task.ts'

const cores = availableParallelism()
const runs = [
  { what: 'all cores, with threads', oneCore: false, threads: undefined, limitThreads: cores },
  { what: 'one core, no threads', oneCore: true, threads: 0, limitThreads: 1 },
] as const
/** Of what the cryptography alone allows. */
const shareMin = 0.65
const limitSeconds = 3

export async function measureVerification(site: Site): Promise<Section> {
  const { context, history, identityFile, size } = site
  const measured = runs.map(({ what, oneCore, threads, limitThreads }) => {
    context.log(`verifying all commits: ${what}`)
    const task = { type: 'verify', ...(threads === undefined ? {} : { threads }) } as const
    const answer = runTask(history.places, identityFile, task, oneCore)
    const limit = bareCryptography({ threads: limitThreads, seconds: limitSeconds }, oneCore)
    return { what, answer, perSecond: (answer.done / answer.work) * 1000, limit }
  })
  return {
    bounds: [
      ...measured.map(({ what, perSecond, limit }) =>
        atLeast(
          `verify, of what its cryptography allows: ${what}`,
          perSecond / limit,
          shareMin,
          percent,
        ),
      ),
      ...measured.map(({ what, answer }) => memoryBound(`verify, ${what}`, answer.rssMax)),
    ],
    tables: [
      {
        title: `Verify from genesis ${size}`,
        columns: ['', 'commits per second', 'limit', 'of it', 'seconds', 'commits', 'memory'],
        rows: measured.map(({ what, answer, perSecond, limit }) => [
          what,
          digits(perSecond),
          digits(limit),
          percent(perSecond / limit),
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
    reasons: measured.slice(-1).map(({ perSecond, limit }) => makeUp(perSecond, limit)),
  }
}

/** What one commit consists of, on one core. */
function makeUp(perSecond: number, limit: number): string {
  const whole = 1000 / perSecond
  const bare = 1000 / limit
  return (
    `To verify a commit on one core takes ${milliseconds(whole)}: its signatures and ` +
    `envelopes ${milliseconds(bare)}, and ${milliseconds(whole - bare)} ` +
    'to read and inflate its objects and the trees above them, for the hashes of git, and for ' +
    'the rules of the format, which the thread that has the history checks in order.'
  )
}
