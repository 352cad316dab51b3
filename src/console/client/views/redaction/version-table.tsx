// Versions to erase, with their texts hidden at first.

import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import type { Version } from '../../../../store/history/versions.ts'
import { useAsk } from '../../core/use-ask.ts'
import { absoluteTime } from '../../parts/times.ts'

interface VersionTableProps {
  readonly label: string
  readonly versions: readonly Version[]
}

const SHOWN_CHARACTERS = 2000

export function VersionTable({ label, versions }: VersionTableProps): JSX.Element {
  return (
    <div class="wide-list" tabIndex={0} role="region" aria-label={label}>
      <table class="list">
        <thead>
          <tr>
            <th scope="col">Memory</th>
            <th scope="col">Written</th>
            <th scope="col">Text</th>
          </tr>
        </thead>
        <tbody>
          {versions.map((version) => (
            <tr key={version.versionId}>
              <td>{version.path ?? version.memoryId}</td>
              <td>
                {absoluteTime(version.createdAt)}, {version.session ?? version.createdBy?.id}
              </td>
              <td>
                <Veiled versionId={version.versionId} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}

function Veiled({ versionId }: { readonly versionId: string }): JSX.Element {
  const [isShown, show] = useState(false)
  const { data } = useAsk('version.show', isShown ? { versionId } : undefined)
  const text = data?.content
  return (
    <>
      <button type="button" class="veil" aria-expanded={isShown} onClick={() => show(!isShown)}>
        {isShown ? 'Veil' : 'Show'}
      </button>
      {isShown && data !== undefined && (
        <pre>{text === undefined ? 'It has no text.' : text.slice(0, SHOWN_CHARACTERS)}</pre>
      )}
    </>
  )
}
