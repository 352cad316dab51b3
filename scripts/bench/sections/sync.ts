// Syncing over a bare repository in a directory, next to stock git with the same commits: the first
// push, a join, one change, and nothing new; then the merge of two clones that diverged.

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { formatDeviceCard, formatIdentity, generateIdentity } from 'gitlocket'
import { type Answer, type Clone, runTask } from '../child.ts'
import type { Places } from '../contenders/product.ts'
import type { Context } from '../context.ts'
import {
  type History,
  inBursts,
  makeHistory,
  pathsOf,
  withCopy,
  withStore,
} from '../long-history.ts'
import { run } from '../machine.ts'
import { median, type Measured, processorTime, timed } from '../measure.ts'
import { budget, type Fact, type Row, type Section } from '../page.ts'
import { bytes, digits, milliseconds } from '../statistics.ts'

const author = { actor: { type: 'user', id: 'bench' } } as const
const OURS = 'gitlocket'

export async function measureSync(context: Context): Promise<Section> {
  return withCopy(await context.history(), context.directory('sync-copy'), (copy) => {
    return measure(context, copy)
  })
}

async function measure(context: Context, long: History): Promise<Section> {
  const pair = await connect(context, long, 'long')
  const rows = [pair.pushed, pair.joined, ...(await transfers(context, pair))]
  const merge = await mergeApart(context, pair)
  const { sandbox } = context.scale
  context.log('a fresh sandbox')
  const small = await connect(
    context,
    await makeHistory(context.directory('sandbox-history'), sandbox),
    'sandbox',
  )
  const fresh = [small, pair].map(({ history: { size }, first }) => ({
    what: `fresh sandbox to its first read, ${sizeText(size)}, processor time`,
    value: first.processor,
  }))
  const facts: readonly Fact[] = [
    ...fresh.map(({ what, value }) => ({ what, value: milliseconds(value) })),
    { what: 'memory of a join', value: bytes(pair.first.memory) },
    { what: `merge of ${merge.apart} changes each`, value: milliseconds(merge.answer.work) },
  ]
  return {
    title: 'Sync over a local path',
    rows,
    facts,
    budgets: [
      budget(fresh[0]?.what ?? '', small.first.processor, 1000, milliseconds),
      budget(fresh[1]?.what ?? '', pair.first.processor, 2000, milliseconds),
      budget(
        `longest hold of the event loop: merge of ${merge.apart} changes each`,
        merge.answer.longestHold,
        50,
        milliseconds,
      ),
    ],
    note:
      `${sizeText(long.size)}, unless a row names another size. Each sync is in a new process; ` +
      'its time is that of the call, its processor time that of the process. A join verifies ' +
      'every commit; git clones and fetches the same commits and verifies no signature.',
  }
}

interface Pair {
  readonly history: History
  readonly second: Clone & Pick<Places, 'identity'>
  readonly pushed: Row
  readonly joined: Row
  /** The join of the second clone, until its first read. */
  readonly first: Answer
  /** An empty directory, and the bare repositories of git and its clone. */
  readonly root: string
}

/** Enrols a second device, pushes the store to a new remote, and joins it there. */
async function connect(context: Context, history: History, name: string): Promise<Pair> {
  const root = context.directory(`sync-${name}`)
  const git = (...args: readonly string[]) => run('git', args, { cwd: root })
  for (const remote of ['ours.git', 'theirs.git']) {
    git('init', '--quiet', '--bare', '--initial-branch=main', remote)
    run('git', ['config', 'receive.autogc', 'false'], { cwd: join(root, remote) })
  }
  const url = join(root, 'ours.git')
  const identity = await generateIdentity()
  const identityFile = join(root, 'identity')
  writeFileSync(identityFile, formatIdentity(identity), { mode: 0o600 })
  await withStore(history.places, async (store) => {
    await store.as(author).devices.add(formatDeviceCard(identity), 'writer')
    await store.remotes.add('origin', url)
  })
  const { directory } = history.clone
  context.log(`first push and join, ${sizeText(history.size)}`)
  const push = ['push', '--quiet', join(root, 'theirs.git'), 'main']
  const pushes = new Lanes()
  pushes.add(sync(history.clone), await stockGit(directory, push))
  const { address } = await withStore(history.places, (store) => store.status())
  const second = { directory: join(root, 'store'), stateDirectory: join(root, 'state') }
  const first = runTask(
    { ...second, identityFile },
    { type: 'join', address: `${url}#${address}`, path: pathsOf(history.size)[0] ?? '' },
  )
  // As over a network: from a path, git would link the files.
  const clone = ['clone', '--quiet', '--bare', '--no-local', url, 'clone.git']
  const joins = new Lanes()
  joins.add(first, await stockGit(root, clone))
  return {
    history,
    second: { ...second, identityFile, identity },
    pushed: pushes.row('first push'),
    joined: joins.row('join'),
    first,
    root,
  }
}

/** One change goes from the first clone to the second one, again and again. */
async function transfers(context: Context, pair: Pair): Promise<readonly Row[]> {
  const { history, second, root } = pair
  context.log('one change, and nothing new')
  const [path = ''] = pathsOf(history.size)
  const all = { push: new Lanes(), fetch: new Lanes(), nothing: new Lanes() }
  for (let count = 0; count < context.scale.processes; count += 1) {
    await withStore(history.places, (store) =>
      store.as(author).apply([{ type: 'edit', path, edit: (text) => `${text}${count}\n` }]),
    )
    const url = join(root, 'theirs.git')
    all.push.add(
      sync(history.clone),
      await stockGit(history.clone.directory, ['push', '--quiet', url, 'main']),
    )
    const fetch = ['fetch', '--quiet', url, 'main:main']
    all.fetch.add(sync(second), await stockGit(join(root, 'clone.git'), fetch))
    all.nothing.add(sync(second), await stockGit(join(root, 'clone.git'), fetch))
  }
  return [
    all.push.row('push of one change'),
    all.fetch.row('fetch of one change'),
    all.nothing.row('sync with nothing new'),
  ]
}

/** Both clones change many memories, a tenth of them both; the second one merges. */
async function mergeApart(
  context: Context,
  { history, second }: Pair,
): Promise<{ readonly answer: Answer; readonly apart: number }> {
  const apart = Math.min(context.scale.apart, history.size.memories / 2)
  context.log(`merge after ${apart} changes each`)
  const paths = pathsOf(history.size)
  const change = async (places: Places, from: number, line: string): Promise<void> => {
    await withStore(places, (store) =>
      inBursts(store.as(author), paths.slice(from, from + apart), (path) => [
        { type: 'edit', path, edit: (content) => `${content}${line}\n` },
      ]),
    )
  }
  await change(history.places, 0, 'ours')
  await change(second, Math.floor(apart * 0.9), 'theirs')
  sync(history.clone)
  return { answer: sync(second), apart }
}

function sync(clone: Clone): Answer {
  return runTask(clone, { type: 'sync' })
}

interface Taken {
  readonly time: number
  readonly processor: number
}

async function stockGit(cwd: string, args: readonly string[]): Promise<Taken> {
  const before = processorTime()
  const time = await timed(() => run('git', args, { cwd }))
  return { time, processor: processorTime() - before }
}

/** Our processes and those of git, by turns. */
class Lanes {
  readonly #ours: Answer[] = []
  readonly #git: Taken[] = []

  add(ours: Answer, git: Taken): void {
    this.#ours.push(ours)
    this.#git.push(git)
  }

  row(what: string): Row {
    const ours = this.#ours.map(({ work: time, processor }) => ({ time, processor }))
    return { what, measured: [summary(OURS, ours), summary('git', this.#git)] }
  }
}

function summary(name: string, taken: readonly Taken[]): Measured {
  return {
    name,
    time: median(taken.map(({ time }) => time)),
    processor: median(taken.map(({ processor }) => processor)),
    n: taken.length,
  }
}

function sizeText({ memories, commits }: History['size']): string {
  return `${digits(memories)} memories and ${digits(commits)} commits`
}
