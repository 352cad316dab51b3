// What users read when something fails: short, and without the nouns of the format and the code.

import { readFileSync, readdirSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { errorText } from '../../../src/cli/terminal/output.ts'
import { type ErrorCode, StoreError } from '../../../src/errors.ts'
import { errorSurface, plainMessage } from '../../../src/operations/error-surface.ts'

/** Three lines of 100 columns, after `gitlocket: ` or `hint: `. */
const LENGTH_MAX = 289
const internal =
  /\b(?:archive|envelope|epoch|hedge|keyring|oid|row|segment|slot|snapshot|blob|detail)s?\b/i

const root = fileURLToPath(new URL('../../../src/', import.meta.url))
const files = readdirSync(root, { recursive: true, encoding: 'utf8' })
const sources = files.filter((file) => file.endsWith('.ts'))

/** The codes of checks that failed, whose messages `plainMessage` replaces. */
function isTechnical(code: string): boolean {
  if (!isErrorCode(code)) return false
  return plainMessage(new StoreError(code, 'the message')) !== 'the message'
}

function isErrorCode(code: string): code is ErrorCode {
  return Object.hasOwn(errorSurface, code)
}

/** The literal texts of the errors that a source makes, with their codes. */
function messagesOf(source: string): readonly (readonly [code: string, message: string])[] {
  const made = source.matchAll(/(?:StoreError|CommandError)\(\s*'(\w+)',([^]*?)\)(?:\n|;)/g)
  return [...made].flatMap(([, code = '', rest = '']) => {
    const [argument = ''] = rest.split(/,\n\s*(?!['`])/)
    const texts = argument.matchAll(/'((?:[^'\\]|\\.)*)'|`((?:[^`\\]|\\.)*)`/g)
    const pieces = [...texts].map(
      ([, plain, template = '']) => plain ?? template.replaceAll(/\$\{.*?\}/g, '…'),
    )
    const message = pieces.join('')
    return isTechnical(code) ? [] : [[code, message] as const]
  })
}

const messages = sources.flatMap((file) => {
  return messagesOf(readFileSync(root + file, 'utf8')).map((one) => [file, ...one] as const)
})

test('every message of an error fits three lines', () => {
  expect(messages.length).toBeGreaterThan(200)
  expect(messages.filter(([, , message]) => message.length > LENGTH_MAX)).toEqual([])
})

test('every advice fits three lines', () => {
  const long = Object.entries(errorSurface).filter(([, row]) => row.advice.length > LENGTH_MAX)
  expect(long).toEqual([])
})

test('no message names an internal noun', () => {
  expect(messages.filter(([, , message]) => internal.test(message))).toEqual([])
})

test('words a failed check plainly, and keeps its details for JSON', () => {
  const details = { commit: 'a'.repeat(40) }
  const error = new StoreError('keyring_chain', 'The archives do not agree', { details })
  const text = errorText(error, false, undefined)
  expect(text.split('\n')).toEqual([
    'gitlocket: The store does not verify: it is damaged, or someone has changed it ' +
      '(keyring_chain, at the commit aaaaaaaaaaaa)',
    expect.stringContaining('hint: Do not use this copy'),
    '',
  ])
  const json = JSON.parse(errorText(error, true, undefined))
  expect(json.error).toMatchObject({ code: 'keyring_chain', detail: 'The archives do not agree' })
})
