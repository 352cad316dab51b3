// The memories that merges of clones combined, joined or moved aside: first those that were not
// reviewed on this device, which alone remembers that. One merge has its inputs and its result.

import type { MergeView } from '../../../../operations/console/contract.ts'
import { addressOf } from '../../core/address.ts'
import { ask } from '../../core/ask.ts'
import { useAction } from '../../core/use-action.ts'
import { useAsk } from '../../core/use-ask.ts'
import { Failure, Heading, Pending } from '../../parts/labels.tsx'
import { ListTable } from '../../parts/list-table.tsx'
import { Slices } from '../../parts/pager.tsx'
import { absoluteTime, relativeTime } from '../../parts/times.ts'
import { MergeTable } from './merge-table.tsx'

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
}

/** The button is kept when all are reviewed, so that it does not lose the focus. */
function Reviewed({ versionIds, verb }: ReviewedProps) {
  const { run, failure } = useAction<object>()
  const isDone = versionIds.length === 0
  return (
    <>
      <button
        type="button"
        class="pri"
        aria-disabled={isDone}
        onClick={() => !isDone && void run(() => ask('merges.looked', { versionIds }))}
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
  const { data, failure } = useAsk('merges.show', { versionId })
  return (
    <>
      <nav aria-label="Where this is">
        <a class="up" href={addressOf.view('merges')}>
          ‹ Merges
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
      {data === undefined ? <Pending failure={failure} /> : <Texts view={data} />}
    </>
  )
}

function Texts({ view }: { readonly view: MergeView }) {
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
