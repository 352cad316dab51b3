// All versions of a memory, across its paths, the newest first. The one that is open is marked, and
// those later than the moment shown are faded.

import { useLocation } from 'preact-iso'
import type {
  CountedVersion,
  MemoryView,
  ResultOf,
} from '../../../../operations/console/contract.ts'
import { addressOf } from '../../core/address.ts'
import { isPast, mayManage, mayWrite } from '../../core/state.ts'
import type { Asked } from '../../core/use-ask.ts'
import { Icon } from '../../parts/icons.tsx'
import { Failure, OperationBadge, Writer } from '../../parts/labels.tsx'
import { Menu } from '../../parts/menu.tsx'
import { Pager, type Paging } from '../../parts/pager.tsx'
import { absoluteTime, countOf, relativeTime } from '../../parts/times.ts'

export type MemoryHistory = Asked<ResultOf<'memory.versions'>> & { readonly paging: Paging }

interface HistoryProps {
  readonly view: MemoryView
  readonly history: MemoryHistory
}

export function HistoryColumn({ view, history }: HistoryProps) {
  const { data, failure, paging } = history
  const { query } = useLocation()
  const shown = query['to'] ?? view.version?.versionId
  return (
    <aside class="hist" aria-label="History of this memory">
      <h2>
        History <span class="dim">{data !== undefined && countOf(data.total, 'version')}</span>
      </h2>
      <Failure failure={failure} />
      <ol>
        {data?.data.map((version) => (
          <Row
            key={version.versionId}
            version={version}
            isShown={version.versionId === shown}
            isLater={isPast.value && version.number > view.number}
          />
        ))}
      </ol>
      <Pager label="History" paging={paging} />
    </aside>
  )
}

interface RowProps {
  readonly version: CountedVersion
  readonly isShown: boolean
  /** Whether it did not exist yet at the moment shown. */
  readonly isLater: boolean
}

function Row({ version, isShown, isLater }: RowProps) {
  const { query } = useLocation()
  const { versionId, memoryId, redactedAt } = version
  const isRedacted = redactedAt !== undefined
  const tab = query['tab'] === 'changes' || query['tab'] === 'source' ? query['tab'] : 'read'
  const kinds = [
    ...(isShown ? ['on'] : []),
    ...(isRedacted ? ['red'] : []),
    ...(isLater ? ['later'] : []),
  ]
  return (
    <li class={kinds.join(' ')}>
      <a
        class="version"
        href={addressOf.memory(memoryId, { tab, to: versionId })}
        aria-current={isShown ? 'true' : undefined}
      >
        <Badge version={version} />
        <span class="b">
          <Writer version={version} />
          <Facts version={version} />
        </span>
        <span class="dim">{version.number}</span>
      </a>
      <Choices version={version} />
    </li>
  )
}

function Badge({ version: { redactedAt, mergedFrom, operation } }: Pick<RowProps, 'version'>) {
  if (redactedAt !== undefined) {
    return (
      <span class="op rdx" role="img" aria-label="redacted">
        <Icon name="redacted" />
      </span>
    )
  }
  if (mergedFrom.length === 0) return <OperationBadge operation={operation} />
  return (
    <span class="op mrg" role="img" aria-label="combined by a merge">
      <Icon name="merges" />
    </span>
  )
}

function Facts({ version }: { readonly version: CountedVersion }) {
  const { reason, createdAt, deviceName, deviceId, movedFrom, added, removed } = version
  const { redactedAt, redactedBy, placedAt } = version
  return (
    <>
      {reason !== undefined && (
        <span class="line">
          <q>{reason}</q>
        </span>
      )}
      <span class="line dim">
        <time title={absoluteTime(createdAt)}>{relativeTime(createdAt)}</time>
        {placedAt !== undefined && (
          <span title="A later change has an earlier time"> (clock in doubt)</span>
        )}{' '}
        · {deviceName === '' ? deviceId.slice(0, 10) : deviceName}
        {movedFrom !== undefined && ` · from ${movedFrom}`}
        {added !== undefined && removed !== undefined && (
          <>
            {' · '}
            <Lines added={added} removed={removed} />
          </>
        )}
      </span>
      {redactedAt !== undefined && (
        <span class="line dim">
          redacted {absoluteTime(redactedAt)}
          {redactedBy !== undefined && ` by ${redactedBy.id}`} · signature holds
        </span>
      )}
    </>
  )
}

/** A side without lines is left out, unless both are. */
function Lines({ added, removed }: { readonly added: number; readonly removed: number }) {
  return (
    <span class="sum">
      {(added > 0 || removed === 0) && <ins>+{added}</ins>} {removed > 0 && <del>−{removed}</del>}
    </span>
  )
}

/** What to do with a version; the lines of a redacted one cannot be compared. */
function Choices({ version }: { readonly version: CountedVersion }) {
  const { versionId, memoryId, operation, redactedAt, number, commit } = version
  if (redactedAt !== undefined) return null
  return (
    <Menu label={`More about version ${number}`}>
      <a href={addressOf.memory(memoryId, { tab: 'changes', from: versionId })}>
        Compare with {isPast.value ? 'the moment shown' : 'now'}
      </a>
      <a href={addressOf.memory(memoryId, { at: commit })}>Show that moment</a>
      {mayWrite.value && operation !== 'deleted' && (
        <a href={addressOf.restore(memoryId, { versionId })}>Restore…</a>
      )}
      {mayManage.value && (
        <a class="risk" href={addressOf.redaction({ version: versionId })}>
          Redact…
        </a>
      )}
    </Menu>
  )
}
