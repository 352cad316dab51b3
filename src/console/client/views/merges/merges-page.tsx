// The memories that merges of clones combined, joined or moved aside: first those that were not
// reviewed on this device, which alone remembers that. One merge has its inputs and its result,
// next to each other line by line.

import { useLocation } from 'preact-iso'
import { useMemo, useState } from 'preact/hooks'
import type { MergeView } from '../../../../operations/console/contract.ts'
import { addressOf } from '../../core/address.ts'
import { ask } from '../../core/ask.ts'
import { useAction } from '../../core/use-action.ts'
import { useAsk } from '../../core/use-ask.ts'
import { Failure, Heading, Pending } from '../../parts/labels.tsx'
import { ListTable } from '../../parts/list-table.tsx'
import { Slices } from '../../parts/pager.tsx'
import { absoluteTime, countOf, relativeTime } from '../../parts/times.ts'
import { isEqualLine, type MergeLine, mergeLines, type NumberedLine } from './merge-rows.ts'
import { Settle } from './settle.tsx'

/** More are not listed: the history of a memory shows each merge, too. */
const MERGES_MAX = 1000

export function MergesPage({ versionId }: { readonly versionId?: string | undefined }) {
  const { data, failure } = useAsk('merges.list', { limit: MERGES_MAX })
  const merges = data?.merges ?? []
  if (versionId !== undefined) {
    const next = merges.find((merge) => !merge.isSeen && merge.versionId !== versionId)
    return <MergePage key={versionId} versionId={versionId} next={next?.versionId} />
  }
  const unseen = merges.filter(({ isSeen }) => !isSeen)
  const seen = merges.filter(({ isSeen }) => isSeen)
  return (
    <>
      <Heading title="Merges" />
      <p class="meta" role="status">
        {data === undefined && failure === undefined && 'Reading…'}
        {data !== undefined &&
          merges.length === 0 &&
          'No merge of clones had to combine, join or move a memory.'}
        {merges.length > 0 && unseen.length === 0 && 'All are reviewed.'}
      </p>
      <Failure failure={failure} />
      {merges.length > 0 && (
        <p>
          <Reviewed versionIds={unseen.map((merge) => merge.versionId)} verb="Mark all reviewed" />
        </p>
      )}
      <Merges title="To review" merges={unseen} />
      <Merges title="Reviewed" merges={seen} />
    </>
  )
}

interface ReviewedProps {
  /** The merges that are not reviewed yet. */
  readonly versionIds: readonly string[]
  readonly verb: string
  readonly onDone?: () => void
}

/** The button is kept when all are reviewed, so that it does not lose the focus. */
export function Reviewed({ versionIds, verb, onDone }: ReviewedProps) {
  const { run, failure } = useAction<object>()
  const isDone = versionIds.length === 0
  const keep = async (): Promise<object> => {
    const kept = await ask('merges.looked', { versionIds })
    onDone?.()
    return kept
  }
  return (
    <>
      <button
        type="button"
        class="pri"
        aria-disabled={isDone}
        onClick={() => !isDone && void run(keep)}
      >
        {isDone ? 'Reviewed' : verb}
      </button>
      <Failure failure={failure} />
    </>
  )
}

interface MergesProps {
  readonly title: string
  readonly merges: readonly MergeView['merge'][]
}

function Merges({ title, merges }: MergesProps) {
  if (merges.length === 0) return null
  return (
    <section>
      <h2>
        {title} <span class="dim">{merges.length}</span>
      </h2>
      <Slices label={title} rows={merges}>
        {(rows) => (
          <ListTable label={title} heads={['Memory', 'Result', 'Devices', 'When']}>
            {rows.map((merge) => (
              <tr key={merge.versionId}>
                <th scope="row">
                  <a href={addressOf.merge(merge.versionId)}>{merge.path ?? merge.memoryId}</a>
                </th>
                <td>{outcomeOf(merge)}</td>
                <td>{merge.deviceNames.join(', ')}</td>
                <td>{relativeTime(merge.time)}</td>
              </tr>
            ))}
          </ListTable>
        )}
      </Slices>
    </section>
  )
}

interface MergePageProps {
  readonly versionId: string
  /** Another one to review. */
  readonly next: string | undefined
}

function MergePage({ versionId, next }: MergePageProps) {
  const { route } = useLocation()
  const { data, failure } = useAsk('merges.show', { versionId })
  return (
    <>
      <nav aria-label="Where this is">
        <a class="up" href={addressOf.view('merges')}>
          ‹ All merges
        </a>
      </nav>
      <Heading title={data?.merge.path ?? 'A merge'}>
        {data !== undefined && (
          <Reviewed versionIds={data.merge.isSeen ? [] : [versionId]} verb="Mark reviewed" />
        )}
        {next !== undefined && (
          <a class="button" href={addressOf.merge(next)}>
            Next one
          </a>
        )}
      </Heading>
      {data === undefined ? (
        <Pending failure={failure} />
      ) : (
        <>
          <Texts view={data} />
          {!data.merge.isSeen && (
            <Settle
              view={data}
              onDone={() =>
                route(next === undefined ? addressOf.view('review') : addressOf.merge(next))
              }
            />
          )}
        </>
      )}
    </>
  )
}

export function Texts({ view }: { readonly view: MergeView }) {
  const { merge, inputs, result } = view
  const names = inputs.map((input, index) => {
    const device = merge.deviceNames[index] ?? ''
    const name = device === '' ? `Input ${index + 1}` : `Input ${index + 1}, ${device}`
    const isKept = input.versionId === merge.kept
    return `${name}${isKept ? ', kept' : ''}${lackOf(input)}`
  })
  return (
    <>
      <p class="meta">
        {outcomeOf(merge)} · {absoluteTime(merge.time)} ·{' '}
        <a href={addressOf.memory(merge.memoryId)}>Open the memory</a>
        {merge.joined !== undefined && (
          <>
            {' · '}
            <a href={addressOf.memory(merge.joined)}>Open the one that was joined</a>
          </>
        )}
      </p>
      {result.redactedAt === undefined ? (
        <MergeTable names={names} view={view} />
      ) : (
        <p>The result is redacted: there is nothing to compare.</p>
      )}
    </>
  )
}

/** Why an input has no text. */
function lackOf({ redactedAt, content }: MergeView['inputs'][number]): string {
  if (redactedAt !== undefined) return ', redacted'
  return content === undefined ? ', deleted' : ''
}

const WORDS: Readonly<Record<MergeView['merge']['combination'], string>> = {
  combined: 'Both texts were combined',
  kept: 'One of the texts was kept',
  deleted: 'Both sides had deleted it',
  redacted: 'The text is redacted',
}

/** The effect of a merge on a memory, in words. */
export function outcomeOf({ combination, inputs, joined, movedFrom }: MergeView['merge']): string {
  const parts = [
    inputs.length < 2 && combination === 'kept' ? undefined : WORDS[combination],
    joined === undefined ? undefined : 'Another memory of the same path was joined into it',
    movedFrom === undefined ? undefined : `Moved aside from ${movedFrom}, which was taken`,
  ]
  return parts.filter((part) => part !== undefined).join('. ')
}

interface MergeTableProps {
  /** What the inputs are called, in their order. */
  readonly names: readonly string[]
  readonly view: MergeView
}

/** Equal lines that remain in sight around others. */
const AROUND = 2

function MergeTable({ names, view }: MergeTableProps) {
  const [isUnfolded, setUnfolded] = useState(false)
  const lines = useMemo(() => linesOf(view), [view])
  const shown = useMemo(() => (isUnfolded ? lines : nearChanges(lines)), [lines, isUnfolded])
  const folded = lines.length - shown.length
  return (
    <>
      <p class="meta">
        {(folded > 0 || isUnfolded) && (
          <button type="button" onClick={() => setUnfolded(!isUnfolded)}>
            {isUnfolded ? 'Fold equal lines' : `Show ${countOf(folded, 'equal line')}`}
          </button>
        )}
        {lines.every(isEqualLine) && ' All texts are the same.'}
      </p>
      <Slices label="Lines" rows={shown}>
        {(rows) => <Lines names={names} lines={rows} />}
      </Slices>
    </>
  )
}

function linesOf({ inputs, result }: MergeView): readonly MergeLine[] {
  const texts = inputs.map(({ content }) => content ?? '')
  return mergeLines(result.content ?? '', texts)
}

interface LinesProps {
  readonly names: readonly string[]
  readonly lines: readonly MergeLine[]
}

function Lines({ names, lines }: LinesProps) {
  if (lines.length === 0) return null
  return (
    <div class="wide-list" tabIndex={0} role="region" aria-label="Inputs and result">
      <table class="merge">
        <caption class="sr">
          The result is in the last column. Lines that are not in it begin with minus, and those of
          the result that an input lacks with plus.
        </caption>
        <thead>
          <tr>
            {[...names, 'Result'].map((name) => (
              <th key={name} scope="col" colSpan={2}>
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {lines.map((line, index) => (
            <Line key={keyOf(line)} line={line} isAfterFold={isFold(lines[index - 1], line)} />
          ))}
        </tbody>
      </table>
    </div>
  )
}

function keyOf({ result, inputs }: MergeLine): string {
  return [...inputs, result].map((line) => line?.number ?? '').join(' ')
}

/** Without the equal lines that are not near others. */
function nearChanges(lines: readonly MergeLine[]): readonly MergeLine[] {
  const near = new Set<number>()
  for (const [index, line] of lines.entries()) {
    if (isEqualLine(line)) continue
    for (let at = index - AROUND; at <= index + AROUND; at += 1) near.add(at)
  }
  return lines.filter((_, index) => near.has(index))
}

/** Whether lines are folded between two: on both sides of a fold are equal ones. */
function isFold(before: MergeLine | undefined, { inputs, result }: MergeLine): boolean {
  return (
    before !== undefined &&
    [...inputs, result].some((line, at) => {
      const last = [...before.inputs, before.result][at]
      return line !== undefined && last !== undefined && line.number > last.number + 1
    })
  )
}

function Line({ line, isAfterFold }: { readonly line: MergeLine; readonly isAfterFold: boolean }) {
  const { result, inputs } = line
  const isNew = !isEqualLine(line)
  return (
    <tr class={isAfterFold ? 'after-fold' : undefined}>
      {inputs.map((input, index) => (
        <Cells key={index} line={input} sign={result === undefined ? '−' : ''} />
      ))}
      <Cells line={result} sign={isNew ? '+' : ''} />
    </tr>
  )
}

interface CellsProps {
  readonly line: NumberedLine | undefined
  readonly sign: '−' | '+' | ''
}

const CLASSES = { '−': 'del', '+': 'add', '': '' } as const

function Cells({ line, sign }: CellsProps) {
  if (line === undefined) {
    return (
      <>
        <td class="ln nil" />
        <td class="nil" />
      </>
    )
  }
  return (
    <>
      <td class="ln">{line.number}</td>
      <td class={CLASSES[sign]}>
        {sign !== '' && <span class="sg">{sign}</span>}
        {line.text}
      </td>
    </>
  )
}
