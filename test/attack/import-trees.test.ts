// T67: the tree of an import, while another user replaces files and directories in it by links and
// pipes.

import { execFileSync } from 'node:child_process'
import { mkdirSync, renameSync, rmSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, describe, expect, test } from 'vitest'
import { findTree, readInTree, readNamedFile, type TreeRule } from '../../src/cli/import/tree.ts'
import { temporaryDirectory } from '../support/temporary.ts'

let root = ''
let secret = ''

beforeEach(() => {
  const place = temporaryDirectory()
  root = join(place, 'root')
  secret = join(place, 'secret')
  for (const [file, text] of [
    [join(root, 'a/b/c.md'), 'mine'],
    [join(root, 'z.md'), 'mine'],
    [join(secret, 'c.md'), 'secret'],
    [join(secret, 'b/c.md'), 'secret'],
  ] as const) {
    mkdirSync(join(file, '..'), { recursive: true })
    writeFileSync(file, text)
  }
})

/** Puts a link to the secret in the place of `name`. */
function replace(name: string, target: string): void {
  renameSync(join(root, name), join(root, '..', `moved-${name.replaceAll('/', '-')}`))
  symlinkSync(target, join(root, name))
}

function read(name: string): string {
  return Buffer.from(readInTree(root, name, 100)).toString()
}

const all: TreeRule = () => undefined

describe('findTree', () => {
  test('finds files below directories', async () => {
    const tree = await findTree(root, all, undefined)
    expect(tree).toEqual({ files: ['a/b/c.md', 'z.md'], leftOut: [], unsuitable: [] })
    expect(tree.files.map(read)).toEqual(['mine', 'mine'])
  })

  test('enters no directory that has become a link since it was listed', async () => {
    const swapping: TreeRule = (name) => void (name === 'b' && replace('a/b', secret))
    const { files, unsuitable } = await findTree(root, swapping, undefined)
    expect(files).toEqual(['z.md'])
    expect(unsuitable).toEqual([{ origin: join(root, 'a/b'), reason: expect.any(String) }])
  })

  // Other systems have no names for entries below an open directory.
  test.runIf(process.platform === 'linux')('stays in a directory that was moved away', async () => {
    writeFileSync(join(secret, 'b/other.md'), 'secret')
    const swapping: TreeRule = (name) => void (name === 'b' && replace('a', secret))
    const { files } = await findTree(root, swapping, undefined)
    expect(files).toEqual(['a/b/c.md', 'z.md'])
    expect(() => read('a/b/c.md')).toThrow('not a directory')
  })

  test('ends when it is cancelled', async () => {
    for (let index = 0; index < 200; index += 1) mkdirSync(join(root, `${index}`))
    const stop = new AbortController()
    const slow: TreeRule = () => {
      stop.abort()
      // Longer than a slice.
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 11)
    }
    await expect(findTree(root, slow, stop.signal)).rejects.toMatchObject({ code: 'cancelled' })
  })

  test('a root that is missing, or is not a directory', async () => {
    for (const name of ['missing', 'z.md']) {
      await expect(findTree(join(root, name), all, undefined)).rejects.toMatchObject({
        code: 'invalid_input',
        message: expect.stringContaining(join(root, name)),
      })
    }
  })

  test('a name that is not UTF-8 is refused, and nothing else', async () => {
    const name = Buffer.concat([Buffer.from(`${root}/`), Buffer.from([0x66, 0xff])])
    writeFileSync(name, 'text')
    const { files, unsuitable } = await findTree(root, all, undefined)
    expect(files).toHaveLength(2)
    expect(unsuitable).toEqual([{ origin: expect.any(String), reason: 'its name is not UTF-8' }])
  })
})

describe('readInTree', () => {
  test.each(['z.md', 'a/b/c.md', 'a/b', 'a'])('refuses a link in the place of %s', (name) => {
    const file = name.endsWith('.md')
    replace(name, file ? join(secret, 'c.md') : secret)
    expect(() => read(file ? name : 'a/b/c.md')).toThrow(/symbolic link|not a directory/)
  })

  test('refuses a pipe without waiting for its writer, and a directory', () => {
    rmSync(join(root, 'z.md'))
    execFileSync('mkfifo', [join(root, 'z.md')])
    expect(() => read('z.md')).toThrow('not a regular file')
    expect(() => readNamedFile(join(root, 'z.md'), 10)).toThrow('not a regular file')
    expect(() => read('a/b')).toThrow('not a regular file')
  })

  test('reads no more of a file than one byte over the limit', () => {
    truncateSync(join(root, 'z.md'), 2 ** 40)
    expect(readInTree(root, 'z.md', 1000)).toHaveLength(1001)
    expect(readNamedFile(join(root, 'z.md'), 1000)).toHaveLength(1001)
  })

  test('follows links that the user has named', () => {
    symlinkSync(root, join(root, '../named'))
    expect(Buffer.from(readInTree(join(root, '../named'), 'z.md', 10)).toString()).toBe('mine')
  })
})
