// `doctor`: checks the setup of this machine and the store. Each finding names its fix.

import { usageError } from '../call/command-error.ts'
import type { Answer, Input } from '../call/command.ts'
import type { Context } from '../call/context.ts'
import { checkFiles } from '../doctor/file-checks.ts'
import { findingText } from '../doctor/finding.ts'
import { checkStore, withoutStore } from '../doctor/store-checks.ts'
import { isNothingHere } from '../store/vanished.ts'

export async function doctor(context: Context, input: Input): Promise<Answer> {
  if (input.flag('repair')) return (await import('../doctor/repair.ts')).repair(context, input)
  for (const option of ['from', 'dry-run']) {
    const given = input.flag(option) || input.text(option) !== undefined
    if (given) throw usageError(`--${option} needs --repair`, 'doctor')
  }
  const isStore = !isNothingHere(context.environment)
  // Before the store is opened, which creates a missing state directory.
  const files = checkFiles(context.environment, isStore)
  const store = isStore ? await checkStore(context) : withoutStore(context.environment)
  const findings = [...files, ...store.findings]
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
      reclaimable: store.reclaimable ?? null,
    },
    exitCode: failure?.exitCode ?? 0,
  }
}
