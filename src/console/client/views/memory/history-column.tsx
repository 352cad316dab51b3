// All versions of a memory, across its paths, the newest first; any two can be compared.

import { useLocation } from 'preact-iso'
import type { CountedVersion } from '../../../../operations/console/contract.ts'
import { addressOf, atNow } from '../../core/address.ts'
import { mayManage, mayWrite } from '../../core/state.ts'
import { Failure, OperationBadge, Writer } from '../../parts/labels.tsx'
import { Pager, usePages } from '../../parts/pager.tsx'
import { absoluteTime, countOf, relativeTime } from '../../parts/times.ts'

const ROWS = 30

export function HistoryColumn({ memoryId }: { readonly memoryId: string }) {
  const asked = { memoryId, at: atNow.value, limit: ROWS }
  const { data, failure, paging } = usePages('memory.versions', asked)
  return (
    <aside class="hist" aria-label="History of this memory">
      <h2>
        History <span class="dim">{data !== undefined && countOf(data.total, 'version')}</span>
      </h2>
      <Failure failure={failure} />
      <ol>
        {data?.data.map((version) => (
          <Row key={version.versionId} version={version} />
        ))}
      </ol>
      <Pager label="History" paging={paging} />
    </aside>
  )
}

function Row({ version }: { readonly version: CountedVersion }) {
  const { query } = useLocation()
  const { versionId, memoryId, operation, redactedAt, number } = version
  const isRedacted = redactedAt !== undefined
  const tab = query['tab'] === 'read' || query['tab'] === 'source' ? query['tab'] : 'changes'
  const isShown = query['to'] === versionId
  return (
    <li class={`${isShown ? 'on' : ''}${isRedacted ? ' red' : ''}`}>
      {isRedacted ? (
        <span class="op rdx" role="img" aria-label="redacted">
          ▨
        </span>
      ) : version.mergedFrom.length > 0 ? (
        <span class="op mrg" role="img" aria-label="combined by a merge">
          ⋈
        </span>
      ) : (
        <OperationBadge operation={operation} />
      )}
      <div class="b">
        <a
          href={addressOf.memory(memoryId, { tab, to: versionId })}
          aria-current={isShown ? 'true' : undefined}
        >
          <Writer version={version} />
        </a>
        <Facts version={version} />
        <Choices version={version} />
      </div>
      <span class="dim">{number}</span>
    </li>
  )
}

function Facts({ version }: { readonly version: CountedVersion }) {
  const { reason, createdAt, deviceName, deviceId, movedFrom, added, removed } = version
  const { redactedAt, redactedBy, placedAt } = version
  return (
    <>
      {reason !== undefined && (
        <div>
          <q>{reason}</q>
        </div>
      )}
      <div class="dim">
        <time title={absoluteTime(createdAt)}>{relativeTime(createdAt)}</time>
        {placedAt !== undefined && ' (doubtful)'} ·{' '}
        {deviceName === '' ? deviceId.slice(0, 10) : deviceName}
        {movedFrom !== undefined && ` · from ${movedFrom}`}
        {added !== undefined && removed !== undefined && (
          <>
            {' · '}
            <ins>+{added}</ins> <del>−{removed}</del>
          </>
        )}
      </div>
      {redactedAt !== undefined && (
        <div class="dim">
          redacted {absoluteTime(redactedAt)}
          {redactedBy !== undefined && ` by ${redactedBy.id}`} · signature holds
        </div>
      )}
    </>
  )
}

/** What to do with a version; the lines of a redacted one cannot be compared. */
function Choices({ version }: { readonly version: CountedVersion }) {
  const { query } = useLocation()
  const { versionId, memoryId, operation, redactedAt, number } = version
  if (redactedAt !== undefined) return null
  const { from, to } = query
  return (
    <div class="choices">
      <a
        href={addressOf.memory(memoryId, { tab: 'changes', from: versionId, to })}
        aria-current={from === versionId ? 'true' : undefined}
        aria-label={`Compare from version ${number}`}
      >
        from
      </a>
      <a
        href={addressOf.memory(memoryId, { tab: 'changes', from, to: versionId })}
        aria-current={to === versionId ? 'true' : undefined}
        aria-label={`Compare to version ${number}`}
      >
        to
      </a>
      {mayWrite.value && operation !== 'deleted' && (
        <a
          href={addressOf.restore(memoryId, { versionId })}
          aria-label={`Restore version ${number}`}
        >
          restore
        </a>
      )}
      {mayManage.value && (
        <a
          href={addressOf.redaction({ version: versionId })}
          aria-label={`Redact version ${number}`}
        >
          redact
        </a>
      )}
    </div>
  )
}
