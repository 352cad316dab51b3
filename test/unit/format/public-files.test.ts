// The two files that a store shows to everybody.

import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { utf8, utf8Text } from '../../../src/bytes.ts'
import { parseStoreFile, readmeFile } from '../../../src/format/public-files.ts'
const text = '{"format":"gitlocket-store/1","store":"memstore_014d2pf2dbsqqg28t5cy4tqkff"}\n'

test('README.md equals the one in the format’s appendix', () => {
  const document = readFileSync(new URL('../../../docs/FORMAT.md', import.meta.url), 'utf8')
  const appendix = document.slice(document.indexOf('## Appendix A'))
  const lines = appendix.split('\n').slice(appendix.split('\n').indexOf('    # gitlocket store'))
  expect(utf8Text(readmeFile)).toBe(
    `${lines
      .map((line) => line.slice(4))
      .join('\n')
      .trimEnd()}\n`,
  )
})

describe('not_a_store:', () => {
  test.each([
    ['null', 'null'],
    ['no format but true', text.replace('"gitlocket-store/1"', 'true')],
  ])('%s', (_, bytes) => {
    expect(() => parseStoreFile(utf8(bytes))).toThrow(
      expect.objectContaining({ code: 'not_a_store' }),
    )
  })
})

const ofStore = (format: string): string => text.replace('"gitlocket-store/1"', format)
test.each([
  '{"format":"gitlocket/2"}',
  ofStore('"gitlocket-store/2"'),
  ofStore('"other"'),
  ofStore('2'),
  ofStore('1'),
  '{"format":1}',
])('%s is upgrade_required', (bytes) => {
  const expected = expect.objectContaining({ code: 'upgrade_required' })
  expect(() => parseStoreFile(utf8(bytes))).toThrow(expected)
})

test('a store of the layout before the frozen one gets advice on how to migrate', () => {
  expect(() => parseStoreFile(utf8(ofStore('1')))).toThrow(/`export` .* `import`/)
})
