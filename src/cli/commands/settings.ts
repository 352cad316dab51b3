// `settings`: shows and changes the settings of the store. The library checks that an owner changes
// them.

import type { Settings } from '../../format/settings.ts'
import { contentBytesFormatMax, memoriesMax } from '../../limits.ts'
import type { Wire } from '../../operations/wire.ts'
import { isGuardOn, withGuard } from '../../store/guard/guard.ts'
import type { Answer, Command, Context, Input } from '../call/command.ts'
import { actorOptions, authorOf } from '../call/options.ts'
import { withStore } from '../store/open-store.ts'
import { wire } from '../text/wire.ts'
import { numberText, sizeText } from '../text/words.ts'

export const commands: readonly Command[] = [
  {
    name: 'settings',
    summary: 'Show or change the settings of the store',
    options: {
      '--name <text>': 'Its name',
      '--description <text>': 'Its purpose',
      '--content-limit <bytes>': 'The largest size of a memory',
      '--memory-limit <number>': 'The largest number of memories',
      '--guard <on|off>': 'On: refuse texts that hold private keys, tokens or card numbers',
      ...actorOptions,
    },
    notes: [
      'Only an owner changes settings. They are encrypted, and every device of the store obeys ' +
        'them. Their history cannot be redacted: put no secrets into names and descriptions. The ' +
        'guard refuses those that it knows there too, and in the ids of actors and sessions.',
    ],
    run: settings,
  },
]

function settings(context: Context, input: Input): Promise<Answer> {
  const author = authorOf(context, input)
  const contentBytes = input.integer('content-limit', 1, contentBytesFormatMax)
  const memories = input.integer('memory-limit', 1, memoriesMax)
  const guard = input.text('guard')
  return withStore(context, async (store) => {
    let after = (await store.status()).settings
    // Starts from the settings in force, to keep what others change at the same time.
    const { commit } = await store.as(author).settings.update((now) => {
      const limits = {
        contentBytes: contentBytes ?? now.limits.contentBytes,
        memories: memories ?? now.limits.memories,
      }
      const metadata = guard === undefined ? now.metadata : withGuard(now.metadata, guard === 'on')
      after = { ...now, ...given('name', input), ...given('description', input), limits, metadata }
      return after
    })
    return {
      text: settingsText(after),
      json: { changed: commit !== undefined, commit: commit ?? null, ...settingsJson(after) },
    }
  })
}

export function guardText(found: Settings): string {
  return isGuardOn(found) ? 'on: texts with secrets are refused' : 'off'
}

export function settingsJson(found: Settings): Wire {
  const { name, description, metadata, archivedAt, limits } = found
  return wire({
    name,
    description,
    metadata,
    archivedAt,
    limits: wire({ sizeBytes: limits.contentBytes, memories: limits.memories }),
    guard: isGuardOn(found),
  })
}

function given(option: string, input: Input): Readonly<Record<string, string>> {
  const text = input.text(option)
  return text === undefined ? {} : { [option]: text }
}

function settingsText(found: Settings): string {
  const { name, description, limits } = found
  return [
    `Name           ${name}`,
    `Description    ${description === '' ? '(none)' : description}`,
    `Content limit  ${sizeText(limits.contentBytes)} a memory`,
    `Memory limit   ${numberText(limits.memories)} memories`,
    `Guard          ${guardText(found)}`,
    '',
  ].join('\n')
}
