import { describe, expect, test } from 'vitest'
import { utf8 } from '../../../src/bytes.ts'
import { hasCode } from '../../../src/errors.ts'
import {
  decodeTree,
  encodeTree,
  findTreeEntry,
  newObject,
  type TreeEntry,
} from '../../../src/git/objects/object.ts'
import { git, temporaryDirectory } from '../../support/temporary.ts'

const oid = 'ab'.repeat(20)

function file(name: string): TreeEntry {
  return { mode: '100644', name, oid }
}

function directory(name: string): TreeEntry {
  return { mode: '40000', name, oid }
}

function rawTree(...entries: readonly string[]): Uint8Array {
  const parts = entries.map((entry) => [Buffer.from(`${entry}\0`), Buffer.from(oid, 'hex')])
  return Buffer.concat(parts.flat())
}

describe('newObject', () => {
  test('names objects as git hash-object does', () => {
    const where = temporaryDirectory()
    for (const text of ['', 'a', 'tree 0\nnothing more\n']) {
      const expected = git(['hash-object', '-t', 'commit', '--literally', '--stdin'], where, text)
      expect(newObject('commit', utf8(text)).oid).toBe(expected.trim())
    }
  })
})

describe('encodeTree and decodeTree', () => {
  test('agree with git mktree on names whose order depends on the slash of a directory', () => {
    const where = temporaryDirectory()
    git(['init', '--quiet', '--bare', '.'], where)
    const entries = [file('m.b'), directory('m'), file('m0'), file('m-a'), file('README.md')]
    const lines = entries.map(({ mode, name }) => {
      return `${mode === '40000' ? '040000 tree' : '100644 blob'} ${oid}\t${name}`
    })
    const expected = git(['mktree', '--missing'], where, `${lines.join('\n')}\n`)
    expect(newObject('tree', encodeTree(entries)).oid).toBe(expected.trim())
  })

  test('decode what they encode, in git order', () => {
    const names = decodeTree(encodeTree([file('b'), directory('a'), file('a.b')]))
    expect(names).toEqual([file('a.b'), directory('a'), file('b')])
    expect(decodeTree(encodeTree([]))).toEqual([])
  })

  test.each([
    ['an executable', rawTree('100755 a')],
    ['a symbolic link', rawTree('120000 a')],
    ['a submodule', rawTree('160000 a')],
    ['a mode with a leading zero', rawTree('040000 a')],
    ['an empty name', rawTree('100644 ')],
    ['a name with a slash', rawTree('100644 a/b')],
    ['a name that starts with a dot', rawTree('100644 .git')],
    ['a short name of .git', rawTree('100644 git~1')],
    ['a name beyond ASCII', rawTree('100644 .g\u200cit')],
    ['a name twice', rawTree('100644 a', '100644 a')],
    ['a file and a directory of one name', rawTree('100644 a', '100644 a.b', '40000 a')],
    ['names out of order', rawTree('100644 b', '100644 a')],
    ['a directory where a file would be', rawTree('40000 a', '100644 a.b')],
    ['a cut oid', rawTree('100644 a').subarray(0, -1)],
    ['a cut name', utf8('100644 a')],
    ['a cut mode', utf8('100644')],
  ])('refuse %s', (_, body) => {
    expect(() => decodeTree(body)).toThrow(expect.toSatisfy((e) => hasCode(e, 'object_corrupt')))
  })

  test.each(['a'.repeat(39), 'a'.repeat(41), `${'a'.repeat(39)}g`, ''])(
    'refuse to write the oid %j',
    (wrong) => {
      expect(() => encodeTree([{ ...file('a'), oid: wrong }])).toThrow('Internal error')
    },
  )

  test('refuse to write a name twice', () => {
    expect(() => encodeTree([file('a'), directory('a')])).toThrow('Internal error')
  })
})

describe('findTreeEntry', () => {
  const body = encodeTree([file('a'), file('a.b'), directory('c'), file('ca')])

  test.each([
    ['100644', 'a'],
    ['100644', 'a.b'],
    ['40000', 'c'],
    ['100644', 'ca'],
  ] as const)('finds %s %s', (mode, name) => {
    expect(findTreeEntry(body, mode, name)).toBe(oid)
  })

  test.each([
    ['40000', 'a'],
    ['100644', 'c'],
    ['100644', 'a.'],
    ['100644', 'a.bc'],
    ['40000', ''],
  ] as const)('finds no %s %s', (mode, name) => {
    expect(findTreeEntry(body, mode, name)).toBeUndefined()
  })

  test('finds nothing in an entry that is cut', () => {
    for (let end = 0; end < 'a 100644'.length + 21; end += 1) {
      expect(findTreeEntry(encodeTree([file('a')]).subarray(0, end), '100644', 'a')).toBeUndefined()
    }
  })
})
