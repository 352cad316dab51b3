// Step 2: the versions to erase, the remaining ones that may repeat them, and the copies out of
// reach. Texts are hidden until the user asks for them.

import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import type { ErasePlan } from '../../../../operations/console/contract.ts'
import type { Version } from '../../../../store/history/versions.ts'
import { useAsk } from '../../core/use-ask.ts'
import { writerOf } from '../../parts/labels.tsx'
import { ListTable } from '../../parts/list-table.tsx'
import { Slices } from '../../parts/pager.tsx'
import { absoluteTime, countOf } from '../../parts/times.ts'

interface LookStepProps {
  readonly plan: ErasePlan
  readonly onBack: () => void
  /** Undefined for a user who may not erase. */
  readonly onNext: (() => void) | undefined
}

export function LookStep({ plan, onBack, onNext }: LookStepProps) {
  const { versions, current, already, sameText, builtOn, rewritten, commits } = plan
  return (
    <>
      <p role="status">
        <b>{countOf(versions.length, 'version')}</b> would be erased: text, path, size and reason.
        Author, time and signature remain. At most {countOf(rewritten, 'commit')} of{' '}
        {commits.toLocaleString()} would be rewritten.
        {already > 0 && ` ${already} of the chosen ones are already erased.`} Nothing has happened
        yet.
      </p>
      <div class="cards">
        <Card title="Versions to erase" isShown={versions.length > 0}>
          <Slices label="Versions to erase" rows={versions}>
            {(rows) => <VersionTable label="Versions to erase" versions={rows} />}
          </Slices>
        </Card>
        <Card title="In use: current texts of memories" isShown={current.length > 0} isWarning>
          <p>
            In the next step you choose whether to delete these memories, to overwrite them with a
            text without it, or to keep them.
          </p>
          <FirstVersions label="Current versions" versions={current} />
        </Card>
        <Card title="The same text elsewhere, not chosen" isShown={sameText.length > 0} isWarning>
          <FirstVersions label="The same text" versions={sameText} />
        </Card>
        <Card title="Written on these, and may repeat them" isShown={builtOn.length > 0} isWarning>
          <FirstVersions label="Written on these" versions={builtOn} />
        </Card>
        <Reach plan={plan} />
      </div>
      <div class="go">
        <button type="button" onClick={onBack}>
          Back
        </button>
        <span class="sp" />
        {onNext === undefined ? (
          <p>This console cannot erase: an owner can.</p>
        ) : (
          <button
            type="button"
            class="pri"
            aria-disabled={versions.length === 0}
            onClick={() => versions.length > 0 && onNext()}
          >
            Continue
          </button>
        )}
      </div>
    </>
  )
}

const SHOWN = 20

function FirstVersions({ label, versions }: VersionTableProps) {
  const more = versions.length - SHOWN
  return (
    <>
      <VersionTable label={label} versions={versions.slice(0, SHOWN)} />
      {more > 0 && <p class="dim">and {more} more</p>}
    </>
  )
}

interface VersionTableProps {
  readonly label: string
  readonly versions: readonly Version[]
}

const SHOWN_CHARACTERS = 2000

function VersionTable({ label, versions }: VersionTableProps) {
  return (
    <ListTable label={label} heads={['Memory', 'Written', 'Text']}>
      {versions.map((version) => (
        <tr key={version.versionId}>
          <td>{version.path ?? version.memoryId}</td>
          <td>
            {absoluteTime(version.createdAt)}, {writerOf(version)}
          </td>
          <td>
            <Veiled versionId={version.versionId} />
          </td>
        </tr>
      ))}
    </ListTable>
  )
}

function Veiled({ versionId }: { readonly versionId: string }) {
  const [isShown, show] = useState(false)
  const { data } = useAsk('version.show', isShown ? { versionId } : undefined)
  const text = data?.content
  return (
    <>
      <button type="button" class="veil" aria-expanded={isShown} onClick={() => show(!isShown)}>
        {isShown ? 'Hide' : 'Show'}
      </button>
      {isShown && data !== undefined && (
        <pre>{text === undefined ? 'It has no text.' : text.slice(0, SHOWN_CHARACTERS)}</pre>
      )}
    </>
  )
}

function Reach({ plan: { pendingDevices, remotes } }: { readonly plan: ErasePlan }) {
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
        <li>backups, and copies that people made: revoke a leaked key in any case</li>
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

function Card({ title, isShown, isWarning = false, children }: CardProps) {
  if (!isShown) return null
  return (
    <section class={isWarning ? 'warn' : undefined}>
      <h2>{title}</h2>
      {children}
    </section>
  )
}
