// `conflicts --resolve`: settles merges one after the other, on a terminal with the user, who sees
// both sides, and elsewhere as --keep tells. The store is not held open while the user thinks. What
// a choice makes of the memory, operations/merges.ts decides.

import { hasCode, StoreError } from '../../../errors.ts'
import { capitalised } from '../../../home/files.ts'
import {
  type MergeChoice,
  type MergeSide,
  type OpenMerge,
  readMerge,
  settleMerge,
  settlingReason,
} from '../../../operations/merges.ts'
import type { Conflict } from '../../../store/history/conflicts.ts'
import type { MemoryStore } from '../../../store/memory-store.ts'
import { visible } from '../../../text/visible.ts'
import { type Answer, CommandError, type Context, type Input } from '../../call/command.ts'
import { authorOf } from '../../call/options.ts'
import { withStore } from '../../store/open-store.ts'
import { getNamedVersion } from '../../store/path-history.ts'
import { CONFLICTS_MAX, markSeen, readSeen } from '../../store/seen-conflicts.ts'
import { inkOf } from '../../terminal/ink.ts'
import { askLine, canAsk } from '../../terminal/prompt.ts'
import { paintPatch, patchText, type TextChange } from '../../text/patch-text.ts'
import { timeAgo } from '../../text/times.ts'
import { wire } from '../../text/wire.ts'
import { countText } from '../../text/words.ts'
import { editFrom } from '../edit.ts'

export async function resolve(context: Context, input: Input): Promise<Answer> {
  const named = input.arguments(0)
  const versionIds = await withStore(context, (store) => selectMerges(context, store, named))
  const keep = input.text('keep')
  if (keep !== undefined) return settleAll(context, input, versionIds, keep)
  if (versionIds.length === 0) return settledAnswer([], 0)
  if (canAsk(context)) return walk(context, input, versionIds)
  throw new CommandError(
    'invalid_input',
    `${countText(versionIds.length, 'merge', 'merges')} to settle, and no terminal to ask on`,
    'Name a memory and add --keep ours, theirs or both',
  )
}

/** The newest first; without names, all that are not marked. Throws `not_found`. */
async function selectMerges(
  context: Context,
  store: MemoryStore,
  named: readonly string[],
): Promise<readonly string[]> {
  const all = await store.history.conflicts({ limit: CONFLICTS_MAX })
  const seen = readSeen(context, store)
  if (named.length === 0) {
    return all.filter(({ versionId }) => !seen.has(versionId)).map(({ versionId }) => versionId)
  }
  return Promise.all(named.map((typed) => findMerge(store, all, seen, typed)))
}

/** A merge by its version, or the newest one of a memory, if possible one that is not marked. */
async function findMerge(
  store: MemoryStore,
  all: readonly Conflict[],
  seen: ReadonlySet<string>,
  typed: string,
): Promise<string> {
  const { versionId, memoryId } = await getNamedVersion(store, typed)
  const ofMemory = all.filter((merge) => merge.memoryId === memoryId)
  const found =
    ofMemory.find((merge) => merge.versionId === versionId) ??
    ofMemory.find((merge) => !seen.has(merge.versionId)) ??
    ofMemory[0]
  if (found !== undefined) return found.versionId
  const hint = '`gitlocket conflicts --all` lists the merges'
  throw new CommandError('not_found', `No merge has combined ${typed}`, hint)
}

interface Settled {
  readonly open: OpenMerge
  readonly how: string
  readonly commit: string | undefined
}

async function settleAll(
  context: Context,
  input: Input,
  versionIds: readonly string[],
  keep: string,
): Promise<Answer> {
  if (input.findArgument(0) === undefined) {
    const hint = '`gitlocket conflicts` lists them; name one by its path or version'
    throw new CommandError('invalid_input', '--keep needs the memories to settle', hint)
  }
  const settled: Settled[] = []
  for (const versionId of versionIds) {
    settled.push(await settle(context, input, versionId, (open) => choiceOf(open, keep)))
  }
  return settledAnswer(settled, 0)
}

/** `ours`, `theirs`, `both`, or the name of a device that wrote one side. */
function choiceOf({ sides }: OpenMerge, keep: string): MergeChoice {
  if (keep === 'ours' || keep === 'theirs' || keep === 'both') return { keep }
  const [ours, theirs] = [sides?.ours.deviceName, sides?.theirs.deviceName]
  if (ours === keep && theirs === keep) {
    const sentence = `Both sides are of a device called ${keep}: choose ours or theirs`
    throw new StoreError('invalid_input', sentence)
  }
  if (ours === keep) return { keep: 'ours' }
  if (theirs === keep) return { keep: 'theirs' }
  const names = sides === undefined ? '' : `, ${sides.ours.deviceName}, ${sides.theirs.deviceName}`
  throw new StoreError('invalid_input', `--keep must be ours, theirs, both${names}`)
}

function settle(
  context: Context,
  input: Input,
  versionId: string,
  choose: (open: OpenMerge) => MergeChoice,
): Promise<Settled> {
  return withStore(context, async (store) => {
    const open = await openMerge(store, versionId)
    const choice = choose(open)
    const writer = store.as({ reason: settlingReason(open, choice), ...authorOf(context, input) })
    const { commit } = await settleMerge(writer, open, { choice }).catch(explained)
    if (!readSeen(context, store).has(versionId)) markSeen(context, store, [versionId])
    return { open, how: howOf(open, choice), commit }
  })
}

async function openMerge(store: MemoryStore, versionId: string): Promise<OpenMerge> {
  return readMerge(store, await store.history.conflicts({ limit: CONFLICTS_MAX }), versionId)
}

function explained(error: unknown): never {
  if (!hasCode(error, 'precondition_failed')) throw error
  const message = `${error.message}, in the lines that it combined`
  const hint = 'Edit the memory, and mark the merge with `gitlocket conflicts --seen`'
  throw new CommandError(error.code, message, hint, { details: error.details })
}

function howOf({ sides }: OpenMerge, choice: MergeChoice): string {
  if ('content' in choice) return 'edited'
  return choice.keep === 'both' || sides === undefined ? 'both' : nameOf(sides[choice.keep])
}

/** `yours (laptop)`, `build-server's`. */
function nameOf({ deviceName, isThisDevice }: MergeSide): string {
  if (isThisDevice) return deviceName === '' ? 'yours' : `yours (${deviceName})`
  return deviceName === '' ? "the other device's" : `${deviceName}'s`
}

function settledAnswer(settled: readonly Settled[], left: number): Answer {
  const lines = settled.map(({ open, how, commit }) => {
    const unchanged = commit === undefined ? '; its text did not have to change' : ''
    return `${sentenceOf(how)} in ${pathOf(open)}${unchanged}\n`
  })
  const rest = `${countText(left, 'merge is', 'merges are')} still to review\n`
  return {
    text: settled.length + left === 0 ? 'No merge needs a decision\n' : lines.join(''),
    json: {
      settled: settled.map(({ open: { merge }, how, commit }) =>
        wire({
          type: 'merge',
          versionId: merge.versionId,
          memoryId: merge.memoryId,
          path: merge.path,
          kept: how,
          commit,
        }),
      ),
      left,
    },
    note: left === 0 ? undefined : rest.trimEnd(),
  }
}

function sentenceOf(how: string): string {
  return how === 'edited' ? 'Saved your text' : `Kept ${how}`
}

function pathOf({ merge, current }: OpenMerge): string {
  return visible(current?.path ?? merge.path ?? '(redacted)')
}

/** Asks about each, until the user has answered or quits. */
async function walk(
  context: Context,
  input: Input,
  versionIds: readonly string[],
): Promise<Answer> {
  const settled: Settled[] = []
  let skipped = 0
  for (const [index, versionId] of versionIds.entries()) {
    const place = `${index + 1} of ${versionIds.length}`
    const answer = await ask(context, input, { versionId, place })
    if (answer === 'quit') {
      skipped += versionIds.length - index
      break
    }
    if (answer === 'skip') skipped += 1
    else {
      settled.push(answer)
      process.stderr.write(`  ${visible(sentenceOf(answer.how))}\n\n`)
    }
  }
  return settledAnswer(settled, skipped)
}

async function ask(
  context: Context,
  input: Input,
  { versionId, place }: { readonly versionId: string; readonly place: string },
): Promise<Settled | 'skip' | 'quit'> {
  for (;;) {
    const open = await withStore(context, (store) => openMerge(store, versionId))
    process.stderr.write(mergeText(context, input, open, place))
    const answer = (await askLine(context, questionOf(open))).toLowerCase()
    const word = words.find((one) => one === answer || one[0] === answer)
    if (word === 'skip' || word === 'quit') return word
    try {
      if (word === 'edit') {
        const edited = await edit(context, input, open)
        if (edited !== undefined) return edited
      } else if (word !== undefined) {
        return await settle(context, input, versionId, () => ({ keep: word }))
      }
    } catch (error) {
      // A choice that this merge does not offer; the next answer may fit.
      if (!hasCode(error, 'precondition_failed', 'invalid_input', 'redacted', 'not_found'))
        throw error
      process.stderr.write(`  ${visible(error.message)}\n\n`)
    }
  }
}

const words = ['ours', 'theirs', 'both', 'edit', 'skip', 'quit'] as const

function shortNameOf(side: MergeSide): string {
  return side.isThisDevice ? 'yours' : nameOf(side)
}

function questionOf({ sides, merge, current }: OpenMerge): string {
  const isCombined = merge.combination !== 'kept' || sides === undefined
  const choices = [
    ...(sides === undefined || current === undefined
      ? []
      : [`(o) ${shortNameOf(sides.ours)}`, `(t) ${shortNameOf(sides.theirs)}`]),
    ...(isCombined ? [`(b) ${sides === undefined ? 'as it is' : 'both'}`] : []),
    ...(current === undefined ? [] : ['(e)dit']),
    '(s)kip',
    '(q)uit',
  ]
  return `Keep ${choices.join(', ')}?`
}

function mergeText(context: Context, input: Input, open: OpenMerge, place: string): string {
  const { terminal } = context.environment
  const ink = inkOf(context, input)
  const { merge, result, current } = open
  const since = timeAgo(merge.time, context.clock())
  const lines = [
    `${place}  ${ink.paint('bold', current?.path ?? merge.path ?? '(redacted)')}`,
    `  ${ink.plain(outcomeOf(open))} ${since}`,
    ...(current === undefined ? ['  The memory was deleted since'] : []),
    ...(current !== undefined && current.content !== result.content
      ? ['  The memory was edited since; those edits are kept']
      : []),
  ]
  const text = `${lines.join('\n')}\n${paintPatch(ink, patchOf(open))}`
  return terminal.output ? text : visible(text)
}

function outcomeOf({ merge, sides }: OpenMerge): string {
  if (sides === undefined) return 'Merged'
  const [ours, theirs] = [nameOf(sides.ours), nameOf(sides.theirs)]
  if (merge.combination === 'combined') return `${capitalised(ours)} and ${theirs} were merged`
  const kept = merge.kept === sides.ours.version.versionId ? ours : theirs
  return `Of ${ours} and ${theirs}, the merge kept ${kept}`
}

/** From the other side to this one, or from the base to the result where there are not two. */
function patchOf({ merge, sides, base, result }: OpenMerge): string {
  const path = merge.path ?? result.path ?? ''
  const textOf = ({ version }: MergeSide): TextChange['after'] =>
    version.content === undefined ? undefined : { path, content: version.content }
  if (sides === undefined) {
    const after = result.content === undefined ? undefined : { path, content: result.content }
    return patchText({ before: { path, content: base }, after })
  }
  const { ours, theirs } = sides
  const labels = { before: nameOf(theirs), after: nameOf(ours) }
  return patchText({ before: textOf(theirs), after: textOf(ours) }, labels)
}

/** Undefined if the text was left as it is. */
async function edit(context: Context, input: Input, open: OpenMerge): Promise<Settled | undefined> {
  const { current, merge } = open
  if (current === undefined) throw new StoreError('not_found', 'The memory was deleted since')
  const { path, content } = current
  const reason = settlingReason(open, { content })
  const author = { reason, ...authorOf(context, input) }
  const storeId = await withStore(context, async (store) => store.id)
  const { isChanged } = await editFrom(context, input, { path, author, before: content, storeId })
  if (!isChanged) return undefined
  return withStore(context, async (store) => {
    const now = await store.history.memory(merge.memoryId)
    markSeen(context, store, [merge.versionId])
    return { open, how: 'edited', commit: now.version?.commit }
  })
}
