// Rollback of a whole store over many changes, and the undo of a session among them.

import { intruder } from '../long-history.ts'
import type { Section } from '../report.ts'
import { replacedVersions, type Site, withCopy } from '../site.ts'
import { bytes, digits, milliseconds, summarize } from '../statistics.ts'
import type { Task, TaskAnswer } from '../task-child.ts'
import { memoryBound, runTask } from '../task.ts'

export async function measureRevert(site: Site): Promise<Section> {
  const { context, size } = site
  const { recent, rewrites } = context.scale
  const [target] = await replacedVersions(site, [recent])
  if (target === undefined) throw new RangeError('The history is too short')
  const tasks: readonly (readonly [string, Task])[] = [
    [`rollback over ${digits(recent)} changes`, { type: 'rollback', commit: target.commit }],
    [`undo of a session in ${digits(recent)} changes`, { type: 'undo', session: intruder }],
  ]
  const measured: (readonly [string, readonly TaskAnswer[]])[] = []
  for (const [what, task] of tasks) {
    context.log(what)
    measured.push([what, await answers(site, task, rewrites)])
  }
  return {
    bounds: measured.map(([what, found]) => memoryBound(what, peakOf(found))),
    tables: [
      {
        title: `Rollback and undo ${size}`,
        columns: ['', 'median', 'whole process', 'memories', 'left alone', 'memory', 'n'],
        rows: measured.map(([what, found]) => row(what, found)),
        notes: [
          '`me.rollback` to a commit and `me.undo` of a session on an open store whose ' +
            'history is in RAM, until the one new commit is durable. The session wrote each ' +
            'tenth of these changes, at the end of notes whose first line the others change: a ' +
            'three-way merge keeps what they wrote later.',
        ],
      },
    ],
  }
}

async function answers(site: Site, task: Task, count: number): Promise<readonly TaskAnswer[]> {
  const found: TaskAnswer[] = []
  while (found.length < count) {
    found.push(
      await withCopy(site, ({ history, identityFile }) =>
        runTask(history.places, identityFile, task),
      ),
    )
  }
  return found
}

function row(what: string, found: readonly TaskAnswer[]): readonly string[] {
  const { median, n } = summarize(found.map(({ work }) => work))
  const whole = summarize(found.map((answer) => answer.whole))
  const [first] = found
  return [
    what,
    milliseconds(median),
    milliseconds(whole.median),
    digits(first?.done ?? Number.NaN),
    digits(first?.left ?? Number.NaN),
    bytes(peakOf(found)),
    digits(n),
  ]
}

function peakOf(found: readonly TaskAnswer[]): number {
  return Math.max(...found.map(({ rssMax }) => rssMax))
}
