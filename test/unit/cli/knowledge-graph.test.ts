// The file of the MCP memory server: what its lines say, in any order, and which are damaged.

import { describe, expect, test } from 'vitest'
import { utf8 } from '../../../src/bytes.ts'
import { parseGraph } from '../../../src/cli/import/mcp-memory.ts'

const ada = { type: 'entity', name: 'Ada', entityType: 'person', observations: ['writes'] }
const knows = { type: 'relation', from: 'Ada', to: 'Bob', relationType: 'knows' }

function parse(...lines: readonly unknown[]): ReturnType<typeof parseGraph> {
  const texts = lines.map((line) => (typeof line === 'string' ? line : JSON.stringify(line)))
  return parseGraph(utf8(texts.join('\n')))
}

describe('parseGraph', () => {
  test('entities and relations, with empty lines between and none at the end', () => {
    expect(parse(ada, '', ' \r', knows)).toEqual({
      entities: [{ name: 'Ada', types: ['person'], observations: ['writes'], line: 1 }],
      relations: [{ from: 'Ada', to: 'Bob', type: 'knows' }],
      damaged: [],
    })
    expect(parse()).toEqual({ entities: [], relations: [], damaged: [] })
  })

  test('two lines of one name are one entity, and a relation is listed once', () => {
    const twin = { ...ada, entityType: 'author', observations: ['writes', 'reads'] }
    const graph = parse(ada, knows, twin, knows)
    expect(graph.entities).toEqual([
      { name: 'Ada', types: ['person', 'author'], observations: ['writes', 'reads'], line: 1 },
    ])
    expect(graph.relations).toHaveLength(1)
  })

  test.each<[what: string, value: Readonly<Record<string, unknown>>]>([
    ['no type', { ...ada, type: undefined }],
    ['_type', { ...ada, type: undefined, _type: 'entity' }],
    ['another type', { ...ada, type: 'person' }],
    ['more fields', { ...ada, weight: 3 }],
    ['observations with a time', { ...ada, observations: [{ text: 'writes', timestamp: 'x' }] }],
    ['observations with a content', { ...ada, observations: [{ content: 'writes' }] }],
  ])('an entity with %s is plainly one', (_, value) => {
    expect(parse(value)).toEqual(parse(ada))
  })

  test.each([
    { ...knows, type: undefined },
    { ...knows, type: undefined, _type: 'relation' },
  ])('a relation such as %j is plainly one', (value) => {
    expect(parse(ada, value)).toEqual(parse(ada, knows))
  })

  test('the order of relations in the file does not matter', () => {
    const other = { ...knows, relationType: 'admires' }
    expect(parse(knows, other).relations).toEqual(parse(other, knows).relations)
  })

  test.each<[unknown, string]>([
    ['{"type":"entity","name":"Ad', 'not JSON'],
    ['null', 'neither an entity nor a relation'],
    ['["entity"]', 'neither an entity nor a relation'],
    [{ type: 'observation' }, 'neither an entity nor a relation'],
    [{ ...ada, name: 7 }, 'an entity without a name, a type and a list of observations in text'],
    [
      { ...ada, observations: 'x' },
      'an entity without a name, a type and a list of observations in text',
    ],
    [
      { ...ada, observations: [{}] },
      'an entity without a name, a type and a list of observations in text',
    ],
    [{ ...knows, to: null }, 'a relation without two names and a type in text'],
    [
      '{"type":"relation","from":"\\ud800","to":"b","relationType":"c"}',
      'a relation without two names and a type in text',
    ],
  ])('%j is damaged, and the lines around it are not', (line, reason) => {
    const { entities, relations, damaged } = parse(ada, line, knows)
    expect(damaged).toEqual([{ line: 2, reason }])
    expect([entities.length, relations.length]).toEqual([1, 1])
  })

  test('a line that is not UTF-8 is damaged alone', () => {
    const bytes = Buffer.concat([
      Buffer.from([0x22, 0xff, 0x22, 0x0a]),
      Buffer.from(JSON.stringify(ada)),
    ])
    const { entities, damaged } = parseGraph(bytes)
    expect(damaged).toEqual([{ line: 1, reason: 'not UTF-8 text' }])
    expect(entities[0]).toMatchObject({ line: 2 })
  })
})
