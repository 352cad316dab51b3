// The memories that merges of clones combined, joined or moved aside: first those that were not
// reviewed on this device, which alone remembers that.

import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import type { MergeRow } from '../../../../api/console/contract.ts'
import { addressOf } from '../../core/address.ts'
import { ask, type AskFailure } from '../../core/ask.ts'
import { changed } from '../../core/events.ts'
import { asFailure, useAsk } from '../../core/use-ask.ts'
import { Failure } from '../../parts/failure.tsx'
import { Slices } from '../../parts/slices.tsx'
import { relativeTime } from '../../parts/times.ts'
import { MergePage } from './merge-page.tsx'
import { outcomeOf } from './outcome.ts'

/** More are not listed: the history of a memory shows each merge, too. */
const MERGES_MAX = 1000

export function MergesPage({
  versionId,
}: {
  readonly versionId?: string | undefined
}): JSX.Element {
  const { data, failure } = useAsk('merges.list', { limit: MERGES_MAX })
  const merges = data?.merges ?? []
  if (versionId !== undefined) {
    const next = merges.find((merge) => !merge.isSeen && merge.versionId !== versionId)
    return <MergePage key={versionId} versionId={versionId} next={next?.versionId} />
  }
  const unseen = merges.filter(({ isSeen }) => !isSeen)
  const seen = merges.filter(({ isSeen }) => isSeen)
  return (
    <>
      <div class="crumbs">
        <h1>Merges</h1>
      </div>
      <p class="meta" role="status">
        {data === undefined && failure === undefined && 'Reading…'}
        {data !== undefined &&
          merges.length === 0 &&
          'No merge of clones had to combine, join or move a memory.'}
        {merges.length > 0 && unseen.length === 0 && 'You have looked at all of them.'}
      </p>
      {failure !== undefined && <Failure failure={failure} />}
      <LookedAtAll unseen={unseen} />
      <Merges title="Not looked at" merges={unseen} />
      <Merges title="Looked at" merges={seen} />
    </>
  )
}

/** The button is kept when all are reviewed, so that it does not lose the focus. */
function LookedAtAll({ unseen }: { readonly unseen: readonly MergeRow[] }): JSX.Element {
  const [failure, setFailure] = useState<AskFailure>()
  const look = (): void => {
    if (unseen.length === 0) return
    setFailure(undefined)
    ask('merges.looked', { versionIds: unseen.map(({ versionId }) => versionId) }).then(
      changed,
      (error: unknown) => setFailure(asFailure(error)),
    )
  }
  return (
    <p>
      <button type="button" aria-disabled={unseen.length === 0} onClick={look}>
        I have looked at all of them
      </button>
      {failure !== undefined && <Failure failure={failure} />}
    </p>
  )
}

interface MergesProps {
  readonly title: string
  readonly merges: readonly MergeRow[]
}

function Merges({ title, merges }: MergesProps): JSX.Element | null {
  if (merges.length === 0) return null
  return (
    <section>
      <h2>
        {title} <span class="dim">{merges.length}</span>
      </h2>
      <Slices label={title} rows={merges}>
        {(rows) => (
          <div class="wide-list" tabIndex={0} role="region" aria-label={title}>
            <table class="list">
              <thead>
                <tr>
                  <th scope="col">Memory</th>
                  <th scope="col">What the merge did</th>
                  <th scope="col">Of</th>
                  <th scope="col">When</th>
                </tr>
              </thead>
              <tbody>
                {rows.map((merge) => (
                  <tr key={merge.versionId}>
                    <th scope="row">
                      <a href={addressOf.merge(merge.versionId)}>{merge.path ?? merge.memoryId}</a>
                    </th>
                    <td>{outcomeOf(merge)}</td>
                    <td>{merge.deviceNames.join(', ')}</td>
                    <td>{relativeTime(merge.time)}</td>
                  </tr>
                ))}
              </tbody>
            </table>
          </div>
        )}
      </Slices>
    </section>
  )
}
