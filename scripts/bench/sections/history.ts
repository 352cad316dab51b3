// What takes a long history: redaction next to git filter-repo, questions about it, verification,
// rollback, and the memory that they need.

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Answer, runTask, type Task } from '../child.ts'
import type { Context } from '../context.ts'
import {
  type History,
  makeHistory,
  pathsOf,
  replacedVersion,
  sizeOf,
  withCopy,
  withStore,
} from '../long-history.ts'
import { findVersion, run } from '../machine.ts'
import { type Measured, processorTime, timed } from '../measure.ts'
import { budget, type Fact, type Row, type Section, times } from '../page.ts'
import { bytes, digits, milliseconds } from '../statistics.ts'

const FILTER_REPO = 'git filter-repo'

export async function measureHistory(context: Context): Promise<Section> {
  const history = await context.history()
  const { recent } = context.scale
  const { size, clone } = history
  const back = digits(recent)
  const redaction = await redact(context, history)
  context.log('rollback, questions and verification')
  const { commit, memoryId } = await replacedVersion(history, recent)
  const doTask = (task: Task): Promise<Answer> => {
    return withCopy(history, context.directory('copy'), (copy) => runTask(copy.clone, task))
  }
  const rollback = await doTask({ type: 'rollback', commit })
  const first = await doTask({ type: 'versions', memoryId, isWarm: false })
  const warm = runTask(clone, { type: 'versions', memoryId, isWarm: true })
  const open = runTask(clone, { type: 'read', path: pathsOf(size)[0] ?? '' })
  const verify = runTask(clone, { type: 'verify' })
  const wide = await measureVersions(context)
  return {
    title: `At ${digits(size.memories)} memories and ${digits(size.commits)} commits`,
    rows: [redaction],
    facts: [
      fact('versions of one memory, the first question of a process', first),
      fact('versions of one memory, a later question', warm),
      fact('a read by a new process, after it opened the store', open),
      fact('verification of all commits', verify),
      fact(`rollback over ${back} changes`, rollback),
      { what: 'disk for each version', value: bytes(bytesEach(history)) },
    ],
    budgets: [
      budget(`redaction ${back} back, × ${FILTER_REPO}`, times(redaction, FILTER_REPO), 0.15),
      budget(
        `longest hold of the event loop: rollback over ${back} changes`,
        rollback.longestHold,
        50,
        milliseconds,
      ),
      budget('memory of a process with a million versions', wide, 300e6, bytes),
    ],
    note:
      'Each in a new process, the call alone. A redaction is purged, and `git fsck --strict` ' +
      `accepts the result. ${FILTER_REPO} removes the same blob, with its own garbage ` +
      'collection; it drops signatures.',
  }
}

function fact(what: string, { work, memory }: Answer): Fact {
  return { what, value: `${milliseconds(work)}, ${bytes(memory)} of memory` }
}

async function redact(context: Context, history: History): Promise<Row> {
  const { recent } = context.scale
  context.log(`redaction ${digits(recent)} versions back`)
  const { versionId, commit } = await replacedVersion(history, recent)
  const ours = await withCopy(history, context.directory('copy'), ({ clone }) => {
    const answer = runTask(clone, { type: 'redact', versionId })
    run('git', ['fsck', '--full', '--strict', '--no-progress'], { cwd: clone.directory })
    return answer
  })
  const measured: Measured[] = [
    { name: 'gitlocket', time: ours.work, processor: ours.processor, n: 1 },
  ]
  if (findVersion('git-filter-repo') === undefined) context.log(`without ${FILTER_REPO}`)
  else measured.push(await filterRepo(context, history, commit))
  return { what: `redaction of one version, ${digits(recent)} back`, measured }
}

/** Removes the blob that a commit of the bench brought: each changes one memory. */
function filterRepo(context: Context, history: History, commit: string): Promise<Measured> {
  const root = context.directory('copy')
  return withCopy(history, root, async ({ clone: { directory: cwd } }) => {
    const words = ['diff-tree', '-r', '--no-commit-id', '--diff-filter=AM', commit]
    const blob = run('git', words, { cwd }).toString().split(/\s/)[3] ?? ''
    const list = join(root, 'blobs')
    writeFileSync(list, `${blob}\n`)
    const args = ['filter-repo', '--force', '--quiet', '--strip-blobs-with-ids', list]
    const before = processorTime()
    const time = await timed(() => run('git', args, { cwd }))
    return { name: FILTER_REPO, time, processor: processorTime() - before, n: 1 }
  })
}

/** The memory of a process that was asked about many versions; NaN if the scale has none. */
async function measureVersions(context: Context): Promise<number> {
  const { versions } = context.scale
  if (versions === 0) return Number.NaN
  context.log(`a history of ${digits(versions)} versions`)
  const rows = 100
  const size = { memories: 10_000, commits: 10_000 + versions / rows }
  const history = await makeHistory(context.directory('versions'), size, rows)
  const [path = ''] = pathsOf(size)
  const memory = await withStore(history.places, (store) => store.read(path))
  const task = { type: 'versions', memoryId: memory?.memoryId ?? '', isWarm: true } as const
  return runTask(history.clone, task).memory
}

function bytesEach({ clone, size }: History): number {
  return sizeOf(join(clone.directory, 'objects')) / size.commits
}
