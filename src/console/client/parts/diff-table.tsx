// The difference of two texts or versions, side by side or inline. Redacted versions are named, and
// never compared.

import { signal } from '@preact/signals'
import { useMemo, useState } from 'preact/hooks'
import { useAsk } from '../core/use-ask.ts'
import {
  countRows,
  type DiffLine,
  type DiffRow,
  diffRows,
  type Fold,
  foldRows,
  inlineRows,
} from './diff-lines.ts'
import { Check } from './field.tsx'
import { HiddenWarning } from './hidden.tsx'
import { Pending } from './labels.tsx'
import { Slices } from './pager.tsx'
import { countOf } from './times.ts'

interface DiffTableProps {
  /** Undefined where there was, or is, no text. */
  readonly before: string | undefined
  readonly after: string | undefined
  /** Names both texts for those who hear it. */
  readonly label: string
}

/** How all differences are shown, until the page is left. */
const isInline = signal(matchMedia('(max-width: 700px)').matches)
const withWords = signal(true)

export function DiffTable({ before, after, label }: DiffTableProps) {
  const [unfolded, setUnfolded] = useState<ReadonlySet<number>>(new Set())
  const marks = withWords.value
  const rows = useMemo(() => diffRows(before ?? '', after ?? '', marks), [before, after, marks])
  const folded = useMemo(() => foldRows(rows, unfolded), [rows, unfolded])
  const shown = isInline.value ? inlineRows(folded) : folded
  const { added, removed } = countRows(rows)
  return (
    <>
      <div class="pick">
        <span class="sum">
          <ins>+{added}</ins> <del>−{removed}</del>
        </span>
        <span class="sp" />
        <Layout />
      </div>
      <HiddenWarning text={after ?? before ?? ''} />
      {rows.every(({ isEqual }) => isEqual) && <p class="dim">Both texts are the same.</p>}
      <Slices label="Lines" rows={shown}>
        {(slice) => (
          <Table
            label={label}
            rows={slice}
            onUnfold={(fold) => setUnfolded(new Set([...unfolded, fold]))}
          />
        )}
      </Slices>
    </>
  )
}

function Layout() {
  const choose = (inline: boolean) => () => {
    isInline.value = inline
  }
  return (
    <>
      <span class="seg" role="group" aria-label="Layout">
        <button type="button" aria-pressed={!isInline.value} onClick={choose(false)}>
          Side by side
        </button>
        <button type="button" aria-pressed={isInline.value} onClick={choose(true)}>
          Inline
        </button>
      </span>
      <Check
        class="opt"
        label="Words"
        isOn={withWords.value}
        onTurn={(isOn) => {
          withWords.value = isOn
        }}
      />
    </>
  )
}

interface TableProps {
  readonly label: string
  readonly rows: readonly (DiffRow | Fold)[]
  readonly onUnfold: (fold: number) => void
}

function Table({ label, rows, onUnfold }: TableProps) {
  if (rows.length === 0) return null
  return (
    <div class="diffwrap" tabIndex={0} role="region" aria-label={label}>
      <table class={isInline.value ? 'diff inline' : 'diff'}>
        <caption class="sr">
          {label}. Removed lines begin with minus, added lines with plus.
        </caption>
        <colgroup>
          <col class="ln" />
          {!isInline.value && <col />}
          <col class="ln" />
          <col />
        </colgroup>
        <tbody>
          {rows.map((row) =>
            'fold' in row ? (
              <tr class="fold" key={`fold ${row.fold}`}>
                <td colSpan={isInline.value ? 3 : 4}>
                  <button type="button" onClick={() => onUnfold(row.fold)}>
                    {countOf(row.lines, 'equal line')}
                  </button>
                </td>
              </tr>
            ) : (
              <Row key={`${row.left?.number} ${row.right?.number}`} row={row} />
            ),
          )}
        </tbody>
      </table>
    </div>
  )
}

function Row({ row: { isEqual, left, right } }: { readonly row: DiffRow }) {
  if (isInline.value) {
    const line = left ?? right
    return (
      <tr>
        <td class="ln">{left?.number}</td>
        <td class="ln">{right?.number}</td>
        <Text line={line} sign={isEqual ? '' : left === undefined ? '+' : '−'} />
      </tr>
    )
  }
  return (
    <tr>
      <td class="ln">{left?.number}</td>
      <Text line={left} sign={isEqual ? '' : '−'} />
      <td class="ln">{right?.number}</td>
      <Text line={right} sign={isEqual ? '' : '+'} />
    </tr>
  )
}

const CLASSES = { '−': 'del', '+': 'add', '': '' } as const
const SIGNS = { '−': 'removed', '+': 'added' } as const

interface TextProps {
  readonly line: DiffLine | undefined
  readonly sign: '−' | '+' | ''
}

function Text({ line, sign }: TextProps) {
  if (line === undefined) return <td class="nil" />
  return (
    <td class={CLASSES[sign]}>
      {sign !== '' && (
        <span class="sg" role="img" aria-label={SIGNS[sign]}>
          {sign}
        </span>
      )}
      {line.parts.map(({ text, isMarked }) => (isMarked ? <mark>{text}</mark> : text))}
    </td>
  )
}

interface VersionsDiffProps {
  /** `memver_…`; undefined for no text, `base` for the version that `after` replaced. */
  readonly before: string | undefined
  readonly after: string
  readonly label: string
}

export function VersionsDiff({ before, after, label }: VersionsDiffProps) {
  const right = useAsk('version.show', { versionId: after })
  const earlier = before === 'base' ? right.data?.baseVersionId : before
  const left = useAsk('version.show', earlier === undefined ? undefined : { versionId: earlier })
  const failure = left.failure ?? right.failure
  if (failure !== undefined || right.data === undefined || left.isAsking) {
    return <Pending failure={failure} />
  }
  const isRedacted = [left.data, right.data].some((one) => one?.redactedAt !== undefined)
  if (isRedacted) {
    return <p>A text is redacted and cannot be compared. Its author and time remain known.</p>
  }
  return <DiffTable before={left.data?.content} after={right.data.content} label={label} />
}
