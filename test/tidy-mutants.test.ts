// The kept list of mutants fits the code as it is, and has each call that makes something durable.

import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { areas } from '../scripts/mutants/areas.ts'
import type { MutatedFile } from '../scripts/mutants/mutant.ts'
import { mutate } from './support/mutant.ts'
import { git } from './support/temporary.ts'
import { durabilityLaw } from './tidy/durability.ts'
import { sourceFile } from './tidy/source.ts'

const root = fileURLToPath(new URL('..', import.meta.url))
const paths = git(['ls-files', '--cached', '--others', '--exclude-standard', '-z'], root)
  .split('\0')
  .filter((path) => path !== '' && existsSync(join(root, path)))
const sources = paths
  .filter((path) => /^src\/.*\.ts$/.test(path))
  .map((path) => sourceFile(path, read(path)))

function read(path: string): string {
  return readFileSync(join(root, path), 'utf8')
}

describe('the kept list of mutants', () => {
  const listed = Object.values(areas).flat()
  const mutations = listed.flatMap(({ file, mutants }) => {
    return mutants.map((mutant) => ({ ...mutant, file: `src/${file}` }))
  })

  test('applies to the code as it is, each entry in one place', () => {
    const problems = mutations.flatMap((mutation) => {
      if (!paths.includes(mutation.file)) return [`${mutation.file} does not exist`]
      try {
        return mutate(read(mutation.file), mutation) === read(mutation.file) ? mutation.line : []
      } catch (error) {
        return String(error)
      }
    })
    expect(problems).toEqual([])
  })

  test('names test files that exist, and no defect twice', () => {
    expect(mutations.filter(({ test: file }) => !paths.includes(`test/${file}`))).toEqual([])
    const defects = mutations.map(({ file, line, becomes }) => [file, line, becomes].join('\n'))
    expect(new Set(defects).size).toBe(defects.length)
  })

  test('refuses a line that is missing, or there twice', () => {
    const mutation = { file: 'a.ts', line: 'x', becomes: 'y' }
    expect(mutate('axb', mutation)).toBe('ayb')
    expect(() => mutate('abc', mutation)).toThrow('does not hold')
    expect(() => mutate('xx', mutation)).toThrow('more than once')
  })
})

describe('every sync in git/ and store/', () => {
  const path = 'src/git/a.ts'
  const mutants = (line: string, becomes = ''): readonly MutatedFile[] => {
    return [{ file: 'git/a.ts', mutants: [{ line, becomes, test: '', name: '' }] }]
  }

  test('is taken out alone by a mutant of the kept list', () => {
    const listed = Object.values(areas).flat()
    expect(sources.flatMap((file) => durabilityLaw(file, listed))).toEqual([])
    expect(listed.filter(({ file }) => file === 'git/pack/pack-file.ts')).not.toEqual([])
  })

  test.each<[text: string, listed: readonly MutatedFile[]]>([
    ['await disk.sync(fd)', []],
    [
      'await this.#disk.syncDirectory(`${directory}/refs`)',
      mutants('await this.#disk', 'void this'),
    ],
    ['f()\nawait sweep.sync()', mutants('f()')],
    ['await sweep.sync()', mutants('await sweep.sync()', 'await file.sync()')],
    ['await a.sync(b)\nawait c.scrub()', mutants('await a.sync(b)\nawait c.scrub()')],
  ])('is asked for: %s', (text, listed) => {
    const found = durabilityLaw(sourceFile(path, text), listed)
    expect(found).not.toEqual([])
    expect(found[0]).toMatch(/^src\/git\/a.ts:\d: list a mutant/)
  })

  test.each<[text: string, listed: readonly MutatedFile[]]>([
    ['await disk.sync(fd)', mutants('await disk.sync(fd)')],
    ['f()\nawait journal.harden()', mutants('f()\nawait journal.harden()', 'f()')],
    ['// disk.sync(fd)\nawait store.as(author).sync()', []],
  ])('is no more than that: %s', (text, listed) => {
    expect(durabilityLaw(sourceFile(path, text), listed)).toEqual([])
    expect(durabilityLaw(sourceFile('src/cli/a.ts', 'disk.sync(fd)'), [])).toEqual([])
  })
})
