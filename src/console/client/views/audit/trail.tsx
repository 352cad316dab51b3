// The trail as a table, newest first, and its filter.

import type { TrailInput, TrailRow } from '../../../../operations/console/contract.ts'
import { addressOf } from '../../core/address.ts'
import { overview } from '../../core/state.ts'
import { Choice, Field, submitting, TimeFields } from '../../parts/field.tsx'
import { Failure } from '../../parts/labels.tsx'
import { ListTable } from '../../parts/list-table.tsx'
import { Pager, usePages } from '../../parts/pager.tsx'
import { absoluteTime, countOf } from '../../parts/times.ts'
import { kinds, whatText, whereText, whoText } from './trail-rows.ts'

const ROWS_A_PAGE = 100

interface TrailFilterProps {
  readonly filter: TrailInput
  readonly onFilter: (filter: TrailInput) => void
}

type Kind = NonNullable<TrailInput['kind']>

export function TrailFilter({ filter, onFilter }: TrailFilterProps) {
  const { who = '', kind } = filter
  const set = (part: TrailInput): void => {
    const all = Object.entries({ ...filter, ...part })
    onFilter(Object.fromEntries(all.filter(([, value]) => value !== undefined && value !== '')))
  }
  return (
    <form class="filters" role="search" aria-label="Trail" onSubmit={submitting(() => undefined)}>
      <Field
        label="Person, session or device"
        type="search"
        value={who}
        onValue={(text) => set({ who: text })}
      />
      <Choice<Kind | ''>
        label="What"
        value={kind ?? ''}
        options={[['', 'everything'], ...kinds]}
        onChoose={(chosen) => set({ kind: chosen === '' ? undefined : chosen })}
      />
      <TimeFields span={filter} onSpan={({ since, until }) => set({ since, until })} />
      {Object.keys(filter).length > 0 && (
        <button type="button" onClick={() => onFilter({})}>
          Show everything
        </button>
      )}
    </form>
  )
}

export function TrailTable({ filter }: { readonly filter: TrailInput }) {
  const { data, failure, paging } = usePages('audit.trail', { ...filter, limit: ROWS_A_PAGE })
  return (
    <>
      <p class="meta" role="status">
        {data === undefined && failure === undefined && 'Reading…'}
        {data !== undefined && `${countOf(data.total, 'commit')}, newest first.`}
      </p>
      <Failure failure={failure} />
      {data !== undefined && data.data.length > 0 && (
        <ListTable label="Trail" heads={['When', 'Who', 'What', 'Device']}>
          {data.data.map((row) => (
            <Row key={row.commit} row={row} />
          ))}
        </ListTable>
      )}
      <Pager label="Trail" paging={paging} />
    </>
  )
}

function Row({ row }: { readonly row: TrailRow }) {
  const { actor, commit, kind, session, time } = row
  const type = session === undefined ? actor?.type : 'session'
  const isMember = overview.value?.audience === 'member'
  const when = absoluteTime(time)
  return (
    <tr class={kind === 'redact' ? 'redacts' : undefined}>
      <td class="when-cell">
        {isMember ? (
          <a href={addressOf.view('memories', { at: commit })} title="Show that moment">
            {when}
          </a>
        ) : (
          when
        )}
      </td>
      <th scope="row">
        {whoText(row)} {type !== undefined && <span class="tag">{type}</span>}
      </th>
      <td>{whatText(row)}</td>
      <td>{whereText(row)}</td>
    </tr>
  )
}
