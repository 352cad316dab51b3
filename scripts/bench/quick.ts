// `npm run bench -- --quick`: this build and another one by turns over the main rows, each task in
// a process of its own on a copy of its own. Must not write into the repository.

import { cpSync, existsSync, mkdirSync, renameSync, rmSync, symlinkSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { openStore } from 'gitlocket'
import type { Context } from './context.ts'
import { makeHistory } from './long-history.ts'
import { run } from './machine.ts'
import { timed } from './measure.ts'
import type { QuickAnswer, QuickRequest, QuickTask } from './quick-child.ts'
import { judge, type Pairs, quickTable } from './quick-table.ts'

const repository = fileURLToPath(new URL('../..', import.meta.url))
const child = fileURLToPath(new URL('quick-child.js', import.meta.url))
const size = { commits: 5000, memories: 1000 }
const tasks: readonly QuickTask[] = ['commands', 'verify', 'sync', 'redaction']
/** As many rounds as fit into two minutes, but enough to tell noise from a difference. */
const [roundsMin, roundsMax, measuredMs] = [5, 15, 120_000]

interface Build {
  readonly side: 'old' | 'new'
  /** Of the repository that it was made in. */
  readonly root: string
}

/** Prints the table. Resolves to whether something got worse beyond the noise. */
export async function compareBuilds(context: Context, against: string): Promise<boolean> {
  const builds: readonly Build[] = [
    { side: 'old', root: otherBuild(context, against) },
    { side: 'new', root: repository },
  ]
  const work = join(context.directory('quick'), 'work')
  context.log('making a history of 5,000 commits')
  await makeBase(work)
  for (const build of builds) {
    lend(work, `${work}-base`)
    runChild(build, 'warm', work)
    renameSync(work, `${work}-${build.side}`)
  }
  const samples: Samples = new Map()
  const start = performance.now()
  let rounds = 0
  while (rounds < roundsMin || (rounds < roundsMax && performance.now() - start < measuredMs)) {
    const order = rounds % 2 === 0 ? builds : builds.toReversed()
    for (const task of tasks)
      for (const build of order) add(samples, build, doTask(build, task, work))
    for (const build of order) add(samples, build, await startProcesses(build, work))
    rounds += 1
  }
  const pairs: readonly Pairs[] = [...samples.values()]
  console.log(quickTable(pairs))
  context.log(`${rounds} rounds against ${against}`)
  return pairs.some((each) => judge(each).verdict === 'worse')
}

/** A directory that holds a build, or a revision, which is built in a worktree. */
function otherBuild(context: Context, against: string): string {
  if (existsSync(join(against, 'dist/index.js'))) return resolve(against)
  const root = join(context.directory('quick'), 'worktree')
  context.log(`building ${against}`)
  const git = (...args: readonly string[]) => run('git', args, { cwd: repository })
  git('worktree', 'add', '--quiet', '--detach', root, against)
  process.on('exit', () => git('worktree', 'remove', '--force', root))
  symlinkSync(join(repository, 'node_modules'), join(root, 'node_modules'))
  run('npm', ['run', 'build'], { cwd: root })
  return root
}

/** A store with its state, its identity, and a remote that has nothing yet. */
async function makeBase(work: string): Promise<void> {
  mkdirSync(work)
  const { places } = await makeHistory(work, size)
  const remote = join(work, 'remote.git')
  run('git', ['init', '--quiet', '--bare', '--initial-branch=main', remote], { cwd: work })
  const store = await openStore(places)
  await store.remotes.add('origin', remote)
  await store.close()
  renameSync(work, `${work}-base`)
}

/** Each copy is in the same place, since a remote has an address. */
function lend(work: string, from: string): void {
  rmSync(work, { recursive: true, force: true })
  cpSync(from, work, { recursive: true })
}

function doTask(build: Build, task: QuickTask, work: string): QuickAnswer {
  if (task !== 'commands') {
    lend(work, `${work}-${build.side}`)
    return runChild(build, task, work)
  }
  rmSync(work, { recursive: true, force: true })
  mkdirSync(work)
  return runChild(build, task, work)
}

function runChild({ root }: Build, task: QuickTask, directory: string): QuickAnswer {
  const request: QuickRequest = { build: root, task, directory }
  const words = [child, JSON.stringify(request)]
  const answer: QuickAnswer = JSON.parse(
    run(process.execPath, words, { cwd: directory }).toString(),
  )
  return answer
}

/** The command line, on a store of 1,000 memories with its caches. */
async function startProcesses({ root, side }: Build, work: string): Promise<QuickAnswer> {
  lend(work, `${work}-${side}`)
  const program = join(root, 'src/bin/gitlocket.cjs')
  const config = join(work, '.config/gitlocket')
  mkdirSync(config, { recursive: true, mode: 0o700 })
  cpSync(join(work, 'identity'), join(config, 'identity'))
  const env = {
    GITLOCKET_STORE: join(work, 'store'),
    GITLOCKET_STATE_DIRECTORY: join(work, 'state'),
  }
  const start = (...words: readonly string[]) =>
    timed(() => run(process.execPath, [program, ...words], { cwd: work, env, input: 'new\n' }))
  return {
    'gitlocket --version, a process': await start('--version'),
    'gitlocket cat, a process': await start('cat', '/0/0.md'),
    'gitlocket create, a process': await start('create', '/new', '-'),
  }
}

type Samples = Map<string, { name: string; old: number[]; new: number[] }>

function add(samples: Samples, { side }: Build, answer: QuickAnswer): void {
  for (const [name, value] of Object.entries(answer)) {
    const pairs = samples.get(name) ?? { name, old: [], new: [] }
    pairs[side].push(value)
    samples.set(name, pairs)
  }
}
