// Runs tests of one file against a defect, in their own vitest, and reports whether one noticed.
// Must not treat a run as a kill that failed for another reason.

import { spawn } from 'node:child_process'
import { readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { env, execPath } from 'node:process'
import { z } from 'zod'
import type { Edit } from './mutant.ts'

export type Verdict =
  | { readonly type: 'killed' }
  | { readonly type: 'survived' }
  /** The entry is wrong: the test did not run, or the file with the defect does not load. */
  | { readonly type: 'unusable'; readonly why: string }

export interface Task {
  readonly area: string
  readonly edit: Edit
  /** The text that the edit replaces. */
  readonly replaced: string
  /** From `test/`. */
  readonly tests: readonly string[]
  /** The end of the full name of the test that must fail; undefined if any may. */
  readonly name: string | undefined
}

/** A test that waits this long for something that the defect prevents has noticed the defect. */
const TEST_MS_MAX = 100_000
/** A longer run is ended. */
const RUN_MS_MAX = 300_000

/** `report` is the path of a file that no other run uses. */
export async function runMutant(root: string, report: string, task: Task): Promise<Verdict> {
  const { edit, name } = task
  const output = await vitest(root, task, { MUTANT: JSON.stringify(edit), REPORT: report })
  const results = readReport(report)
  rmSync(report, { force: true })
  if (results === undefined) return { type: 'unusable', why: lastLines(output) }
  const ran = results.filter(({ fullName, status }) => {
    return fullName.endsWith(name ?? '') && (status === 'passed' || status === 'failed')
  })
  if (ran.length === 0) return { type: 'unusable', why: 'the test did not run' }
  return { type: ran.some(({ status }) => status === 'failed') ? 'killed' : 'survived' }
}

function vitest(
  root: string,
  { tests, name }: Task,
  variables: Readonly<Record<string, string>>,
): Promise<string> {
  const program = join(root, 'node_modules', 'vitest', 'vitest.mjs')
  const pattern = name?.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`)
  const choice = pattern === undefined ? ['--bail=1'] : ['--testNamePattern', `${pattern}$`]
  const files = tests.map((test) => join('test', test))
  const args = [program, 'run', ...files, ...choice, `--testTimeout=${TEST_MS_MAX}`]
  const child = spawn(execPath, args, {
    cwd: root,
    env: { ...env, ...variables },
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: RUN_MS_MAX,
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

/** Undefined if vitest wrote no report, or if a file could not be loaded. */
function readReport(path: string): readonly z.infer<typeof testResultSchema>[] | undefined {
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
