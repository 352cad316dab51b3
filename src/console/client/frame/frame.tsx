// The frame of every view: the bar, the rail, the tree, and the line of time.

import { useLocation } from 'preact-iso'
import { useEffect } from 'preact/hooks'
import { addressAt, addressOf, atNow } from '../core/address.ts'
import type { AskFailure } from '../core/ask.ts'
import { followEvents } from '../core/events.ts'
import { reportUse } from '../core/session.ts'
import { commitCount, isPast, moment, notice, overview } from '../core/state.ts'
import { useAsk } from '../core/use-ask.ts'
import { Failure } from '../parts/labels.tsx'
import { absoluteTime } from '../parts/times.ts'
import { Bar } from './bar.tsx'
import { Keys } from './keys.tsx'
import { MemoryTree } from './memory-tree.tsx'
import { TimeLine } from './time-line.tsx'
import { Rail, Routes } from './views.tsx'

export function Frame() {
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
        <Failure failure={failure} />
        {isPast.value && <PastBanner />}
        <Failure failure={lost} />
        {data !== undefined && <Routes />}
      </main>
      {isMember && <TimeLine />}
      <Keys />
      <Notice />
    </div>
  )
}

/** Tells that the page is of the past, and links back. */
function PastBanner() {
  const { url } = useLocation()
  const { access, role } = overview.value ?? {}
  const mayRollBack = access === 'read_write' && (role === 'owner' || role === 'writer')
  const shown = moment.value
  return (
    <div class="banner" role="status">
      <b>As it was{shown !== undefined && ` on ${absoluteTime(shown.time)}`}.</b>
      {shown !== undefined && ` Commit ${shown.position} of ${shown.commits}.`}
      <span class="sp" />
      {shown !== undefined && (
        <>
          <a class="button" href={addressOf.compare(shown.commit)}>
            Compare with now
          </a>
          {mayRollBack && (
            <a class="button" href={addressOf.rollback(shown.commit)}>
              Roll everything back to here…
            </a>
          )}
        </>
      )}
      <a class="button pri" href={addressAt(url, undefined)}>
        Back to now
      </a>
    </div>
  )
}

const NOTICE_MS = 4000

function Notice() {
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

/** A followed link is removed, and the focus with it: the new view gets the focus. */
function useFocusOnView(path: string): void {
  useEffect(() => {
    if (document.activeElement === document.body) document.getElementById('content')?.focus()
  }, [path])
}
