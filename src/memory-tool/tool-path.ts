// The paths of the memory tool: strips `/memories`, collapses alternative spellings, and refuses
// traversal (docs/MEMORY-TOOL.md, "Paths"). Nothing is decoded or repaired.

import { StoreError } from '../errors.ts'
import { checkStorePath } from '../operations/actions.ts'
import { escapedLine } from '../text/visible.ts'
import { Refusal } from './refusal.ts'

/** The directory that the model knows. */
export const toolRoot: string = '/memories'
/** UTF-16 units of a refused path that are echoed. */
const ECHO_MAX = 200

/** Percent-encoded dots and separators, encoded again any number of times, or in overlong UTF-8. */
const ENCODED_DOT = /%(?:25)*(?:2e|c0%(?:25)*ae)/gi
const ENCODED_SEPARATOR = /\\|%(?:25)*(?:2f|5c|c0%(?:25)*af|c1%(?:25)*9c)/gi

/**
 * What `meaning` makes of the part below `/memories`, canonical but for the rules of a store path.
 * If either refuses it: throws a Refusal that names the parameter and echoes the input.
 */
export function parseToolPath<T>(
  parameter: string,
  input: string,
  meaning: (below: string) => T,
): T {
  try {
    return meaning(collapse(input))
  } catch (error) {
    if (!(error instanceof StoreError)) throw error
    const echo = echoOf(input)
    throw new Refusal(`Invalid \`${parameter}\` parameter: ${echo}. ${error.message}`)
  }
}

/** `/` or `/a/b`, unchecked. */
function collapse(input: string): string {
  if (input !== toolRoot && !input.startsWith(`${toolRoot}/`)) {
    throw refused(`It should be ${toolRoot}, or begin with ${toolRoot}/`)
  }
  const segments = input.slice(toolRoot.length).split('/')
  if (hidesTraversal(input, segments)) throw refused('Encoded and backslash traversal is refused')
  const kept: string[] = []
  for (const segment of segments) {
    if (segment === '' || segment === '.') continue
    if (segment !== '..') kept.push(segment)
    else goUp(kept)
  }
  return `/${kept.join('/')}`
}

/** Removes the last segment, which must be legal although `..` cancels it. */
function goUp(kept: string[]): void {
  const removed = kept.pop()
  if (removed === undefined) throw refused(`It leads out of ${toolRoot}`)
  checkStorePath(`/${removed}`)
}

/** Whether decoding the path, or treating a backslash as a separator, yields more `..`. */
function hidesTraversal(input: string, segments: readonly string[]): boolean {
  const decoded = input.replace(ENCODED_DOT, '.').replace(ENCODED_SEPARATOR, '/').split('/')
  return countUps(decoded) > countUps(segments)
}

function countUps(segments: readonly string[]): number {
  return segments.filter((segment) => segment === '..').length
}

/** The input on one line, truncated, with invisible characters escaped. */
function echoOf(input: string): string {
  const short = input.length > ECHO_MAX ? `${input.slice(0, ECHO_MAX)}…` : input
  return escapedLine(short)
}

function refused(rule: string): StoreError {
  return new StoreError('invalid_path', rule)
}
