// Opens a moment: by its time, by a version, or by a commit.

import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import type { MomentInput } from '../../../api/console/contract.ts'
import { Field } from '../parts/field.tsx'
import { Question } from '../parts/question.tsx'

interface GoToProps {
  readonly onGo: (to: MomentInput) => Promise<void>
  readonly onClose: () => void
}

export function GoTo({ onGo, onClose }: GoToProps): JSX.Element {
  const [text, setText] = useState('')
  const [time, setTime] = useState('')
  const to = momentIn(text, time)
  return (
    <Question
      title="Go to a moment"
      verb="Go"
      isReady={to !== undefined}
      onClose={onClose}
      onRun={async () => {
        if (to !== undefined) await onGo(to)
      }}
    >
      <p>
        <span class="field">
          <label for="go-time">Time</label>
          <input
            autocomplete="off"
            id="go-time"
            type="datetime-local"
            step={1}
            value={time}
            onInput={({ currentTarget }) => setTime(currentTarget.value)}
          />
        </span>
      </p>
      <p>
        <Field label="Or a version, memver_…, or a commit" value={text} onValue={setText} />
      </p>
      {to === undefined && text.trim() !== '' && (
        <p class="dim" role="status">
          A version begins with memver_; of a commit at least 7 hex digits are needed.
        </p>
      )}
    </Question>
  )
}

function momentIn(text: string, time: string): MomentInput | undefined {
  const id = text.trim().toLowerCase()
  if (id.startsWith('memver_')) return { versionId: id }
  if (/^[0-9a-f]{7,40}$/.test(id)) return { commit: id }
  return time === '' || id !== '' ? undefined : { time: new Date(time).getTime() }
}
