// The frame of every view: the bar, the rail, the tree, and the line of time.

import type { JSX } from 'preact'
import { useLocation } from 'preact-iso'
import { useEffect } from 'preact/hooks'
import { atNow } from '../core/address.ts'
import type { AskFailure } from '../core/ask.ts'
import { followEvents } from '../core/events.ts'
import { reportUse } from '../core/idle.ts'
import { commitCount, isPast, moment, notice, overview } from '../core/state.ts'
import { useAsk } from '../core/use-ask.ts'
import { Failure } from '../parts/failure.tsx'
import { Bar } from './bar.tsx'
import { Keys } from './keys.tsx'
import { MemoryTree } from './memory-tree.tsx'
import { PastBanner } from './past-banner.tsx'
import { Rail } from './rail.tsx'
import { Routes } from './routes.tsx'
import { TimeLine } from './time-line.tsx'

export function Frame(): JSX.Element {
  const { query, path } = useLocation()
  const { at } = query
  // Before anything below is drawn with it.
  if (atNow.peek() !== at) atNow.value = at
  const { data, failure } = useAsk('store.overview', {})
  if (data !== undefined && overview.peek() !== data) {
    overview.value = data
    commitCount.value = data.commits ?? commitCount.peek()
  }
  const lost = useMoment(at)
  useEffect(() => {
    void followEvents()
    return reportUse()
  }, [])
  useFocusOnView(path)
  const isMember = data?.audience !== 'auditor'
  return (
    <div class={isPast.value ? 'frame past' : 'frame'}>
      <a class="skip" href="#content">
        Skip to the content
      </a>
      <Bar />
      <Rail />
      {isMember && <MemoryTree />}
      <main id="content" tabIndex={-1}>
        {failure !== undefined && <Failure failure={failure} />}
        {isPast.value && <PastBanner />}
        {lost !== undefined && <Failure failure={lost} />}
        {data !== undefined && <Routes />}
      </main>
      {isMember && <TimeLine />}
      <Keys />
      <Notice />
    </div>
  )
}

const NOTICE_MS = 4000

function Notice(): JSX.Element {
  const { value } = notice
  useEffect(() => {
    if (value === undefined) return undefined
    const end = setTimeout(() => {
      notice.value = undefined
    }, NOTICE_MS)
    return () => clearTimeout(end)
  }, [value])
  return (
    <p class="notice" role="status">
      {value}
    </p>
  )
}

/** Finds the moment that the address names, or the failure. */
function useMoment(at: string | undefined): AskFailure | undefined {
  const { data, failure } = useAsk('moment.find', at === undefined ? undefined : { commit: at })
  useEffect(() => {
    // The slider's moment is known before the address changes.
    const isKnown = data === undefined && moment.peek()?.commit === at
    if (!isKnown) moment.value = at === undefined ? undefined : data
  }, [at, data])
  return failure
}

/** A link that was followed is gone, with the focus: it goes to what it has led to. */
function useFocusOnView(path: string): void {
  useEffect(() => {
    if (document.activeElement === document.body) document.getElementById('content')?.focus()
  }, [path])
}
