// `doctor`: checks the setup of this machine and the store. Each finding names its fix.

import { type Answer, type Command, type Context, type Input, usageError } from '../call/command.ts'
import { checkFiles } from '../doctor/file-checks.ts'
import { findingText } from '../doctor/finding.ts'
import { checkStore, withoutStore } from '../doctor/store-checks.ts'
import { isNothingHere } from '../store/vanished.ts'

export const commands: readonly Command[] = [
  {
    name: 'doctor',
    summary: 'Check the setup, and say how to fix it',
    options: {
      '--repair': 'Repair damaged and missing files from intact data',
      '--from <where>': 'With --repair: take missing objects from there',
      '--dry-run': 'With --repair: show what would be done',
    },
    notes: [
      'Also counts unreachable objects, which interrupted syncs and lost races leave behind; for ' +
        'that it packs the journal and reads every commit and tree. Only `git gc --prune=now` ' +
        'removes them, while no process has the store open.',
      'On a device that gives grants, it asks each remote whether their holders can begin.',
      'The exit code is that of the first failure.',
      '--repair reads packs, loose objects, the journal and refs, and rewrites what it can read, ' +
        'once the history verifies from its first commit on. --from names a remote, its ' +
        'address, the directory of a backup, or another clone; without it no remote is ' +
        'contacted. Work that was never sent is kept. Damaged files are moved to ' +
        'gitlocket/damaged in the store, and a later repair reads them again; a redaction erases ' +
        'them. Losses are listed: the exit code is then 11, or 12 if this device ' +
        'has verified later changes. A sound store is not touched.',
    ],
    run: doctor,
  },
]

async function doctor(context: Context, input: Input): Promise<Answer> {
  if (input.flag('repair')) return (await import('../doctor/repair.ts')).repair(context, input)
  for (const option of ['from', 'dry-run']) {
    const given = input.flag(option) || input.text(option) !== undefined
    if (given) throw usageError(`--${option} needs --repair`, 'doctor')
  }
  const isStore = !isNothingHere(context.environment)
  // Before the store is opened, which creates a missing state directory.
  const files = checkFiles(context.environment, isStore)
  // A grant makes its clone at its first use: whether it can is what its holder asks.
  const mayOpen = isStore || context.environment.grant !== undefined
  const store = mayOpen ? await checkStore(context) : await withoutStore(context.environment)
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
