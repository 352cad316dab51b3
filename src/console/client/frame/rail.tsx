// The views, at the left.

import type { JSX } from 'preact'
import { useLocation } from 'preact-iso'
import { addressOf, type ViewName } from '../core/address.ts'
import { overview } from '../core/state.ts'
import { useAsk } from '../core/use-ask.ts'

interface Entry {
  readonly name: ViewName
  readonly icon: string
  readonly label: string
  /** Beginnings of the addresses that belong to it. */
  readonly also?: readonly string[]
}

const entries: readonly Entry[] = [
  { name: 'memories', icon: '▤', label: 'Memories', also: ['memory', 'new', 'search', 'restore'] },
  { name: 'timeline', icon: '◷', label: 'Timeline', also: ['compare', 'rollback'] },
  { name: 'sessions', icon: '↶', label: 'Sessions' },
  { name: 'merges', icon: '⋈', label: 'Merges' },
  { name: 'redaction', icon: '⌫', label: 'Redaction' },
  { name: 'devices', icon: '☷', label: 'Devices' },
  { name: 'sync', icon: '⇅', label: 'Sync' },
  { name: 'audit', icon: '✓', label: 'Audit' },
  { name: 'settings', icon: '⚙', label: 'Settings' },
]

/** All that the trail can answer. */
const ofAuditors: ReadonlySet<ViewName> = new Set(['devices', 'audit'])

export function Rail(): JSX.Element {
  const { path } = useLocation()
  const [, first = ''] = path.split('/')
  const known = overview.value
  const isAuditor = known?.audience === 'auditor'
  const { data } = useAsk('merges.unseen', isAuditor || known === undefined ? undefined : {})
  const unseen = data?.count ?? 0
  return (
    <nav class="rail" aria-label="Views">
      {entries
        .filter(({ name }) => !isAuditor || ofAuditors.has(name))
        .map(({ name, icon, label, also = [] }) => {
          const isHere =
            first === name || also.includes(first) || (first === '' && name === 'memories')
          return (
            <a key={name} href={addressOf.view(name)} aria-current={isHere ? 'page' : undefined}>
              <span class="i" aria-hidden="true">
                {icon}
              </span>
              <span class="label">{label}</span>
              {name === 'merges' && unseen > 0 && (
                <b class="n" role="img" aria-label={`${unseen} not looked at`}>
                  {unseen}
                </b>
              )}
            </a>
          )
        })}
    </nav>
  )
}
