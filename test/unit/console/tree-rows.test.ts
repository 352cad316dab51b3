// The rows of the console's trees.

import { describe, expect, it } from 'vitest'
import { parentOf, type TreeItem, treeRows } from '../../../src/console/client/parts/tree-rows.ts'

function change(memoryId: string, path?: string, rest: Partial<TreeItem> = {}): TreeItem {
  return { memoryId, path, operation: 'modified', ...rest }
}

function drawn(changes: readonly TreeItem[], closed: readonly string[] = []): readonly string[] {
  return treeRows(changes, (key) => !closed.includes(key)).map((row) => {
    const place = `${row.level}.${row.position}/${row.siblings}`
    return row.kind === 'folder'
      ? `${place} ${row.name}/ (${row.memories})`
      : `${place} ${row.name} ${row.key}`
  })
}

describe('rows of a tree of memories', () => {
  it('have folders first, each with the number of changes below it', () => {
    const changes = [change('m1', '/z.md'), change('m2', '/a/b/y.md'), change('m3', '/a/x.md')]
    expect(drawn(changes)).toEqual([
      '1.1/2 a/ (2)',
      '2.1/2 b/ (1)',
      '3.1/1 y.md m2',
      '2.2/2 x.md m3',
      '1.2/2 z.md m1',
    ])
  })

  it('leave out the contents of a closed folder, and of no other with its name', () => {
    const changes = [change('m1', '/a/a/x.md'), change('m2', '/a/y.md')]
    expect(drawn(changes, ['/a/a'])).toEqual(['1.1/1 a/ (2)', '2.1/2 a/ (1)', '2.2/2 y.md m2'])
    expect(drawn(changes, ['/a'])).toEqual(['1.1/1 a/ (2)'])
  })

  it('hold a path that is a memory and a folder at once', () => {
    const changes = [change('m1', '/a', { operation: 'deleted' }), change('m2', '/a/b')]
    expect(drawn(changes)).toEqual(['1.1/2 a/ (1)', '2.1/1 b m2', '1.2/2 a m1'])
  })

  it('put the deleted one of two memories of a path first', () => {
    const changes = [
      change('m1', '/a', { operation: 'created' }),
      change('m2', '/a', { operation: 'deleted' }),
    ]
    expect(drawn(changes)).toEqual(['1.1/2 a m2', '1.2/2 a m1'])
  })

  it('end with the memories whose path is redacted', () => {
    expect(drawn([change('a'), change('m2', '/z')])).toEqual(['1.1/2 z m2', '1.2/2 a a'])
  })

  it('are in code-unit order, for all names', () => {
    const names = ['/__proto__', '/Z', '/a', '/é', '/ ']
    expect(drawn(names.map((name, at) => change(`m${at}`, name)))).toEqual([
      '1.1/5   m4',
      '1.2/5 Z m1',
      '1.3/5 __proto__ m0',
      '1.4/5 a m2',
      '1.5/5 é m3',
    ])
  })

  it('know the folder that they are in', () => {
    const rows = treeRows([change('m1', '/a/b/y'), change('m2', '/a/x')], () => true)
    expect(rows.map((_, index) => parentOf(rows, index))).toEqual([-1, 0, 1, 0])
  })
})
