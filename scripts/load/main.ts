// `npm run load`: puts a load on a server that is killed again and again (load.ts). Ends with exit
// code 1 if a change that was acknowledged is lost or there twice, if two won one race, if any
// answer was a fault, or if the server held more than it may.

import { readFileSync } from 'node:fs'
import { Client, Fault } from './client.ts'
import { Load } from './load.ts'
import { type Options, parseOptions, usage } from './options.ts'
import { type Life, ServerProcess } from './server-process.ts'

/** Lives differ in how many stores they open, and in the packs of these. */
const handlesMore = 1.5
const handlesFew = 100

async function run(options: Options): Promise<readonly string[]> {
  const server = new ServerProcess(options.command, options.url)
  const load = new Load(options, new Client(options.url, options.key), server)
  const problems = await load.run()
  console.log(describe(load, server.lives))
  return [...problems, ...problemsOfLives(server.lives, options)]
}

function describe({ counts }: Load, lives: readonly Life[]): string {
  const { reads, updates, races, lost } = counts
  const memory = lives.map((life) => life.memory.toFixed(0)).join(' ')
  const handles = lives.map((life) => life.handles).join(' ')
  return (
    `${reads} reads, ${updates} updates, ${races} lost races, ${lost} unanswered; ` +
    `of each life, MiB: ${memory}; handles: ${handles}`
  )
}

function problemsOfLives(
  lives: readonly Life[],
  { maxMemory = Infinity }: Options,
): readonly string[] {
  const most = Math.max(...lives.map(({ memory }) => memory))
  const [first = 0, ...later] = lives.map(({ handles }) => handles)
  const problems: string[] = []
  if (most > maxMemory) {
    problems.push(`The server held ${most.toFixed(0)} MiB, and may hold ${maxMemory}`)
  }
  if (Math.max(first, ...later) > handlesMore * first + handlesFew) {
    problems.push(`From ${first} file handles it came to ${Math.max(...later)}`)
  }
  return problems
}

async function main(): Promise<number> {
  const options = parseOptions(process.argv.slice(2), (file) => readFileSync(file, 'utf8'))
  const problems = await run(options)
  for (const problem of problems.slice(0, 20)) console.error(problem)
  console.log(problems.length === 0 ? 'Nothing is wrong' : `${problems.length} problems`)
  return problems.length === 0 ? 0 : 1
}

try {
  process.exitCode = await main()
} catch (error) {
  if (!(error instanceof TypeError) || error instanceof Fault) throw error
  console.error(`${error.message}\n\n${usage}`)
  process.exitCode = 2
}
