// `doctor`: is everything set up as it should be? Each line says how to mend what is not.

import type { Answer, Input } from '../command.ts'
import type { Context } from '../context.ts'
import { checkFiles } from '../doctor/file-checks.ts'
import { findingText } from '../doctor/finding.ts'
import { findLeaks } from '../doctor/leaks.ts'
import { checkStore } from '../doctor/store-checks.ts'

export async function doctor(context: Context, input: Input): Promise<Answer> {
  if (input.flag('leaks')) return findLeaks(context)
  const findings = [...checkFiles(context.environment), ...(await checkStore(context))]
  const failure = findings.find(({ level }) => level === 'fail')
  return {
    text: findings.map(findingText).join(''),
    json: {
      healthy: failure === undefined,
      checks: findings.map(({ check, level, found, fix }) => ({
        check,
        level,
        found,
        fix: fix ?? null,
      })),
    },
    exitCode: failure?.exitCode ?? 0,
  }
}
