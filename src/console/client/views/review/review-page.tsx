// The first page: the changes since the user's last look, as cards like pull requests, newest
// first. A card is kept, which notes on this device that it was reviewed, undone, or edited.

import { useLocation } from 'preact-iso'
import { useRef } from 'preact/hooks'
import type {
  ResultOf,
  ReviewCard,
  ReviewedMemory,
  TimelineGroup,
} from '../../../../operations/console/contract.ts'
import { addressOf } from '../../core/address.ts'
import { ask } from '../../core/ask.ts'
import { isPast, mayWrite, notice, overview } from '../../core/state.ts'
import { useAction } from '../../core/use-action.ts'
import { useAsk } from '../../core/use-ask.ts'
import { ChangeTree } from '../../parts/change-tree.tsx'
import { VersionsDiff } from '../../parts/diff-table.tsx'
import { Failure, Heading, Pending, writerOf } from '../../parts/labels.tsx'
import { Pager, usePages } from '../../parts/pager.tsx'
import { countOf, longSpanText, sizeText } from '../../parts/times.ts'
import { MergeCard, WriterCard } from './cards.tsx'
import { EditMemory, LineSum, ReasonList, sumOf, undoAddress } from './parts.tsx'

const CARDS_A_PAGE = 10

export function ReviewPage({ versionId }: { readonly versionId?: string | undefined }) {
  return versionId === undefined ? <Inbox /> : <WriterPage key={versionId} versionId={versionId} />
}

function Inbox() {
  const { data, failure, paging } = usePages('review.list', { limit: CARDS_A_PAGE })
  const { run, isRunning, failure: notKept } = useAction<object>()
  const box = useRef<HTMLDivElement>(null)
  const keep = (versionIds: readonly string[]): void => {
    void run(async () => {
      const kept = await ask('review.keep', { versionIds })
      notice.value = keptText(kept)
      // The pressed button is removed.
      box.current?.focus()
      return kept
    })
  }
  const { data: cards = [], versionIds = [], kept: listed = 0, total = 0 } = data ?? {}
  return (
    <>
      <Heading title="Review">
        {versionIds.length > 0 && (
          <button type="button" aria-disabled={isRunning} onClick={() => keep(versionIds)}>
            Keep {listed < total ? 'the newest' : 'all'} {listed.toLocaleString()}
          </button>
        )}
        <a class="button" href={addressOf.view('merges')}>
          All merges
        </a>
      </Heading>
      <Failure failure={failure} />
      <Failure failure={notKept} />
      <div class="cards-list" tabIndex={-1} ref={box}>
        <p class="meta" role="status">
          {isPast.value && 'This page is about the present. '}
          {data === undefined && failure === undefined && 'Reading…'}
          {data !== undefined && (data.total === 0 ? <Nothing /> : waitingText(data.total))}
        </p>
        {cards.map((card, index) => (
          <Card
            key={card.versionId}
            card={card}
            isFirst={index === 0 && paging.page === 0}
            onKeep={() => keep(card.kind === 'writer' ? card.group.tips : [card.versionId])}
          />
        ))}
      </div>
      <Pager label="Review" paging={paging} />
    </>
  )
}

type Kept = ResultOf<'review.keep'>

function keptText({ changed }: Kept): string {
  return changed === 0 ? 'Kept' : 'Kept. Changes that came later wait for a review.'
}

function waitingText(total: number): string {
  return `${total.toLocaleString()} to review since your last look, newest first.`
}

function Nothing() {
  const { memories = 0, contentBytes = 0 } = overview.value ?? {}
  if (memories === 0) {
    return (
      <>
        Nothing was written yet. Run <code>gitlocket setup claude-code --write</code> to connect an
        agent.
      </>
    )
  }
  return (
    <>
      You are up to date: nothing new since your last look. {countOf(memories, 'memory')},{' '}
      {sizeText(contentBytes)}.
    </>
  )
}

interface ReviewCardProps {
  readonly card: ReviewCard
  readonly isFirst: boolean
  readonly onKeep: () => void
}

function Card({ card, isFirst, onKeep }: ReviewCardProps) {
  if (card.kind === 'merge') return <MergeCard card={card} onKeep={onKeep} />
  return <WriterCard card={card} isFirst={isFirst} onKeep={onKeep} />
}

/** All that one writer has changed. */
function WriterPage({ versionId }: { readonly versionId: string }) {
  const { data, failure } = useAsk('review.show', { versionId })
  return (
    <>
      <nav aria-label="Where this is">
        <a class="up" href={addressOf.view('review')}>
          ‹ Review
        </a>
      </nav>
      {data === undefined ? (
        <Pending failure={failure} />
      ) : (
        <>
          <WriterHeading group={data.group} isReviewed={data.isReviewed} />
          <WriterFacts {...data} />
          <ReasonList reasons={data.group.reasons} />
          <ChangeTree label="What changed" changes={data.memories.map(asTreeChange)}>
            {({ memoryId }) => (
              <MemoryChange memory={data.memories.find((one) => one.memoryId === memoryId)} />
            )}
          </ChangeTree>
        </>
      )}
    </>
  )
}

interface WriterHeadingProps {
  readonly group: TimelineGroup
  readonly isReviewed: boolean
}

function WriterHeading({ group, isReviewed }: WriterHeadingProps) {
  const { route } = useLocation()
  const { run, isRunning } = useAction<object>()
  const { tips, session, actor } = group
  const keep = async (): Promise<Kept> => {
    const kept = await ask('review.keep', { versionIds: tips })
    notice.value = keptText(kept)
    route(addressOf.view('review'))
    return kept
  }
  return (
    <Heading
      title={
        <>
          {writerOf({ session, createdBy: actor })}{' '}
          <span class="tag">{session === undefined ? actor?.type : 'session'}</span>
        </>
      }
    >
      <button
        type="button"
        class="pri"
        aria-disabled={isReviewed || isRunning}
        onClick={() => !isReviewed && void run(keep)}
      >
        {isReviewed ? 'Reviewed' : 'Keep'}
      </button>
      <a class="button" href={undoAddress(group)}>
        {mayWrite.value ? 'Undo…' : 'Preview undo'}
      </a>
    </Heading>
  )
}

interface WriterFactsProps {
  readonly group: TimelineGroup
  readonly deviceNames: readonly string[]
  readonly memories: readonly ReviewedMemory[]
}

function WriterFacts({ group, deviceNames, memories }: WriterFactsProps) {
  const names = deviceNames.filter((name) => name !== '')
  return (
    <p class="meta">
      {longSpanText(group.first, group.last)}
      {names.length > 0 && ` · ${names.join(', ')}`} · {countOf(group.memories, 'memory')}{' '}
      <LineSum sum={sumOf(memories)} />
    </p>
  )
}

function asTreeChange({
  memoryId,
  path,
  movedFrom,
  operation,
  redacted,
  ...counts
}: ReviewedMemory) {
  const { added, removed, hidden } = counts
  const lines = added === undefined || removed === undefined ? [] : [`+${added} −${removed}`]
  const note = [...lines, ...(hidden > 0 ? [countOf(hidden, 'hidden character')] : [])].join(', ')
  return { memoryId, path, movedFrom, operation, isRedacted: redacted > 0, note }
}

function MemoryChange({ memory }: { readonly memory: ReviewedMemory | undefined }) {
  if (memory === undefined) return <p class="dim">It no longer exists.</p>
  const { memoryId, before, after, path } = memory
  return (
    <>
      <p class="acts">
        <a
          class="button"
          href={addressOf.memory(memoryId, { tab: 'changes', from: before, to: after })}
        >
          Open
        </a>
        <EditMemory memory={memory} />
      </p>
      <VersionsDiff before={before} after={after} label={`${path ?? memoryId}, before and after`} />
    </>
  )
}
