// The line of time: a slider over all commits, with how close to each other they were written, and
// by whom. While a memory is open, the left and right keys step through its changes.

import { useSignalEffect } from '@preact/signals'
import { useLocation } from 'preact-iso'
import { useEffect, useRef, useState } from 'preact/hooks'
import type { CommitRange, MomentInput } from '../../../operations/console/contract.ts'
import { addressAt } from '../core/address.ts'
import { ask } from '../core/ask.ts'
import { commitCount, isPast, memorySteps, moment, notice } from '../core/state.ts'
import { useAsk } from '../core/use-ask.ts'
import { Question } from '../parts/dialog.tsx'
import { Field } from '../parts/field.tsx'
import { absoluteTime, countOf } from '../parts/times.ts'

const STRETCHES = 120
const HEIGHT = 32

export function TimeLine() {
  const { url, route } = useLocation()
  const [isGoing, setGoing] = useState(false)
  const commits = commitCount.value ?? 1
  const shown = isPast.value ? moment.value : undefined
  const when = shown === undefined ? 'Now' : absoluteTime(shown.time)
  return (
    <footer class="time">
      <a class="button now" href={addressAt(url, undefined)} aria-current={!isPast.value}>
        Now
      </a>
      <Slider commits={commits} known={shown?.position ?? commits} when={when} />
      <span class="when">
        <b>{when}</b>
        <br />
        <span class="dim">
          commit {(shown?.position ?? commits).toLocaleString()} of {commits.toLocaleString()}
        </span>
      </span>
      <button type="button" onClick={() => setGoing(true)}>
        Go to…
      </button>
      {isGoing && (
        <GoTo
          onGo={async (to: MomentInput) => {
            const found = await ask('moment.find', to)
            setGoing(false)
            route(addressAt(location.pathname + location.search, found.commit))
          }}
          onClose={() => setGoing(false)}
        />
      )}
    </footer>
  )
}

interface GoToProps {
  readonly onGo: (to: MomentInput) => Promise<void>
  readonly onClose: () => void
}

/** Opens a moment: by its time, by a version, or by a commit. */
function GoTo({ onGo, onClose }: GoToProps) {
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
        <Field label="Time" type="datetime-local" step={1} value={time} onValue={setTime} />
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

interface SliderProps {
  readonly commits: number
  /** The position that the page is of. */
  readonly known: number
  readonly when: string
}

function Slider({ commits, known, when }: SliderProps) {
  const { route } = useLocation()
  const step = useMemorySteps()
  const [wanted, want] = useState<number>()
  const { data } = useAsk('moment.density', { stretches: STRETCHES })
  useEffect(() => {
    if (data !== undefined) commitCount.value = data.commits
  }, [data])
  const go = useLatest(async (to: number) => {
    const found = to >= commits ? undefined : await ask('moment.find', { position: to })
    moment.value = found
    route(addressAt(location.pathname + location.search, found?.commit), true)
  })
  const move = async (to: number): Promise<void> => {
    want(to)
    try {
      await go(to)
    } catch {
      want(undefined)
      notice.value = 'That moment cannot be shown'
    }
  }
  // It keeps its place until the page has followed: a key that is pressed in the meantime
  // counts from there.
  useEffect(() => {
    // Asked again of the newest: a key may have been pressed since this was drawn.
    want((now) => (now === known ? undefined : now))
  }, [wanted, known])
  const position = wanted ?? known
  const where = `commit ${position} of ${commits}`
  return (
    <div class="track">
      <Bars stretches={data?.stretches ?? []} />
      <label class="sr" for="moment">
        Moment shown
      </label>
      <input
        id="moment"
        type="range"
        min={commits === 1 ? 0 : 1}
        max={commits}
        value={position}
        disabled={commitCount.value === undefined || commits === 1}
        aria-valuetext={wanted === undefined ? `${when}, ${where}` : where}
        onInput={({ currentTarget }) => void move(Number(currentTarget.value))}
        onKeyDown={(event) => {
          if (step(event)) event.preventDefault()
        }}
      />
    </div>
  )
}

/**
 * Takes the keys that step through the changes of the open memory, and returns whether it took this
 * one; without a memory, the slider steps through all commits. Each step counts from the moment in
 * the address: a key waits until the page has the steps of that moment, so that none is lost.
 */
function useMemorySteps(): (event: KeyboardEvent) => boolean {
  const { route } = useLocation()
  const waiting = useRef<{ readonly page: string; readonly keys: StepKey[] }>(undefined)
  const run = (): void => {
    const steps = memorySteps.value
    const { page, keys = [] } = waiting.current ?? {}
    if (steps === undefined || page !== `/memory/${steps.memoryId}`) return
    for (;;) {
      const { pathname, search } = location
      const at = new URLSearchParams(search).get('at') ?? undefined
      const key = page === pathname && steps.at === at ? keys.shift() : undefined
      if (key === undefined) return
      const isLast = key === 'ArrowLeft' ? steps.before === undefined : at === undefined
      const to = key === 'ArrowLeft' ? steps.before : steps.after
      if (!isLast) route(addressAt(pathname + search, to), true)
    }
  }
  useSignalEffect(run)
  return ({ key, repeat }) => {
    const page = location.pathname
    if (!page.startsWith('/memory/') || !isStepKey(key)) return false
    if (waiting.current?.page !== page) waiting.current = { page, keys: [] }
    const { keys } = waiting.current
    // A held key does not step on after it is released.
    if (!repeat || keys.length === 0) keys.push(key)
    run()
    return true
  }
}

type StepKey = 'ArrowLeft' | 'ArrowRight'

function isStepKey(key: string): key is StepKey {
  return key === 'ArrowLeft' || key === 'ArrowRight'
}

/** While the slider moves, only the newest place is looked for, one at a time. */
function useLatest(work: (value: number) => Promise<void>): (value: number) => Promise<void> {
  const wanted = useRef<number>(undefined)
  const isRunning = useRef(false)
  return async (value) => {
    wanted.current = value
    if (isRunning.current) return
    isRunning.current = true
    try {
      while (wanted.current !== undefined) {
        const next = wanted.current
        wanted.current = undefined
        await work(next)
      }
    } finally {
      isRunning.current = false
    }
  }
}

const HUES = 6

/** A writer has the same color everywhere; two may share one. */
function hueOf(writer: string | undefined): string {
  if (writer === undefined) return ''
  let sum = 0
  for (const letter of writer) sum = (sum * 31 + (letter.codePointAt(0) ?? 0)) % 9973
  return `hue-${sum % HUES}`
}

function titleOf({ writer, commits, merges, redactions }: CommitRange): string {
  const counts = [
    countOf(commits, 'commit'),
    ...(merges > 0 ? [countOf(merges, 'merge')] : []),
    ...(redactions > 0 ? [countOf(redactions, 'redaction')] : []),
  ]
  return [...(writer === undefined ? [] : [writer]), ...counts].join(', ')
}

const MARK_HEIGHT = 4

/** Higher where commits follow each other faster, with marks for merges and redactions. */
function Bars({ stretches }: { readonly stretches: readonly CommitRange[] }) {
  const rates = stretches.map(({ commits, from, to }, index) => {
    const since = stretches[index - 1]?.to ?? from
    return commits / Math.max(1, to - since)
  })
  const logs = rates.map((rate) => Math.log10(rate))
  const [least, most] = [Math.min(...logs), Math.max(...logs)]
  const total = stretches.reduce((sum, { commits }) => sum + commits, 0)
  return (
    <svg class="bars" viewBox={`0 0 ${total} ${HEIGHT}`} preserveAspectRatio="none" aria-hidden>
      {stretches.map((stretch, index) => {
        const { first, commits, writer, merges, redactions } = stretch
        const share = ((logs[index] ?? least) - least) / Math.max(1e-9, most - least)
        const height = 4 + share * (HEIGHT - 2 * MARK_HEIGHT - 6)
        const place = { x: first - 1, width: commits * 0.85 }
        const marks = { ...place, height: MARK_HEIGHT }
        return (
          <g key={first}>
            <title>{titleOf(stretch)}</title>
            <rect class={hueOf(writer)} {...place} y={HEIGHT - height} height={height} />
            {merges > 0 && (
              <rect class="at-merge" {...marks} y={HEIGHT - height - MARK_HEIGHT - 1} />
            )}
            {redactions > 0 && (
              <rect class="at-redaction" {...marks} y={HEIGHT - height - 2 * MARK_HEIGHT - 2} />
            )}
          </g>
        )
      })}
    </svg>
  )
}
