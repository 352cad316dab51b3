// The result of a merge next to its inputs, line by line. Equal lines are folded, until asked for.

import { useMemo, useState } from 'preact/hooks'
import type { MergeView } from '../../../../operations/console/contract.ts'
import { Slices } from '../../parts/pager.tsx'
import { countOf } from '../../parts/times.ts'
import { isEqualLine, mergeLines, type MergeLine, type NumberedLine } from './merge-rows.ts'

interface MergeTableProps {
  /** What the inputs are called, in their order. */
  readonly names: readonly string[]
  readonly view: MergeView
}

/** Equal lines that remain in sight around others. */
const AROUND = 2

export function MergeTable({ names, view }: MergeTableProps) {
  const [isUnfolded, setUnfolded] = useState(false)
  const lines = useMemo(() => linesOf(view), [view])
  const shown = useMemo(() => (isUnfolded ? lines : nearChanges(lines)), [lines, isUnfolded])
  const folded = lines.length - shown.length
  return (
    <>
      <p class="meta">
        {(folded > 0 || isUnfolded) && (
          <button type="button" onClick={() => setUnfolded(!isUnfolded)}>
            {isUnfolded ? 'Fold equal lines' : `Show ${countOf(folded, 'equal line')}`}
          </button>
        )}
        {lines.every(isEqualLine) && ' All texts are the same.'}
      </p>
      <Slices label="Lines" rows={shown}>
        {(rows) => <Lines names={names} lines={rows} />}
      </Slices>
    </>
  )
}

function linesOf({ inputs, result }: MergeView): readonly MergeLine[] {
  const texts = inputs.map(({ content }) => content ?? '')
  return mergeLines(result.content ?? '', texts)
}

interface LinesProps {
  readonly names: readonly string[]
  readonly lines: readonly MergeLine[]
}

function Lines({ names, lines }: LinesProps) {
  if (lines.length === 0) return null
  return (
    <div class="wide-list" tabIndex={0} role="region" aria-label="Inputs and result">
      <table class="merge">
        <caption class="sr">
          The result is in the last column. Lines that are not in it begin with minus, and those of
          the result that an input lacks with plus.
        </caption>
        <thead>
          <tr>
            {[...names, 'Result'].map((name) => (
              <th key={name} scope="col" colSpan={2}>
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {lines.map((line, index) => (
            <Line key={keyOf(line)} line={line} isAfterFold={isFold(lines[index - 1], line)} />
          ))}
        </tbody>
      </table>
    </div>
  )
}

function keyOf({ result, inputs }: MergeLine): string {
  return [...inputs, result].map((line) => line?.number ?? '').join(' ')
}

/** Without the equal lines that are not near others. */
function nearChanges(lines: readonly MergeLine[]): readonly MergeLine[] {
  const near = new Set<number>()
  for (const [index, line] of lines.entries()) {
    if (isEqualLine(line)) continue
    for (let at = index - AROUND; at <= index + AROUND; at += 1) near.add(at)
  }
  return lines.filter((_, index) => near.has(index))
}

/** Whether lines are folded between two: on both sides of a fold are equal ones. */
function isFold(before: MergeLine | undefined, { inputs, result }: MergeLine): boolean {
  return (
    before !== undefined &&
    [...inputs, result].some((line, at) => {
      const last = [...before.inputs, before.result][at]
      return line !== undefined && last !== undefined && line.number > last.number + 1
    })
  )
}

function Line({ line, isAfterFold }: { readonly line: MergeLine; readonly isAfterFold: boolean }) {
  const { result, inputs } = line
  const isNew = !isEqualLine(line)
  return (
    <tr class={isAfterFold ? 'after-fold' : undefined}>
      {inputs.map((input, index) => (
        <Cells key={index} line={input} sign={result === undefined ? '−' : ''} />
      ))}
      <Cells line={result} sign={isNew ? '+' : ''} />
    </tr>
  )
}

interface CellsProps {
  readonly line: NumberedLine | undefined
  readonly sign: '−' | '+' | ''
}

const CLASSES = { '−': 'del', '+': 'add', '': '' } as const

function Cells({ line, sign }: CellsProps) {
  if (line === undefined) {
    return (
      <>
        <td class="ln nil" />
        <td class="nil" />
      </>
    )
  }
  return (
    <>
      <td class="ln">{line.number}</td>
      <td class={CLASSES[sign]}>
        {sign !== '' && <span class="sg">{sign}</span>}
        {line.text}
      </td>
    </>
  )
}
