// `settings`: shows and changes the settings of the store. The library checks that an owner changes
// them.

import type { Wire } from '../../api/wire.ts'
import type { Settings } from '../../format/settings.ts'
import { contentBytesFormatMax, memoriesMax } from '../../limits.ts'
import { guardMetadataKey, withGuard } from '../../store/guard/guard.ts'
import type { Answer, Input } from '../command.ts'
import type { Context } from '../context.ts'
import { withStore } from '../open-store.ts'
import { authorOf } from '../options.ts'
import { wire } from '../wire.ts'

export function settings(context: Context, input: Input): Promise<Answer> {
  const author = authorOf(context, input)
  const contentBytes = input.integer('content-limit', 1, contentBytesFormatMax)
  const memories = input.integer('memory-limit', 1, memoriesMax)
  return withStore(context, async (store) => {
    const before = (await store.status()).settings
    const limits = {
      contentBytes: contentBytes ?? before.limits.contentBytes,
      memories: memories ?? before.limits.memories,
    }
    const { name = before.name, description = before.description } = {
      ...given('name', input),
      ...given('description', input),
    }
    const guard = input.text('guard')
    const { metadata: known } = before
    const metadata = guard === undefined ? known : withGuard(known, guard === 'on')
    const change = { name, description, limits, metadata }
    const { commit } = await store.as(author).settings.update(change)
    const after = { ...before, ...change }
    return {
      text: settingsText(after),
      json: { changed: commit !== undefined, commit: commit ?? null, ...settingsJson(after) },
    }
  })
}

export function guardText({ metadata }: Settings): string {
  return Object.hasOwn(metadata, guardMetadataKey) ? 'on: texts with secrets are refused' : 'off'
}

export function settingsJson(found: Settings): Wire {
  const { name, description, metadata, archivedAt, limits } = found
  return wire({
    name,
    description,
    metadata,
    archivedAt,
    limits: wire({ sizeBytes: limits.contentBytes, memories: limits.memories }),
    guard: Object.hasOwn(metadata, guardMetadataKey),
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
    `Content limit  ${limits.contentBytes.toLocaleString('en')} bytes per memory`,
    `Memory limit   ${limits.memories.toLocaleString('en')} memories`,
    `Guard          ${guardText(found)}`,
    '',
  ].join('\n')
}
