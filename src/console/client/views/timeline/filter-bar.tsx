// The filter of the timeline: a chip for each part, which removes it, and a form with all of them.

import { useEffect, useRef } from 'preact/hooks'
import type { TimelineFilter } from '../../../../operations/console/contract.ts'
import { Choice, Field, submitting, TimeFields } from '../../parts/field.tsx'
import { Icon } from '../../parts/icons.tsx'
import { absoluteTime } from '../../parts/times.ts'
import { filterBy, timelineFilter, useDeviceNames } from './filter.tsx'

export function FilterBar() {
  return (
    <section class="filter-bar" aria-label="Filters">
      <Chips />
      <details>
        <summary class="chip">
          <Icon name="add" /> Filter
        </summary>
        <Fields />
      </details>
    </section>
  )
}

/** With the focus, if its former owner was removed: a chip, or a row that filtered. */
function Chips() {
  const { nameOf } = useDeviceNames()
  const filter = timelineFilter.value
  const box = useRef<HTMLDivElement>(null)
  const isFirst = useRef(true)
  useEffect(() => {
    if (!isFirst.current && isFocusLost()) box.current?.focus()
    isFirst.current = false
  }, [filter])
  const given = chipsOf(filter, nameOf)
  return (
    <div class="chips" role="group" aria-label="Filtered by" tabIndex={-1} ref={box}>
      {given.map(({ name, words }) => (
        <button
          key={name}
          type="button"
          class="chip"
          aria-label={`Remove the filter ${words}`}
          onClick={() => filterBy({ [name]: undefined })}
        >
          {words} <Icon name="close" />
        </button>
      ))}
      {given.length > 1 && (
        <button type="button" onClick={() => (timelineFilter.value = {})}>
          Remove all
        </button>
      )}
    </div>
  )
}

function isFocusLost(): boolean {
  const { activeElement } = document
  return activeElement === null || activeElement === document.body
}

interface Chip {
  readonly name: keyof TimelineFilter
  /** Undefined if it does not filter. */
  readonly words: string | undefined
}

function chipsOf(filter: TimelineFilter, nameOf: (deviceId: string) => string): readonly Chip[] {
  const { actorId, session, deviceId, operation, path, since, until, redacted } = filter
  const chips: Chip[] = [
    { name: 'actorId', words: actorId && `actor: ${actorId}` },
    { name: 'session', words: session && `session: ${session}` },
    { name: 'deviceId', words: deviceId && `device: ${nameOf(deviceId)}` },
    { name: 'operation', words: operation && `operation: ${operation}` },
    { name: 'path', words: path && `path: ${path}` },
    { name: 'since', words: since === undefined ? since : `from ${absoluteTime(since)}` },
    { name: 'until', words: until === undefined ? until : `until ${absoluteTime(until)}` },
    {
      name: 'redacted',
      words: redacted === undefined ? redacted : redacted ? 'redacted' : 'not redacted',
    },
  ]
  return chips.filter(({ words }) => words !== undefined)
}

const texts = [
  ['session', 'Session'],
  ['actorId', 'Actor'],
  ['path', 'At or below'],
] as const

function Fields() {
  const filter = timelineFilter.value
  return (
    <form class="filters" onSubmit={submitting(() => undefined)}>
      {texts.map(([name, label]) => (
        <Field
          key={name}
          label={label}
          isLazy
          value={filter[name] ?? ''}
          onValue={(text) => filterBy({ [name]: text.trim() || undefined })}
        />
      ))}
      <DeviceField />
      <AnyOr
        label="Operation"
        value={filter.operation}
        options={[
          ['created', 'created'],
          ['modified', 'modified'],
          ['deleted', 'deleted'],
        ]}
        onChoose={(operation) => filterBy({ operation })}
      />
      <AnyOr
        label="Redacted"
        value={filter.redacted === undefined ? undefined : filter.redacted ? 'only' : 'not'}
        options={[
          ['only', 'only redacted'],
          ['not', 'not redacted'],
        ]}
        onChoose={(chosen) => filterBy({ redacted: chosen && chosen === 'only' })}
      />
      <TimeFields span={filter} onSpan={({ since, until }) => filterBy({ since, until })} />
    </form>
  )
}

function DeviceField() {
  const { deviceIds, nameOf } = useDeviceNames()
  return (
    <AnyOr
      label="Device"
      value={timelineFilter.value.deviceId}
      options={deviceIds.map((deviceId) => [deviceId, nameOf(deviceId)])}
      onChoose={(deviceId) => filterBy({ deviceId })}
    />
  )
}

interface AnyOrProps<Option extends string> {
  readonly label: string
  readonly value: Option | undefined
  /** Each with its words. */
  readonly options: readonly (readonly [Option, string])[]
  readonly onChoose: (option: Option | undefined) => void
}

/** One of the options, or any. */
function AnyOr<Option extends string>(props: AnyOrProps<Option>) {
  const { label, value, options, onChoose } = props
  return (
    <Choice<Option | ''>
      label={label}
      value={value ?? ''}
      options={[['', 'any'], ...options]}
      onChoose={(option) => onChoose(option === '' ? undefined : option)}
    />
  )
}
