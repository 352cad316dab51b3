// Step 2: the versions to erase, the remaining ones that may repeat them, and the copies out of
// reach. Texts are hidden until the user asks for them.

import type { ComponentChildren, JSX } from 'preact'
import type { ErasePlan } from '../../../../api/console/contract.ts'
import { Slices } from '../../parts/slices.tsx'
import { countOf } from '../../parts/times.ts'
import { VersionTable } from './version-table.tsx'

interface LookStepProps {
  readonly plan: ErasePlan
  readonly onBack: () => void
  /** Undefined for a user who may not erase. */
  readonly onNext: (() => void) | undefined
}

export function LookStep({ plan, onBack, onNext }: LookStepProps): JSX.Element {
  const { versions, current, already, sameText, builtOn, rewritten, commits } = plan
  return (
    <>
      <p role="status">
        <b>{countOf(versions.length, 'version')}</b> would be erased: text, path, size and reason.
        Who wrote it and when stays, and so do the signatures. At most{' '}
        {countOf(rewritten, 'commit')} of {commits.toLocaleString()} would be made again.
        {already > 0 && ` ${already} of the chosen ones are erased already.`} Nothing has happened
        yet.
      </p>
      <div class="cards">
        <Card title="What goes" isShown={versions.length > 0}>
          <Slices label="What goes" rows={versions}>
            {(rows) => <VersionTable label="What goes" versions={rows} />}
          </Slices>
        </Card>
        <Card title="In the way: what memories hold now" isShown={current.length > 0} isWarning>
          <p>
            In the next step you choose what becomes of these memories: deleted, overwritten with a
            text without it, or kept as they are.
          </p>
          <VersionTable label="Current versions" versions={current.slice(0, SHOWN)} />
          <More count={current.length} />
        </Card>
        <Card title="The same text elsewhere, not chosen" isShown={sameText.length > 0} isWarning>
          <VersionTable label="The same text" versions={sameText.slice(0, SHOWN)} />
          <More count={sameText.length} />
        </Card>
        <Card title="Written on these, and may repeat them" isShown={builtOn.length > 0} isWarning>
          <VersionTable label="Written on these" versions={builtOn.slice(0, SHOWN)} />
          <More count={builtOn.length} />
        </Card>
        <Reach plan={plan} />
      </div>
      <div class="go">
        <button type="button" onClick={onBack}>
          Back
        </button>
        <span class="sp" />
        {onNext === undefined ? (
          <p>This console may look, but not erase: an owner can.</p>
        ) : (
          <button
            type="button"
            class="pri"
            aria-disabled={versions.length === 0}
            onClick={() => versions.length > 0 && onNext()}
          >
            Go on
          </button>
        )}
      </div>
    </>
  )
}

const SHOWN = 20

function More({ count }: { readonly count: number }): JSX.Element | null {
  return count > SHOWN ? <p class="dim">and {count - SHOWN} more</p> : null
}

function Reach({ plan: { pendingDevices, remotes } }: { readonly plan: ErasePlan }): JSX.Element {
  return (
    <Card title="What it cannot reach" isShown>
      <ul>
        {pendingDevices.map(({ deviceId, name, role }) => (
          <li key={deviceId}>
            {name === '' ? deviceId : name}, {role}: holds it until it syncs
          </li>
        ))}
        {remotes.map((name) => (
          <li key={name}>the host of {name}: holds it until it collects its garbage</li>
        ))}
        <li>backups, and whatever somebody has copied: revoke a leaked key all the same</li>
      </ul>
    </Card>
  )
}

interface CardProps {
  readonly title: string
  readonly isShown: boolean
  readonly isWarning?: boolean
  readonly children: ComponentChildren
}

function Card({ title, isShown, isWarning = false, children }: CardProps): JSX.Element | null {
  if (!isShown) return null
  return (
    <section class={isWarning ? 'warn' : undefined}>
      <h2>{title}</h2>
      {children}
    </section>
  )
}
