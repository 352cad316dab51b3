// `npm run mutants`: puts each defect of the list into the code, one at a time, and runs the test
// that must notice it. Prints a line for each and the score, and fails if one survives.

import { mkdtempSync, rmSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import { argv } from 'node:process'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { areas } from './areas.ts'
import { runMutant, type Task, type Verdict } from './run.ts'

const usage = `npm run mutants [-- options]
  --only <text>     those whose area, source file or test contains this text
  --piece <k/n>     the k-th of n equal parts
  --jobs <n>        how many run concurrently; by default the number of cores`

interface Options {
  readonly only: string
  readonly piece: readonly [part: number, parts: number]
  readonly jobs: number
}

interface Listed extends Task {
  readonly area: string
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

function choose({ only, piece: [part, parts] }: Options): readonly Listed[] {
  const all = Object.entries(areas).flatMap(([area, files]) =>
    files.flatMap(({ file, mutants }) =>
      mutants.map((mutant) => ({ area, ...mutant, file: `src/${file}` })),
    ),
  )
  const chosen = all.filter(({ area, file, test }) => `${area} ${file} ${test}`.includes(only))
  return chosen.filter((_, index) => index % parts === part - 1)
}

function describe({ area, file, line, becomes, test, name }: Listed, verdict: Verdict): string {
  const change = `${oneLine(line)}  →  ${becomes.trim() === '' ? '(nothing)' : oneLine(becomes)}`
  const why = verdict.type === 'unusable' ? `\n    ${verdict.why}` : ''
  return `${verdict.type.padEnd(9)}${area}: ${file}: ${change}\n    ${test} > ${name}${why}`
}

function oneLine(text: string): string {
  return text.trim().replaceAll(/\s+/g, ' ')
}

async function runAll(options: Options, scratch: string): Promise<readonly Verdict[]> {
  const root = fileURLToPath(new URL('../..', import.meta.url))
  const queue = [...choose(options).entries()]
  const verdicts: Verdict[] = []
  async function work(): Promise<void> {
    for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
      const [number, task] = next
      const verdict = await runMutant({ root, scratch }, task, number)
      verdicts.push(verdict)
      console.log(describe(task, verdict))
    }
  }
  await Promise.all(Array.from({ length: options.jobs }, work))
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
