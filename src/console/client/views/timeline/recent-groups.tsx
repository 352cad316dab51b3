// The last changes, in a few lines.

import type { JSX } from 'preact'
import { addressOf } from '../../core/address.ts'
import { useAsk } from '../../core/use-ask.ts'
import { countOf, relativeTime } from '../../parts/times.ts'
import { timeZone } from './filter.ts'

const SHOWN = 8

export function RecentGroups(): JSX.Element | null {
  const { data } = useAsk('timeline.groups', { filter: {}, timeZone, limit: SHOWN })
  if (data === undefined || data.data.length === 0) return null
  return (
    <section>
      <h2>Written last</h2>
      <ul class="hits">
        {data.data.map(({ versionId, session, actor, memories, last }) => (
          <li key={versionId}>
            <a href={addressOf.group(versionId)}>{session ?? actor?.id ?? 'unknown'}</a>{' '}
            <span class="dim">
              {countOf(memories, 'memory')}, {relativeTime(last)}
            </span>
          </li>
        ))}
      </ul>
    </section>
  )
}
