// Tells that the page is of the past, and links back.

import type { JSX } from 'preact'
import { useLocation } from 'preact-iso'
import { addressAt, addressOf } from '../core/address.ts'
import { moment, overview } from '../core/state.ts'
import { absoluteTime } from '../parts/times.ts'

export function PastBanner(): JSX.Element {
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
