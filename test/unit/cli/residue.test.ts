// What the proof of absence prints, and whether that is a success.

import { expect, test } from 'vitest'
import { residueExitCode, residueJson, residueLines } from '../../../src/cli/store/residue.ts'

const terminal = { input: false, output: false, errors: false, capable: false }
const pipe = {
  environment: { terminal: { ...terminal, columns: 80, width: 80 } },
  exactTimes: true,
  clock: () => 0,
}
const searched = { versions: 1, objects: 9, journalBytes: 0, cached: 2, pending: 0, putAside: 0 }
const nothing = { ...searched, found: [], builtOnRedacted: [], textsOutside: [] }
const suspect = {
  memoryId: 'mem_0',
  versionId: 'memver_1',
  path: '/key.md',
  redactedVersionIds: ['memver_0'],
}

test('nothing is left', () => {
  expect(residueLines(pipe, nothing)[0]).toMatch(/for 1 redacted version: nothing is left$/)
  expect(residueExitCode(nothing)).toBe(0)
})

test('versions that may hold a text are named, and are no success', () => {
  const found = { ...nothing, builtOnRedacted: [suspect] }
  const text = residueLines(pipe, found).join('\n')
  expect(text).not.toMatch(/nothing is left$/m)
  expect(text).toMatch(/\/key.md\tmemver_1\n.*redact --with-copies memver_0`/)
  expect(residueExitCode(found)).toBe(11)
  expect(residueJson(found)).toMatchObject({
    built_on_redacted: [{ memory_version_id: 'memver_1', redacted_version_ids: ['memver_0'] }],
  })
})

test('a remaining object is named in addition to them', () => {
  const left = { place: 'object', objectId: 'ab', versionId: 'memver_0' } as const
  const text = residueLines(pipe, { ...nothing, found: [left], builtOnRedacted: [suspect] }).join(
    '\n',
  )
  expect(text).toMatch(
    /FOUND in 1 place\n {2}object ab memver_0\n1 version may repeat redacted text/,
  )
})
