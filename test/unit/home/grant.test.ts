// The grant that environment variables name, and the directory of its clone.

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { cloneNameOf, findGrant } from '../../../src/home/grant.ts'
import { formatGrant } from '../../../src/keys/wraps.ts'
import { sharedDirectory } from '../../support/temporary.ts'

const url = 'https://git.example.com/store.git'
const remote = { GITLOCKET_REMOTE: url }

function textOf(storeId: string, secret: number): string {
  return formatGrant({
    storeId,
    granterKey: new Uint8Array(32).fill(2),
    name: '03'.repeat(16),
    secret: new Uint8Array(32).fill(secret),
  })
}

const grant = textOf('01'.repeat(16), 4)

const directory = sharedDirectory()

function fileWith(text: string): string {
  const file = join(directory, `grant-${text.length}`)
  writeFileSync(file, text)
  return file
}

test('none is named by variables of other things', () => {
  expect(findGrant({})).toBeUndefined()
  expect(findGrant(remote)).toBeUndefined()
  expect(findGrant({ GITLOCKET_GRANT: '', GITLOCKET_GRANT_FILE: '' })).toBeUndefined()
  expect(findGrant({ GITLOCKET_FULL: '1' })).toBeUndefined()
})

test.each([
  ['a text', { GITLOCKET_GRANT: ` ${grant}\n` }],
  ['a file', { GITLOCKET_GRANT_FILE: fileWith(`${grant}\n`) }],
  ['a file next to an empty text', { GITLOCKET_GRANT: '', GITLOCKET_GRANT_FILE: fileWith(grant) }],
])('is found in %s', (_, variables) => {
  expect(findGrant({ ...remote, ...variables })).toEqual({ grant, url, full: false })
})

test.each<[value: string, full: boolean]>([
  ['1', true],
  ['0', false],
  ['', false],
  ['true', false],
])('begins with the whole history only if the variable for that is 1, not %j', (value, full) => {
  const variables = { ...remote, GITLOCKET_GRANT: grant, GITLOCKET_FULL: value }
  expect(findGrant(variables)?.full).toBe(full)
})

test.each<[text: string | undefined, maxAgeMs: number | undefined]>([
  [undefined, undefined],
  ['', undefined],
  ['36h', 36 * 3_600_000],
  [' 7d ', 7 * 86_400_000],
])('accepts a state of an age up to that of a variable, %j', (text, maxAgeMs) => {
  const variables = { ...remote, GITLOCKET_GRANT: grant, GITLOCKET_MAX_AGE: text }
  expect(findGrant(variables)?.maxAgeMs).toBe(maxAgeMs)
})

test.each(['0h', '36', 'yesterday', '-1d', '1.5d'])('refuses the age %j', (text) => {
  const variables = { ...remote, GITLOCKET_GRANT: grant, GITLOCKET_MAX_AGE: text }
  expect(() => findGrant(variables)).toThrow(/GITLOCKET_MAX_AGE must be a duration/)
})

test.each<[what: string, variables: Record<string, string>, message: RegExp]>([
  [
    'a text and a file',
    { ...remote, GITLOCKET_GRANT: grant, GITLOCKET_GRANT_FILE: fileWith(grant) },
    /not both/,
  ],
  ['no address', { GITLOCKET_GRANT: grant }, /set GITLOCKET_REMOTE/],
  ['an empty address', { GITLOCKET_GRANT: grant, GITLOCKET_REMOTE: '' }, /set GITLOCKET_REMOTE/],
  ['an empty text with an address', { ...remote, GITLOCKET_GRANT: '' }, /GITLOCKET_GRANT is empty/],
  [
    'a file that does not exist',
    { ...remote, GITLOCKET_GRANT_FILE: '/nowhere/grant' },
    /no file with a grant at \/nowhere\/grant/,
  ],
])('is refused with %s, and the text is not shown', (_, variables, message) => {
  let refusal: unknown
  try {
    findGrant(variables)
  } catch (error) {
    refusal = error
  }
  expect(refusal).toMatchObject({
    code: 'invalid_input',
    message: expect.stringMatching(message),
  })
  expect(String(refusal)).not.toContain(grant.slice(40, 60))
})

test('clones of two grants have names of their own, which hold nothing of the secret', () => {
  const grants = [grant, textOf('01'.repeat(16), 5), textOf('06'.repeat(16), 4)]
  const names = grants.map((one) => cloneNameOf({ grant: one }))
  expect(new Set(names).size).toBe(3)
  for (const name of names) expect(name).toMatch(/^[0-9a-z]{26}-[0-9a-z]{6}$/)
  expect(names[1]?.slice(0, 26)).toBe(names[0]?.slice(0, 26))
  expect(names[2]?.slice(0, 26)).not.toBe(names[0]?.slice(0, 26))
  // As people may write it.
  const spaced = grant.toLowerCase().replaceAll(/(.{8})/g, '$1 ')
  expect(cloneNameOf({ grant: spaced })).toBe(names[0])
})
