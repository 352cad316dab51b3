// A field with its label.

import type { JSX } from 'preact'
import { useId } from 'preact/hooks'

interface FieldProps {
  readonly label: string
  readonly value: string
  readonly onValue: (value: string) => void
  readonly type?: 'text' | 'number' | 'password'
  readonly min?: number
  readonly isRequired?: boolean
  readonly autoFocus?: boolean
}

export function Field(props: FieldProps): JSX.Element {
  const { label, value, onValue, type = 'text', min, isRequired = false, autoFocus = false } = props
  const id = useId()
  return (
    <span class="field">
      <label for={id}>{label}</label>
      <input
        id={id}
        {...typeOf(type)}
        value={value}
        min={min}
        required={isRequired}
        autofocus={autoFocus}
        autocomplete="off"
        onInput={(event) => onValue(event.currentTarget.value)}
      />
    </span>
  )
}

/** Preact's types have a case for each. */
function typeOf(type: FieldProps['type']) {
  if (type === 'number') return { type } as const
  return type === 'password' ? ({ type } as const) : ({ type: 'text' } as const)
}

interface ChoiceProps<Option extends string> {
  readonly label: string
  readonly value: Option
  /** Each with its words. */
  readonly options: readonly (readonly [Option, string])[]
  readonly onChoose: (option: Option) => void
}

export function Choice<Option extends string>(props: ChoiceProps<Option>): JSX.Element {
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
