// The questions of `redact` on a terminal: what to do with memories that hold a text now, why it is
// erased, and whether the user agrees to these versions. Off a terminal each is an option.

import type { RedactReason } from '../../format/change-record.ts'
import { isRedactReason, redactReasons } from '../../format/record.ts'
import type { MemoryStore } from '../../store/memory-store.ts'
import type { RedactionPlan, RedactionRequest } from '../../store/redaction/redaction-plan.ts'
import { CommandError, type Context, type Input, usageError } from '../call/command.ts'
import { plainInk } from '../terminal/ink.ts'
import { askLine, canAsk, checkCanConfirm, declined } from '../terminal/prompt.ts'
import { askedTable } from '../text/table.ts'
import { versionColumns } from '../text/versions-text.ts'
import { countText, fewOf, shortId } from '../text/words.ts'

export type Current = RedactionRequest['current']

export function reasonOf(input: Input): RedactReason {
  const text = input.text('reason-code') ?? 'unspecified'
  if (isRedactReason(text)) return text
  throw usageError('--reason-code is not one of the codes', 'redact')
}

/** Asks how to replace versions that memories still hold, which cannot be redacted as they are. */
export async function chooseCurrent(
  context: Context,
  plan: RedactionPlan,
  pattern: RegExp | undefined,
): Promise<Current> {
  if (plan.current.length === 0) return undefined
  const count = countText(plan.current.length, 'version is', 'versions are')
  const sentence = `${count} still current in memories`
  if (!canAsk(context)) {
    const lines = plan.current.map(({ versionId, path }) => `${shortId(versionId)}  ${path}`)
    throw new CommandError(
      'version_current',
      `${sentence}; nothing was redacted: ${fewOf(lines)}`,
      'Add --overwrite or --delete to change these memories first, or --keep-current to leave ' +
        'these versions out',
      { details: { versionIds: plan.current.map(({ versionId }) => versionId) } },
    )
  }
  const columns = versionColumns(context, plainInk)
  process.stderr.write(`${sentence}:\n${askedTable(context, plan.current, columns)}`)
  const question =
    pattern === undefined
      ? 'First [o]verwrite these memories, [d]elete them, or [k]eep these versions?'
      : 'First replace it by [redacted] (Enter), [d]elete the memories, or [k]eep them?'
  const typed = (await askLine(context, question)).toLowerCase()
  const choice = typed === '' && pattern !== undefined ? 'overwrite' : choices.get(typed)
  if (choice !== undefined) return choice
  throw declined({ preview })
}

const preview = '--dry-run shows them'

/** Reading more texts for a number takes too long. */
const COUNTED_MAX = 1000

/** How often the pattern occurs, to check a text that was typed unseen. */
export async function reportMatches(
  store: MemoryStore,
  { versions }: RedactionPlan,
  pattern: RegExp,
): Promise<void> {
  const everywhere = new RegExp(pattern.source, `${pattern.flags}g`)
  let count = 0
  for (const { versionId } of versions.slice(0, COUNTED_MAX)) {
    const { content = '', path = '', reason = '' } = await store.history.version(versionId)
    for (const text of [content, path, reason]) count += text.match(everywhere)?.length ?? 0
  }
  const memories = new Set(versions.map(({ memoryId }) => memoryId)).size
  const places = `${countText(versions.length, 'version', 'versions')} of ${memories}`
  const least = versions.length > COUNTED_MAX ? 'at least ' : ''
  const found = `Found ${least}${countText(count, 'time', 'times')}, in ${places}`
  process.stderr.write(`${found} ${memories === 1 ? 'memory' : 'memories'}\n`)
}

/** The reason, which an auditor will ask for; the record keeps it. */
export async function chooseReason(
  context: Context,
  input: Input,
  { versions }: RedactionPlan,
): Promise<RedactReason> {
  const given = input.text('reason-code') !== undefined || versions.length === 0
  if (given) return reasonOf(input)
  const names = reasons.map((reason) => {
    return reason === 'unspecified' ? 'other' : reason.replaceAll('_', ' ')
  })
  const shown = names.map((name, index) => `${index + 1} ${name}`).join(', ')
  for (;;) {
    const typed = (await askLine(context, `Why? ${shown}:`)).toLowerCase()
    const named = names.findIndex((name) => name.startsWith(typed.replaceAll('_', ' ')))
    const reason = reasons[Number(typed) - 1] ?? reasons[named]
    if (typed !== '' && reason !== undefined) return reason
  }
}

const reasons: readonly RedactReason[] = [
  ...redactReasons.filter((reason) => reason !== 'unspecified'),
  'unspecified',
]

const choices: ReadonlyMap<string, Current> = new Map([
  ['o', 'overwrite'],
  ['overwrite', 'overwrite'],
  ['r', 'overwrite'],
  ['replace', 'overwrite'],
  ['d', 'delete'],
  ['delete', 'delete'],
  ['k', 'keep'],
  ['keep', 'keep'],
])

/** The ids that the user agreed to; undefined if everything that is selected may be erased. */
export async function agree(
  context: Context,
  input: Input,
  plan: RedactionPlan,
  current: Current,
): Promise<readonly string[] | undefined> {
  const kept = new Set(current === 'keep' ? plan.current.map(({ versionId }) => versionId) : [])
  const shown = plan.versions.filter(({ versionId }) => !kept.has(versionId))
  const count = shown.length
  if (input.flag('yes')) return undefined
  if (count === 0) return []
  const versions = countText(count, 'version', 'versions')
  checkCanConfirm(context, { would: `${versions} would be erased permanently`, preview })
  process.stderr.write(askedTable(context, shown, versionColumns(context, plainInk)))
  const question = `Erasing ${versions} cannot be undone. Type ${count} to erase permanently:`
  const answer = await askLine(context, question)
  if (answer.replaceAll(/[^0-9]/g, '') === String(count)) return shown.map((one) => one.versionId)
  throw declined({ preview })
}
