// Versions that a redaction would erase: the places of the text with the rest of each line veiled,
// or, without a text, the whole version on request.

import { useState } from 'preact/hooks'
import type { FoundPlace, Selection } from '../../../../operations/console/contract.ts'
import type { Version } from '../../../../store/history/versions.ts'
import { useAsk } from '../../core/use-ask.ts'
import { writerOf } from '../../parts/labels.tsx'
import { ListTable } from '../../parts/list-table.tsx'
import { absoluteTime } from '../../parts/times.ts'

interface VersionTableProps {
  readonly label: string
  readonly select: Selection
  readonly versions: readonly Version[]
}

const SHOWN = 20

export function FirstVersions({ label, select, versions }: VersionTableProps) {
  const more = versions.length - SHOWN
  return (
    <>
      <VersionTable label={label} select={select} versions={versions.slice(0, SHOWN)} />
      {more > 0 && <p class="dim">and {more} more</p>}
    </>
  )
}

export function VersionTable({ label, select, versions }: VersionTableProps) {
  const versionIds = versions.map(({ versionId }) => versionId)
  const hasText = select.text !== undefined
  const { data } = useAsk('redaction.occurrences', hasText ? { select, versionIds } : undefined)
  const found = new Map(data?.versions.map((version) => [version.versionId, version]))
  return (
    <ListTable label={label} heads={['Memory', 'Written', hasText ? 'Places' : 'Text']}>
      {versions.map((version) => {
        const { places = [], more = 0 } = found.get(version.versionId) ?? {}
        return (
          <tr key={version.versionId}>
            <th scope="row">{version.path ?? version.memoryId}</th>
            <td>
              {absoluteTime(version.createdAt)}, {writerOf(version)}
            </td>
            <td>
              {places.map((place, index) => (
                <Place key={index} place={place} />
              ))}
              {more > 0 && <span class="dim">and {more} more</span>}
              {places.length === 0 && <Veiled versionId={version.versionId} />}
            </td>
          </tr>
        )
      })}
    </ListTable>
  )
}

/** More characters are drawn as no more dots. */
const DOTS_MAX = 24

function Place({ place: { where, line, match, before, after } }: { readonly place: FoundPlace }) {
  return (
    <div class="place">
      <span class="dim">{where === 'text' ? `line ${line}` : where}</span>{' '}
      <code>
        <Dots count={before} />
        <mark>{match}</mark>
        <Dots count={after} />
      </code>
    </div>
  )
}

function Dots({ count }: { readonly count: number }) {
  if (count === 0) return null
  return (
    <span class="dots" role="img" aria-label={`${count} veiled characters`}>
      {'•'.repeat(Math.min(count, DOTS_MAX))}
    </span>
  )
}

const SHOWN_CHARACTERS = 2000

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
