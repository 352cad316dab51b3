// A merge as a table: the lines of the result, and next to each those of the inputs that it came
// from; lines of an input that the result does not have stand where they were. Must not touch the
// page.

import { diffArrays } from 'diff'

/** A line of one text, counted from 1. */
export interface NumberedLine {
  readonly number: number
  readonly text: string
}

export interface MergeLine {
  /** Undefined where inputs have lines that the result lacks. */
  readonly result: NumberedLine | undefined
  /** In the order of the inputs. */
  readonly inputs: readonly (NumberedLine | undefined)[]
}

/** Beyond it two texts are treated as having nothing in common: the page must not hang. */
const TIMEOUT_MS = 500

export function mergeLines(result: string, inputs: readonly string[]): readonly MergeLine[] {
  const lines = result.split('\n')
  const aligned = inputs.map((input) => align(input.split('\n'), lines))
  const rows: MergeLine[] = []
  for (let index = 0; index <= lines.length; index += 1) {
    const dropped = aligned.map(({ before }) => before.get(index) ?? [])
    const height = Math.max(0, ...dropped.map((list) => list.length))
    for (let at = 0; at < height; at += 1) {
      rows.push({ result: undefined, inputs: dropped.map((list) => list[at]) })
    }
    const text = lines[index]
    if (text === undefined) break
    const beside = aligned.map(({ at }) => at.get(index))
    rows.push({ result: { number: index + 1, text }, inputs: beside })
  }
  return rows
}

/** Whether all texts have the line. */
export function isEqualLine({ result, inputs }: MergeLine): boolean {
  return result !== undefined && inputs.every((line) => line !== undefined)
}

/** What an input has at each line of the result, and before it, by the index of that line. */
function align(input: readonly string[], result: readonly string[]) {
  const parts = diffArrays([...input], [...result], { timeout: TIMEOUT_MS }) ?? [
    { value: [...input], removed: true, added: false },
    { value: [...result], removed: false, added: true },
  ]
  const at = new Map<number, NumberedLine>()
  const before = new Map<number, NumberedLine[]>()
  let index = 0
  let number = 1
  for (const { value, added, removed } of parts) {
    for (const text of value) {
      if (removed) before.set(index, [...(before.get(index) ?? []), { number, text }])
      else if (!added) at.set(index, { number, text })
      if (!added) number += 1
      if (!removed) index += 1
    }
  }
  return { at, before }
}
