// Two fields for a span of time, in the time zone of the browser.

import type { JSX } from 'preact'
import { useId } from 'preact/hooks'

/** Inclusive, ms since 1970. */
export interface TimeSpan {
  readonly since?: number | undefined
  readonly until?: number | undefined
}

interface TimeFieldsProps {
  readonly span: TimeSpan
  readonly onSpan: (span: TimeSpan) => void
}

/** The last millisecond of the minute that a field names. */
const MINUTE_END_MS = 59_999

export function TimeFields({ span, onSpan }: TimeFieldsProps): JSX.Element {
  return (
    <>
      <Field label="From" time={span.since} onTime={(since) => onSpan({ ...span, since })} />
      <Field
        label="Until"
        time={span.until}
        onTime={(minute) => {
          onSpan({ ...span, until: minute === undefined ? undefined : minute + MINUTE_END_MS })
        }}
      />
    </>
  )
}

interface FieldProps {
  readonly label: string
  readonly time: number | undefined
  readonly onTime: (time: number | undefined) => void
}

function Field({ label, time, onTime }: FieldProps): JSX.Element {
  const id = useId()
  return (
    <span class="field">
      <label for={id}>{label}</label>
      <input
        autocomplete="off"
        id={id}
        type="datetime-local"
        value={fieldTextOf(time)}
        // Not at each key: a time that is half typed is another time.
        onChange={({ currentTarget: { value } }) => {
          onTime(value === '' ? undefined : new Date(value).getTime())
        }}
      />
    </span>
  )
}

/** As the field wants it: local time, to the minute. */
function fieldTextOf(time: number | undefined): string {
  if (time === undefined) return ''
  const local = new Date(time - new Date(time).getTimezoneOffset() * 60_000)
  return local.toISOString().slice(0, 16)
}
