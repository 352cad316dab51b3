// What a memory page shows of its memory: the text, as Markdown or as it is, the difference of two
// versions, or the version that each line came from.

import { useLocation } from 'preact-iso'
import { useMemo } from 'preact/hooks'
import type { Blame, CountedVersion, MemoryView } from '../../../../operations/console/contract.ts'
import { addressOf, atNow } from '../../core/address.ts'
import { useAsk } from '../../core/use-ask.ts'
import { VersionsDiff } from '../../parts/diff-table.tsx'
import { Choice } from '../../parts/field.tsx'
import { HiddenWarning } from '../../parts/hidden.tsx'
import { Pending, Writer, writerOf } from '../../parts/labels.tsx'
import { Markdown } from '../../parts/markdown.tsx'
import { Slices } from '../../parts/pager.tsx'
import { absoluteTime, relativeTime } from '../../parts/times.ts'
import { Origins } from '../origins/origins.tsx'

interface TextTabProps {
  readonly view: MemoryView
  /** Another version than the current one. */
  readonly versionId: string | undefined
  readonly isSource: boolean
}

/** A longer text is shown as it is: the page must not get too large. */
const MARKDOWN_MAX = 60_000

export function TextTab({ view, versionId, isSource }: TextTabProps) {
  const isOther = versionId !== undefined && versionId !== view.version?.versionId
  const { data, failure } = useAsk('version.show', isOther ? { versionId } : undefined)
  if (isOther && data === undefined) return <Pending failure={failure} />
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
      ) : data !== undefined ? (
        <Markdown text={text} />
      ) : (
        <Origins memoryId={view.memoryId} text={text}>
          <Markdown text={text} />
        </Origins>
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
function Source({ text }: { readonly text: string }) {
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

interface ChangesTabProps {
  readonly view: MemoryView
  /** Versions; the one before `to`, and the shown one, if left out. */
  readonly from: string | undefined
  readonly to: string | undefined
  /** Those to choose from, the newest first. */
  readonly versions: readonly CountedVersion[]
}

/** Any two versions. */
export function ChangesTab({ view, from, to, versions }: ChangesTabProps) {
  const { route } = useLocation()
  const { memoryId } = view
  const after = to ?? view.version?.versionId
  if (after === undefined) return <p>It did not exist yet.</p>
  const base = versions.find(({ versionId }) => versionId === after)?.baseVersionId
  const before = from ?? base ?? ''
  const choose = (place: {
    readonly from?: string | undefined
    readonly to?: string | undefined
  }) => route(addressOf.memory(memoryId, { tab: 'changes', from, to, ...place }))
  return (
    <>
      <div class="pick">
        <Choice
          label="From"
          value={before}
          options={optionsOf(versions, before, 'the version before')}
          onChoose={(chosen) => choose({ from: chosen === '' ? undefined : chosen })}
        />
        <Choice
          label="to"
          value={after}
          options={optionsOf(versions, after, 'an earlier version')}
          onChoose={(chosen) => choose({ to: chosen })}
        />
      </div>
      <VersionsDiff before={from ?? 'base'} after={after} label="Both versions" />
    </>
  )
}

/** `other` is the label of the chosen version if the list lacks it. */
function optionsOf(versions: readonly CountedVersion[], chosen: string, other: string) {
  const options = versions.map(
    (version) => [version.versionId, labelOf(version)] as readonly [string, string],
  )
  const isListed = versions.some(({ versionId }) => versionId === chosen)
  return isListed ? options : [[chosen, other] as const, ...options]
}

function labelOf(version: CountedVersion): string {
  const { number, createdAt, redactedAt } = version
  const label = `${number} · ${relativeTime(createdAt)} · ${writerOf(version)}`
  return redactedAt === undefined ? label : `${label} (redacted)`
}

export function BlameTab({ memoryId }: { readonly memoryId: string }) {
  const { data, failure } = useAsk('memory.blame', { memoryId, at: atNow.value })
  if (data === undefined) return <Pending failure={failure} />
  return <Lines blame={data} memoryId={memoryId} />
}

function Lines({ blame, memoryId }: { readonly blame: Blame; readonly memoryId: string }) {
  const numbered = blame.lines.map((line, index) => ({ ...line, index }))
  return (
    <Slices label="Lines" rows={numbered}>
      {(rows) => (
        <div class="diffwrap" tabIndex={0} role="region" aria-label="Origin of each line">
          <table class="source blame">
            <caption class="sr">Each line with the version that it came from.</caption>
            <tbody>
              {rows.map(({ index, line, version, uncertain }) => {
                const isSame = index > 0 && blame.lines[index - 1]?.version === version
                const origin = isSame && index !== rows[0]?.index ? undefined : version
                return (
                  <tr key={index} class={isSame ? undefined : 'first'}>
                    <td class="origin">
                      {origin !== undefined && (
                        <Origin blame={blame} index={origin} memoryId={memoryId} />
                      )}
                      {uncertain && <span class="tag">or older</span>}
                    </td>
                    <td class="ln">{index + 1}</td>
                    <td>{line}</td>
                  </tr>
                )
              })}
            </tbody>
          </table>
        </div>
      )}
    </Slices>
  )
}

interface OriginProps {
  readonly blame: Blame
  readonly index: number
  readonly memoryId: string
}

function Origin({ blame, index, memoryId }: OriginProps) {
  const version = blame.versions[index]
  if (version === undefined) return null
  return (
    <a
      href={addressOf.memory(memoryId, { tab: 'changes', to: version.versionId })}
      title={`${writerOf(version)}, ${absoluteTime(version.createdAt)}`}
    >
      {writerOf(version)} · {relativeTime(version.createdAt)}
    </a>
  )
}
