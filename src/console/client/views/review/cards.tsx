// The cards of the review: one for a writer, with the differences of its memories, and one for a
// merge of clones.

import { useId, useState } from 'preact/hooks'
import type {
  MergeCard as MergeItem,
  ReviewedMemory,
  WriterCard as WriterItem,
} from '../../../../operations/console/contract.ts'
import { addressOf } from '../../core/address.ts'
import { mayWrite } from '../../core/state.ts'
import { useAsk } from '../../core/use-ask.ts'
import { VersionsDiff } from '../../parts/diff-table.tsx'
import { Icon } from '../../parts/icons.tsx'
import { OperationBadge, Pending, writerOf } from '../../parts/labels.tsx'
import { absoluteTime, countOf, relativeTime } from '../../parts/times.ts'
import { outcomeOf, Texts } from '../merges/merges-page.tsx'
import { Settle } from '../merges/settle.tsx'
import { EditMemory, LineSum, ReasonList, sumOf, undoAddress } from './parts.tsx'

interface WriterCardProps {
  readonly card: WriterItem
  /** Shows its first difference at once. */
  readonly isFirst: boolean
  readonly onKeep: () => void
}

export function WriterCard({ card, isFirst, onKeep }: WriterCardProps) {
  const { group, memories, deviceNames, versionId } = card
  const id = useId()
  const name = writerOf({ session: group.session, createdBy: group.actor })
  const more = group.memories - memories.length
  return (
    <article class="review-card" aria-labelledby={id}>
      <header>
        <h2 id={id}>
          <a href={addressOf.review(versionId)}>{name}</a>{' '}
          <span class="tag">{group.session === undefined ? group.actor?.type : 'session'}</span>
        </h2>
        <Facts names={deviceNames} time={group.last} />
        <span class="sp" />
        {more === 0 && <LineSum sum={sumOf(memories)} />}
      </header>
      <ReasonList reasons={group.reasons} />
      <ul class="review-memories">
        {memories.map((memory, index) => (
          <MemoryRow key={memory.memoryId} memory={memory} isOpenAtFirst={isFirst && index === 0} />
        ))}
        {more > 0 && (
          <li>
            <a href={addressOf.review(versionId)}>and {countOf(more, 'more memory')}</a>
          </li>
        )}
      </ul>
      <footer>
        <button type="button" class="pri" aria-label={`Keep ${name}`} onClick={onKeep}>
          Keep
        </button>
        <a class="button" href={undoAddress(group)} aria-label={`Undo ${name}`}>
          {mayWrite.value ? 'Undo…' : 'Preview undo'}
        </a>
      </footer>
    </article>
  )
}

function Facts({ names, time }: { readonly names: readonly string[]; readonly time: number }) {
  const known = names.filter((name) => name !== '')
  return (
    <span class="dim">
      {known.length > 0 && `${known.join(', ')} · `}
      <time title={absoluteTime(time)}>{relativeTime(time)}</time>
    </span>
  )
}

interface MemoryRowProps {
  readonly memory: ReviewedMemory
  readonly isOpenAtFirst: boolean
}

function MemoryRow({ memory, isOpenAtFirst }: MemoryRowProps) {
  const [isOpen, setOpen] = useState(isOpenAtFirst)
  const { memoryId, path = memoryId, movedFrom, operation, hidden, redacted } = memory
  const { before, after } = memory
  return (
    <li>
      <div class="review-memory">
        <button type="button" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
          <Icon name={isOpen ? 'open' : 'closed'} />
          <OperationBadge operation={operation} />
          <span class={operation === 'deleted' ? 'name gone' : 'name'}>{path}</span>
          {movedFrom !== undefined && <span class="dim">from {movedFrom}</span>}
          {redacted > 0 && <span class="tag">redacted</span>}
          {hidden > 0 && <span class="tag hid-tag">{countOf(hidden, 'hidden character')}</span>}
        </button>
        <LineSum sum={sumOf([memory])} />
        <a
          class="button"
          href={addressOf.memory(memoryId, { tab: 'changes', from: before, to: after })}
          aria-label={`Open ${path}`}
        >
          Open
        </a>
        <EditMemory memory={memory} />
      </div>
      {isOpen && <VersionsDiff before={before} after={after} label={`${path}, before and after`} />}
    </li>
  )
}

interface MergeCardProps {
  readonly card: MergeItem
  readonly onKeep: () => void
}

export function MergeCard({ card: { merge, versionId }, onKeep }: MergeCardProps) {
  const id = useId()
  const name = merge.path ?? merge.memoryId
  const [isOpen, setOpen] = useState(false)
  return (
    <article class="review-card merged" aria-labelledby={id}>
      <header>
        <h2 id={id}>
          <a href={addressOf.merge(versionId)}>{name}</a> <span class="tag">merge</span>
        </h2>
        <Facts names={[...new Set(merge.deviceNames)]} time={merge.time} />
      </header>
      {isOpen ? <MergeTexts versionId={versionId} onDone={onKeep} /> : <p>{outcomeOf(merge)}.</p>}
      <footer>
        <button
          type="button"
          class={isOpen ? undefined : 'pri'}
          aria-expanded={isOpen}
          aria-label={`${isOpen ? 'Close' : 'Review'} ${name}`}
          onClick={() => setOpen(!isOpen)}
        >
          {isOpen ? 'Close' : 'Review'}
        </button>
        {!isOpen && (
          <button type="button" aria-label={`Keep ${name}`} onClick={onKeep}>
            Keep
          </button>
        )}
      </footer>
    </article>
  )
}

interface MergeTextsProps {
  readonly versionId: string
  readonly onDone: () => void
}

function MergeTexts({ versionId, onDone }: MergeTextsProps) {
  const { data, failure } = useAsk('merges.show', { versionId })
  if (data === undefined) return <Pending failure={failure} />
  return (
    <section aria-label="The merge">
      <Texts view={data} />
      <Settle view={data} onDone={onDone} />
    </section>
  )
}
