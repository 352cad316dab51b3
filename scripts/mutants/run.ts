// Runs the named test of one mutant against the defect, in its own vitest, and reports whether the
// test noticed. Must not count a run as noticed that failed for another reason.

import { spawn } from 'node:child_process'
import { readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { env, execPath } from 'node:process'
import { z } from 'zod'
import type { Mutant } from './mutant.ts'

export type Verdict =
  | { readonly type: 'killed' }
  | { readonly type: 'survived' }
  /** The entry is wrong: the test did not run, or the file with the defect does not load. */
  | { readonly type: 'unusable'; readonly why: string }

export interface Task extends Mutant {
  /** From the root of the repository. */
  readonly file: string
}

export interface Place {
  /** The root of the repository. */
  readonly root: string
  /** The directory of reports; one run at a time writes to its name. */
  readonly scratch: string
}

/** A test that waits so long for what the defect keeps from it has noticed the defect. */
const testMsMax = 100_000
/** A run that takes longer is ended. */
const runMsMax = 180_000

export async function runMutant(place: Place, task: Task, number: number): Promise<Verdict> {
  const report = join(place.scratch, `${number}.json`)
  const { file, line, becomes } = task
  const output = await vitest(place, task, {
    MUTANT: JSON.stringify({ file, line, becomes }),
    REPORT: report,
  })
  const results = readReport(report)
  rmSync(report, { force: true })
  if (results === undefined) return { type: 'unusable', why: lastLines(output) }
  const named = results.filter(({ fullName }) => fullName.endsWith(task.name))
  const ran = named.filter(({ status }) => status === 'passed' || status === 'failed')
  if (ran.length === 0) return { type: 'unusable', why: 'the test did not run' }
  return { type: ran.some(({ status }) => status === 'failed') ? 'killed' : 'survived' }
}

function vitest(
  { root }: Place,
  { test, name }: Task,
  variables: Readonly<Record<string, string>>,
): Promise<string> {
  const program = join(root, 'node_modules', 'vitest', 'vitest.mjs')
  const pattern = `${name.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&')}$`
  const choice = ['--testNamePattern', pattern, `--testTimeout=${testMsMax}`]
  const args = [program, 'run', join('test', test), ...choice]
  const child = spawn(execPath, args, {
    cwd: root,
    env: { ...env, ...variables },
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: runMsMax,
  })
  const parts: Buffer[] = []
  child.stdout.on('data', (part: Buffer) => parts.push(part))
  child.stderr.on('data', (part: Buffer) => parts.push(part))
  return new Promise((resolve, reject) => {
    child.on('error', reject)
    child.on('close', () => resolve(Buffer.concat(parts).toString('utf8')))
  })
}

const testResultSchema = z.object({ fullName: z.string(), status: z.string() })
const reportSchema = z.object({
  testResults: z.array(z.object({ assertionResults: z.array(testResultSchema) })),
})
type TestResult = z.infer<typeof testResultSchema>

/** Undefined if vitest wrote no report, or if a file could not be loaded. */
function readReport(path: string): readonly TestResult[] | undefined {
  try {
    const { testResults } = reportSchema.parse(JSON.parse(readFileSync(path, 'utf8')))
    const results = testResults.flatMap((file) => file.assertionResults)
    return results.length === 0 ? undefined : results
  } catch {
    return undefined
  }
}

function lastLines(output: string): string {
  return output.trim().split('\n').slice(-6).join('\n')
}
