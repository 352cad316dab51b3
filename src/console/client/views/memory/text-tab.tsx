// The text of a memory, or of one of its versions, as Markdown or as it is.

import type { JSX } from 'preact'
import { useMemo } from 'preact/hooks'
import type { MemoryView } from '../../../../api/console/contract.ts'
import { useAsk } from '../../core/use-ask.ts'
import { Failure } from '../../parts/failure.tsx'
import { HiddenWarning } from '../../parts/hidden.tsx'
import { Writer } from '../../parts/labels.tsx'
import { Markdown } from '../../parts/markdown.tsx'
import { Slices } from '../../parts/slices.tsx'
import { absoluteTime } from '../../parts/times.ts'

interface TextTabProps {
  readonly view: MemoryView
  /** Another version than that of the moment. */
  readonly versionId: string | undefined
  readonly isSource: boolean
}

/** A longer text is shown as it is: the page must not get too large. */
const MARKDOWN_MAX = 60_000

export function TextTab({ view, versionId, isSource }: TextTabProps): JSX.Element {
  const isOther = versionId !== undefined && versionId !== view.version?.versionId
  const { data, failure } = useAsk('version.show', isOther ? { versionId } : undefined)
  if (failure !== undefined) return <Failure failure={failure} />
  if (isOther && data === undefined) return <p role="status">Reading…</p>
  const text = data === undefined ? textOf(view) : data.content
  return (
    <>
      {data !== undefined && (
        <p class="meta">
          Version of {absoluteTime(data.createdAt)}, by <Writer version={data} />
        </p>
      )}
      <HiddenWarning text={text ?? ''} />
      {text === undefined ? (
        <p>{data === undefined ? reasons[view.state] : whyNot(data.redactedAt)}</p>
      ) : isSource || text.length > MARKDOWN_MAX ? (
        <Source text={text} />
      ) : (
        <Markdown text={text} />
      )}
    </>
  )
}

function textOf(view: MemoryView): string | undefined {
  return view.state === 'live' ? view.content : undefined
}

const reasons: Readonly<Record<MemoryView['state'], string>> = {
  live: '',
  deleted: 'It is deleted: its history is at the right.',
  redacted: 'This version is redacted: its text is erased.',
  displaced: 'Another memory was at its path then: its versions are at the right.',
  absent: 'It did not exist yet.',
}

function whyNot(redactedAt: number | undefined): string {
  if (redactedAt === undefined) return 'This version is a deletion: it has no text.'
  return `This version was redacted on ${absoluteTime(redactedAt)}: its text is erased.`
}

/** With the numbers of its lines. */
function Source({ text }: { readonly text: string }): JSX.Element {
  const lines = useMemo(() => text.split('\n').map((line, index) => ({ line, index })), [text])
  return (
    <Slices label="Lines" rows={lines}>
      {(rows) => (
        <div class="diffwrap" tabIndex={0} role="region" aria-label="Source">
          <table class="source">
            <tbody>
              {rows.map(({ line, index }) => (
                <tr key={index}>
                  <td class="ln">{index + 1}</td>
                  <td>{line}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </Slices>
  )
}
