// Adding to the text of a JSON file: the new value is present, and nothing else has changed.

import * as fc from 'fast-check'
import { parse } from 'jsonc-parser'
import { describe, expect, test } from 'vitest'
import type { JsonObject } from '../../../src/cli/machine/json.ts'
import { addTo, type Wanted } from '../../../src/cli/setup/json-text.ts'
import { full, seed } from '../../support/seed.ts'

const value: JsonObject = { command: 'gitlocket', args: ['mcp'] }
const wanted: Wanted = { path: ['mcpServers'], name: 'gitlocket', value }

function added(text: string, one: Wanted = wanted): string {
  const result = addTo('the file', text, one)
  if (result === undefined) throw new Error('nothing was added')
  expect(addTo('the file', result.text, one)).toBeUndefined()
  return result.text
}

describe('a file without the object', () => {
  const whole = JSON.stringify({ mcpServers: { gitlocket: value } }, undefined, 2)

  test.each(['', '\n', ' \n'])('that is blank (%j) becomes one with the value', (text) => {
    expect(added(text)).toBe(`${whole}\n`)
  })

  test('that is {} gets lines of its own, and keeps its ending', () => {
    expect(added('{}')).toBe(whole)
    expect(added('{}\n')).toBe(`${whole}\n`)
    expect(added('{\n}\n')).toBe(`${whole}\n`)
  })

  test('keeps its byte-order mark and its line ends', () => {
    const text = added('\u{feff}{\r\n\t"a": 1\r\n}\r\n')
    expect(text.startsWith('\u{feff}{\r\n\t"a": 1,\r\n\t"mcpServers": {\r\n\t\t"gitlocket"')).toBe(
      true,
    )
    expect(text.endsWith('\r\n\t}\r\n}\r\n')).toBe(true)
    expect(text.replaceAll('\r\n', '')).not.toContain('\n')
  })

  test('that is one line is still one line', () => {
    expect(added('{"a":1}')).toBe(`{"a":1, "mcpServers": ${JSON.stringify({ gitlocket: value })}}`)
  })
})

test('comments keep their places, with a trailing comma and without', () => {
  const [before, after] = [
    '{\n  // servers\n  "mcpServers": {\n    "other": { "command": "x" }',
    ' // of mine\n    /* none\n       more */\n  },\n  "last": 1, // end\n}\n',
  ]
  const [shown, rest] = [
    ' // of mine\n    /* none\n       more */',
    '\n  },\n  "last": 1, // end\n}\n',
  ]
  const lines = JSON.stringify({ gitlocket: value }, undefined, 2).split('\n').slice(1, -1)
  const block = lines.map((line) => `\n  ${line}`).join('')
  expect(added(before + after)).toBe(`${before},${shown}${block}${rest}`)
  expect(added(`${before},${after}`)).toBe(`${before},${shown}${block}${rest}`)
})

test('a line comment before the end of one line does not swallow the new value', () => {
  const text = added('{"mcpServers": {"a": {} // mine\n}}')
  expect(parse(text)).toEqual({ mcpServers: { a: {}, gitlocket: value } })
})

describe('a file that already has the value', () => {
  test.each([
    ['as it is', value],
    ['with more in it', { ...value, type: 'stdio', env: {} }],
  ])('%s needs nothing', (_, present) => {
    const text = JSON.stringify({ mcpServers: { gitlocket: present } })
    expect(addTo('the file', text, wanted)).toBeUndefined()
  })

  test('as an item of a list needs nothing, and another entry in its place is refused', () => {
    const item: Wanted = {
      path: ['inputs'],
      value: { id: 'key', password: true },
      judge: ({ id, password }) => {
        return id !== 'key' ? undefined : password === true ? 'same' : 'other'
      },
    }
    expect(addTo('the file', '{"inputs": [{"id": "key", "password": true}]}', item)).toBeUndefined()
    expect(parse(added('{"inputs": [1, {"id": "a"}]}', item))).toEqual({
      inputs: [1, { id: 'a' }, item.value],
    })
    expect(() => addTo('the file', '{"inputs": [{"id": "key"}]}', item)).toThrow('another one')
    expect(() => addTo('the file', '{"inputs": {}}', item)).toThrow('its "inputs" is no list')
  })
})

test.each([
  ['{', 'it is not valid JSON'],
  ['{"a" 1}', 'it is not valid JSON'],
  ['{} {}', 'it is not valid JSON'],
  ['{"a": 1', 'it is not valid JSON'],
  ['{"secret": "s3cr3t", }, x', 'it is not valid JSON'],
  ["{'a': 1}", 'it is not valid JSON'],
  ['// only a comment', 'it is not valid JSON'],
  ['[]', 'it holds no JSON object'],
  ['null', 'it holds no JSON object'],
  ['"{}"', 'it holds no JSON object'],
  ['{"mcpServers": []}', 'its "mcpServers" is no object'],
  ['{"mcpServers": null}', 'its "mcpServers" is no object'],
  ['{"mcpServers": {}, "mcpServers": {}}', 'it has "mcpServers" twice'],
  [String.raw`{"mcpServers": {}, "mcp\u0053ervers": {}}`, 'it has "mcpServers" twice'],
  ['{"mcpServers": {"gitlocket": 1, "gitlocket": 2}}', 'it has "gitlocket" twice'],
  ['{"mcpServers": {"gitlocket": {"command": "s3cr3t"}}}', 'it has another "gitlocket"'],
  ['{"mcpServers": {"gitlocket": {"command": "gitlocket", "args": []}}}', 'another "gitlocket"'],
  ['{"mcpServers": {"gitlocket": null}}', 'it has another "gitlocket"'],
])('refuses %s', (text, problem) => {
  const attempt = (): unknown => addTo('the file', text, wanted)
  expect(attempt).toThrow(problem)
  expect(attempt).not.toThrow('s3cr3t')
})

test('refuses values that are nested too deeply', () => {
  expect(() => addTo('the file', '['.repeat(200_000), wanted)).toThrow('nested too deeply')
})

test('names that objects inherit are names like others', () => {
  const text = '{"__proto__": {"mcpServers": []}, "constructor": {}}'
  expect(Object.keys(parse(added(text)))).toContain('mcpServers')
  const own: Wanted = { path: ['toString'], name: 'valueOf', value }
  expect(added('{}', own)).toContain('"valueOf"')
})

test('changes nothing in any file but the new value', () => {
  const spaces = fc.constantFrom('', ' ', '\n', '\r\n  ', '\t', ' /* c */ ', ' // c\n')
  const other = fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 2 }), { maxKeys: 3 })
  const inner = fc.option(other, { nil: undefined })
  const file = fc.record({ outer: other, inner, indent: fc.constantFrom(0, 2, 4, '\t') })
  const property = fc.property(file, spaces, spaces, ({ outer, inner: servers, indent }, a, b) => {
    const clean = without(outer, 'mcpServers')
    const held = servers === undefined ? {} : { mcpServers: without(servers, 'gitlocket') }
    const document = { ...clean, ...held }
    const text = a + JSON.stringify(document, undefined, indent).replace(/\}$/, `${b}}`)
    const result = added(text)
    expect(parse(result)).toEqual({
      ...parse(text),
      mcpServers: { ...held.mcpServers, gitlocket: value },
    })
    expect(isWithin(text, result)).toBe(true)
  })
  fc.assert(property, { seed, numRuns: full ? 5000 : 300 })
})

function without(object: Readonly<Record<string, unknown>>, name: string): object {
  return Object.fromEntries(
    Object.entries(object).filter(([key]) => key !== name && key !== '__proto__'),
  )
}

/** Whether all characters of `text` are in `longer`, in their order. */
function isWithin(text: string, longer: string): boolean {
  let at = 0
  for (const unit of longer) if (text.startsWith(unit, at)) at += unit.length
  return at === text.length
}
