// Fields with their labels.

import { useEffect, useId, useRef } from 'preact/hooks'

interface FieldProps {
  readonly label: string
  readonly value: string
  readonly onValue: (value: string) => void
  readonly type?: keyof typeof types
  /** Whether the value is taken with Enter or when the field is left, and not at each key. */
  readonly isLazy?: boolean
  readonly min?: number
  readonly step?: number
  readonly isRequired?: boolean
  readonly autoFocus?: boolean
}

/** Preact's types have a case for each. */
const types = {
  text: { type: 'text' },
  number: { type: 'number' },
  password: { type: 'password' },
  search: { type: 'search' },
  'datetime-local': { type: 'datetime-local' },
} as const

export function Field(props: FieldProps) {
  const { label, value, onValue, type = 'text', isLazy = false, min, step } = props
  const { isRequired = false, autoFocus = false } = props
  const id = useId()
  const input = useRef<HTMLInputElement>(null)
  // A browser heeds the attribute once a page, and in a dialog.
  useEffect(() => {
    if (autoFocus) input.current?.focus()
  }, [])
  const take = (event: { readonly currentTarget: { readonly value: string } }): void =>
    onValue(event.currentTarget.value)
  return (
    <span class="field">
      <label for={id}>{label}</label>
      <input
        id={id}
        ref={input}
        {...types[type]}
        value={value}
        min={min}
        step={step}
        required={isRequired}
        autofocus={autoFocus}
        autocomplete="off"
        {...(isLazy ? { onChange: take } : { onInput: take })}
      />
    </span>
  )
}

interface ChoiceProps<Option extends string> {
  readonly label: string
  readonly value: Option
  /** Each with its words. */
  readonly options: readonly (readonly [Option, string])[]
  readonly onChoose: (option: Option) => void
}

export function Choice<Option extends string>(props: ChoiceProps<Option>) {
  const { label, value, options, onChoose } = props
  const id = useId()
  return (
    <span class="field">
      <label for={id}>{label}</label>
      <select
        id={id}
        value={value}
        onChange={({ currentTarget }) => {
          const chosen = options.find(([option]) => option === currentTarget.value)
          if (chosen !== undefined) onChoose(chosen[0])
        }}
      >
        {options.map(([option, words]) => (
          <option key={option} value={option}>
            {words}
          </option>
        ))}
      </select>
    </span>
  )
}

interface CheckProps {
  readonly label: string
  readonly isOn: boolean
  readonly onTurn: (isOn: boolean) => void
  readonly class?: string
}

export function Check({ label, isOn, onTurn, class: kind }: CheckProps) {
  return (
    <label class={kind}>
      <input
        type="checkbox"
        checked={isOn}
        onChange={({ currentTarget }) => onTurn(currentTarget.checked)}
      />{' '}
      {label}
    </label>
  )
}

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

/** A span of time, in the time zone of the browser. */
export function TimeFields({ span, onSpan }: TimeFieldsProps) {
  const field = { type: 'datetime-local', isLazy: true } as const
  return (
    <>
      <Field
        {...field}
        label="From"
        value={fieldTextOf(span.since)}
        onValue={(text) => onSpan({ ...span, since: timeIn(text) })}
      />
      <Field
        {...field}
        label="Until"
        value={fieldTextOf(span.until)}
        onValue={(text) => onSpan({ ...span, until: timeIn(text, MINUTE_END_MS) })}
      />
    </>
  )
}

function timeIn(text: string, more = 0): number | undefined {
  return text === '' ? undefined : new Date(text).getTime() + more
}

/** As the field wants it: local time, to the minute. */
function fieldTextOf(time: number | undefined): string {
  if (time === undefined) return ''
  const local = new Date(time - new Date(time).getTimezoneOffset() * 60_000)
  return local.toISOString().slice(0, 16)
}

/** Does the work instead of leaving the page. */
export function submitting(work: () => void): (event: Event) => void {
  return (event) => {
    event.preventDefault()
    work()
  }
}
