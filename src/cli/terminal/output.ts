// Formats answers and errors. Answers go to standard output, everything else to standard error;
// with --json both are one JSON value on one line. On a terminal, hidden characters that an agent
// may have written into a memory are marked, and escaped in JSON, which keeps its value.

import { type HeadState, StoreError, hasCode } from '../../errors.ts'
import { plainMessage, surfaceOf } from '../../operations/error-surface.ts'
import { timestamp, type Wire } from '../../operations/wire.ts'
import { visible, visibleJson } from '../../text/visible.ts'
import { CommandError, type Answer } from '../call/command.ts'
import { doubtFacts } from './doubt.ts'

/** The text for standard output. */
export function answerText(answer: Answer, json: boolean, terminal: boolean): string {
  // A command that has printed lines of its own has no value in addition.
  if (json) return answer.json === undefined ? '' : jsonText(answer.json, terminal)
  return terminal && answer.inked !== true ? visible(answer.text) : answer.text
}

/**
 * The text for standard error when a command fails. Names `store` if it may be the cause. On a
 * terminal, `columns` wide, sentences are broken between words. Hidden characters are always marked
 * in a sentence, and on a terminal escaped in JSON.
 */
export function errorText(
  error: unknown,
  json: boolean,
  store: string | undefined,
  columns?: number,
): string {
  if (json) return jsonText(errorJson(error), columns !== undefined)
  const what = `${messageOf(error)}${whereText(error)}`
  const place = placeOf(error, store)
  const lines = [`gitlocket: ${what}`, ...(place === '' ? [] : [place]), `hint: ${hintOf(error)}`]
  return sentencesText(`${lines.join('\n')}\n`, columns)
}

/** Sentences for standard error. Indented lines and the path of a store are left as they are. */
export function sentencesText(text: string, columns: number | undefined): string {
  const shown = visible(text).toWellFormed()
  // A terminal may not know its width.
  if (columns === undefined || columns === 0) return shown
  const isWhole = (line: string): boolean => line.length <= columns || /^(?: |store: )/.test(line)
  const lines = shown.split('\n').flatMap((line) => (isWhole(line) ? [line] : wrap(line, columns)))
  return lines.join('\n')
}

/**
 * Lines of at most `columns` characters, broken between words; a longer word has its own line. A
 * command in backticks is one word, so that it can be copied.
 */
export function wrap(text: string, columns: number): string[] {
  const lines: string[] = []
  let line = ''
  for (const word of text.match(/(?:`[^`\n]*`|[^ ])+/g) ?? []) {
    if (line !== '' && line.length + 1 + word.length > columns) {
      lines.push(line)
      line = word
    } else {
      line = line === '' ? word : `${line} ${word}`
    }
  }
  return [...lines, line]
}

/** The width of standard error; undefined if it is not a terminal. */
export function stderrColumns(): number | undefined {
  return process.stderr.isTTY ? process.stderr.columns : undefined
}

/** One line. An unpaired surrogate would be escaped, and come back when the line is parsed. */
function jsonText(value: unknown, terminal: boolean): string {
  const text = `${JSON.stringify(value, wellFormed)}\n`
  return terminal ? visibleJson(text) : text
}

function wellFormed(_: string, value: unknown): unknown {
  return typeof value === 'string' ? value.toWellFormed() : value
}

function placeOf(error: unknown, store: string | undefined): string {
  if (error instanceof CommandError && error.place !== undefined) return error.place
  const { exitCode } = surfaceOf(error)
  return store !== undefined && exitCode >= 7 && exitCode <= 12 ? `store: ${store}` : ''
}

/** The error as a JSON value: that of the Memory Stores API (§2), with further facts. */
export function errorJson(error: unknown): Readonly<Record<string, unknown>> {
  return { type: 'error', error: errorFacts(error) }
}

function errorFacts(error: unknown): Readonly<Record<string, unknown>> {
  const { exitCode, type } = surfaceOf(error)
  const code = error instanceof StoreError ? error.code : 'unexpected'
  const details = error instanceof StoreError ? detailsOf(error) : {}
  const facts = error instanceof CommandError ? error.facts : {}
  const message = messageOf(error)
  const detail =
    error instanceof StoreError && error.message !== message ? error.message : undefined
  return {
    type,
    code,
    message,
    hint: hintOf(error),
    exit_code: exitCode,
    detail,
    ...details,
    ...facts,
  }
}

function hintOf(error: unknown): string {
  if (error instanceof CommandError) return error.hint
  const { advice } = surfaceOf(error)
  if (!hasCode(error, 'sensitive_content') || error.details.sha256 === undefined) return advice
  const command = `gitlocket guard allow ${error.details.sha256}`
  return `${advice}. If this is a false alarm, an owner can let this exact text through: ${command}`
}

export function exitCodeOf(error: unknown): number {
  return surfaceOf(error).exitCode
}

function messageOf(error: unknown): string {
  if (error instanceof CommandError) return error.message
  if (error instanceof StoreError) return plainMessage(error)
  // A bug: its text may hold anything, so only its kind is reported.
  const name = error instanceof Error ? error.name : typeof error
  return `Unexpected ${name}; run again with NODE_DEBUG=gitlocket to see it`
}

/** Details that the message does not name: the path, and the lines of several matches. */
function whereText(error: unknown): string {
  if (!(error instanceof StoreError)) return ''
  const { path, lines } = error.details
  const at = path === undefined || error.message.includes(path) ? '' : `: ${path}`
  return lines === undefined || error.message.includes(' in line ')
    ? at
    : `${at}, in lines ${lines.join(', ')}`
}

/** A head that an error or an answer names. */
export function headJson({ commit, height, time, words }: HeadState): Wire {
  const at = time === undefined ? null : timestamp(time)
  return { commit: commit ?? null, height, time: at, words }
}

function detailsOf(error: StoreError): Readonly<Record<string, unknown>> {
  const { memoryId, versionIds, verified, present, doubtful, ...others } = error.details
  return {
    ...others,
    ...(memoryId === undefined ? {} : { memory_id: memoryId }),
    ...(versionIds === undefined ? {} : { memory_version_ids: versionIds }),
    ...(verified === undefined ? {} : { verified: headJson(verified) }),
    ...(present === undefined ? {} : { present: headJson(present) }),
    ...doubtFacts(doubtful),
  }
}
