// `npm run mutants`: puts each defect into the code, one at a time, and runs the test that must
// notice it. Prints a line for each and the score, and fails if one survives.

import { mkdtempSync, rmSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import { argv } from 'node:process'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { runMutant, type Task, type Verdict } from './run.ts'
import { tasks } from './tasks.ts'

const usage = `npm run mutants [-- options]
  --only <text>     those whose area, source file or test contains this text
  --piece <k/n>     the k-th of n equal parts
  --jobs <n>        how many run concurrently; by default the number of cores`

interface Options {
  readonly only: string
  readonly piece: readonly [part: number, parts: number]
  readonly jobs: number
}

function parseOptions(args: readonly string[]): Options {
  const { values } = parseArgs({
    args: [...args],
    options: {
      only: { type: 'string', default: '' },
      piece: { type: 'string', default: '1/1' },
      jobs: { type: 'string', default: String(availableParallelism()) },
    },
  })
  const [part = 0, parts = 0] = values.piece.split('/').map(Number)
  const jobs = Number(values.jobs)
  const isPiece = Number.isInteger(part) && Number.isInteger(parts) && part >= 1 && part <= parts
  if (!isPiece || !Number.isInteger(jobs) || jobs < 1) throw new TypeError(usage)
  return { only: values.only, piece: [part, parts], jobs }
}

function describe({ area, edit, replaced, tests, name }: Task, verdict: Verdict): string {
  const change = `${oneLine(replaced)}  →  ${oneLine(edit.by)}`
  const why = verdict.type === 'unusable' ? `\n    ${verdict.why}` : ''
  const test = name === undefined ? tests.join(', ') : `${tests.join(', ')} > ${name}`
  return `${verdict.type.padEnd(9)}${area}: ${edit.file}: ${change}\n    ${test}${why}`
}

function oneLine(text: string): string {
  return text.trim().replaceAll(/\s+/g, ' ')
}

const root = fileURLToPath(new URL('../..', import.meta.url))

async function runAll({ only, piece, jobs }: Options, scratch: string): Promise<Verdict[]> {
  const [part, parts] = piece
  const queue = tasks(root)
    .filter(({ area, edit, tests }) => `${area} ${edit.file} ${tests.join()}`.includes(only))
    .filter((_, index) => index % parts === part - 1)
  const verdicts: Verdict[] = []
  async function work(_: unknown, worker: number): Promise<void> {
    for (let task = queue.shift(); task !== undefined; task = queue.shift()) {
      const verdict = await runMutant(root, join(scratch, `${worker}.json`), task)
      verdicts.push(verdict)
      console.log(describe(task, verdict))
    }
  }
  await Promise.all(Array.from({ length: jobs }).map(work))
  return verdicts
}

const scratch = mkdtempSync(join(tmpdir(), 'gitlocket-mutants-'))
try {
  const verdicts = await runAll(parseOptions(argv.slice(2)), scratch)
  const count = (type: Verdict['type']): number => {
    return verdicts.filter((verdict) => verdict.type === type).length
  }
  const killed = count('killed')
  console.log(
    `${killed} of ${verdicts.length} killed, ${count('survived')} survived, ` +
      `${count('unusable')} unusable`,
  )
  if (verdicts.length === 0 || killed < verdicts.length) process.exitCode = 1
} finally {
  rmSync(scratch, { recursive: true })
}
