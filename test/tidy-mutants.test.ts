// The list of mutants fits the code as it is.

import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { areas } from '../scripts/mutants/list.ts'
import { apply, locate, syncsIn } from '../scripts/mutants/locate.ts'
import { always, type Mutant, never, swap, without } from '../scripts/mutants/mutant.ts'
import { tasks } from '../scripts/mutants/tasks.ts'

describe('the list of mutants', () => {
  test('applies to the code, each entry in one place and no two alike', () => {
    const edits = tasks(fileURLToPath(new URL('..', import.meta.url))).map(({ edit }) => edit)
    expect(new Set(edits.map((edit) => JSON.stringify(edit))).size).toBe(edits.length)
    expect(edits.some(({ file }) => file === 'src/disk/file-sweep.ts')).toBe(true)
  })

  test('names test files that exist, in at most 160 entries', () => {
    const lists = Object.values(areas)
    const files = lists.flatMap((list) => Object.keys(list))
    expect(files.filter((file) => !existsSync(new URL(file, import.meta.url)))).toEqual([])
    expect(lists.flatMap((list) => Object.values(list).flat()).length).toBeLessThanOrEqual(160)
  })
})

const text = `
  function other() { check(1) }
  class Store {
    #run(a: number) {
      check(
        a,
        2,
      )
      if (a > 1 && a < 3) this.#fail(1)
      return a
    }
  }
  const limits = [1, 5]
`

function mutated(mutant: Mutant): string {
  const edit = locate([{ file: 'src/a.ts', text }], mutant)
  return apply(text, edit).replaceAll(/\s+/g, '')
}

describe('a mutant', () => {
  test.each<[mutant: Mutant, before: string, after: string]>([
    [without('run', 'check(a, 2)', ''), 'check(a,2,)if', ';if'],
    [never('run', 'a < 3', ''), 'if(a>1&&a<3)', 'if(false)'],
    [always('run', 'a > 1', ''), 'if(a>1&&a<3)', 'if(true)'],
    [swap('run', ['a > 1 && ', ''], ''), 'a>1&&a<3', 'a<3'],
    [swap('limits', ['5', '6'], ''), '[1,5]', '[1,6]'],
  ])('changes only what it names: %j', (mutant, before, after) => {
    const plain = text.replaceAll(/\s+/g, '')
    expect(plain).toContain(before)
    expect(mutated(mutant)).toBe(plain.replace(before, after))
  })

  test('is refused where its text is missing, or there more than once', () => {
    expect(() => mutated(without('other', 'check(a, 2)', ''))).toThrow('does not contain')
    expect(() => mutated(without('gone', 'check(a, 2)', ''))).toThrow('does not contain')
    expect(() => mutated(swap('run', ['a', 'b'], ''))).toThrow('more than once')
  })
})

test.each<[text: string, after: readonly string[]]>([
  ['await disk.sync(fd)', ['await Promise.resolve()']],
  ['f()\nawait this.#disk.syncDirectory(`${a}/b`)', ['f()\nawait Promise.resolve()']],
  ['await a.sync(b)\nawait syncIfReadable(c)', ['Promise.resolve()\nawait syncIfReadable(c)', '']],
  ['// disk.sync(fd)\nawait store.as(author).sync()', []],
  ['function sync() { g() }', []],
])('each sync is left out alone: %j', (body, after) => {
  const edits = syncsIn({ file: 'src/git/a.ts', text: body })
  expect(edits).toHaveLength(after.length)
  for (const [index, edit] of edits.entries()) expect(apply(body, edit)).toContain(after[index])
})
