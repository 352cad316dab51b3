// Patches: `git apply` yields the new state for any texts and paths.

import { spawnSync } from 'node:child_process'
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { array, assert, boolean, constantFrom, property, tuple } from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type Ink, plainInk } from '../../../src/cli/terminal/ink.ts'
import {
  nameOf,
  paintPatch,
  patchText,
  statText,
  type TextChange,
} from '../../../src/cli/text/patch-text.ts'
import { full, seed } from '../../support/seed.ts'
import { temporaryDirectory } from '../../support/temporary.ts'
import { requires } from '../../support/tools.ts'

const git = requires('git')

function change(before?: [string, string], after?: [string, string]): TextChange {
  const side = (state: [string, string] | undefined): TextChange['before'] =>
    state === undefined ? undefined : { path: state[0], content: state[1] }
  return { before: side(before), after: side(after) }
}

/** The files after `git apply`. */
function apply(patch: string, { before }: TextChange): Readonly<Record<string, string>> {
  const directory = temporaryDirectory()
  if (before !== undefined) {
    mkdirSync(dirname(join(directory, before.path)), { recursive: true })
    writeFileSync(join(directory, before.path), before.content)
  }
  const { status, stderr } = spawnSync('git', ['apply', '--whitespace=nowarn', '-'], {
    cwd: directory,
    input: patch,
    encoding: 'utf8',
    env: { PATH: process.env['PATH'], GIT_CONFIG_NOSYSTEM: '1', HOME: directory },
  })
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
  const names = readdirSync(directory, { recursive: true, withFileTypes: true })
  const files = names.filter((entry) => entry.isFile())
  const found = files.map((entry) => {
    const path = join(entry.parentPath, entry.name)
    return [path.slice(directory.length), readFileSync(path, 'utf8')]
  })
  rmSync(directory, { recursive: true })
  return Object.fromEntries(found)
}

describe.skipIf(git.missing)(`git apply${git.note} takes the patch of`, () => {
  test.each<[name: string, change: TextChange]>([
    ['an edit', change(['/a', 'one\ntwo\n'], ['/a', 'one\n2\n'])],
    ['a creation', change(undefined, ['/d/a', 'one\n'])],
    ['a creation without text', change(undefined, ['/a', ''])],
    ['a deletion', change(['/a', 'one\n'], undefined)],
    ['a deletion of no text', change(['/a', ''], undefined)],
    ['a rename', change(['/a', 'one\n'], ['/d/b', 'one\n'])],
    ['a rename with an edit', change(['/a', 'one\ntwo\n'], ['/b', 'one\n2\n'])],
    ['a text that loses its final newline', change(['/a', 'one\n'], ['/a', 'one'])],
    ['a text that gets a final newline', change(['/a', 'one\ntwo'], ['/a', 'one\ntwo\n'])],
    ['carriage returns', change(['/a', 'one\r\ntwo\r\n'], ['/a', 'one\r\n2\r\n'])],
    ['a path with a space', change(['/a b', 'one\n'], ['/a b', '1\n'])],
    ['a new path with a space', change(undefined, ['/a b/c d', '1\n'])],
    ['a path with a quote and a letter', change(['/"ü"', 'one\n'], ['/"ü"', '1\n'])],
    ['a rename of such a path', change(['/"ü"', 'one\n'], ['/ö b', 'one\n'])],
    ['lines that look like headers', change(['/a', '-- x\n@@ y\n'], ['/a', '++ x\ndiff --git\n'])],
  ])('%s', (_, one) => {
    const { after } = one
    const wanted = after === undefined ? {} : { [after.path]: after.content }
    expect(apply(patchText(one), one)).toEqual(wanted)
    const labelled = patchText(one, { before: 'memver_1', after: 'memver_2' })
    expect(apply(labelled, one)).toEqual(wanted)
  })

  test('any two texts', { tags: 'slow' }, () => {
    const line = constantFrom('a', 'b', 'c', '', '\\ x', '+', '-', '@@ -1 +1 @@')
    const text = tuple(array(line, { maxLength: 12 }), boolean()).map(([lines, ends]) => {
      return lines.join('\n') + (ends ? '\n' : '')
    })
    assert(
      property(text, text, (from, to) => {
        const one = change(['/a', from], ['/a', to])
        const patch = patchText(one)
        if (from === to) expect(patch).toBe('')
        else expect(apply(patch, one)).toEqual({ '/a': to })
      }),
      { seed, numRuns: full ? 500 : 40 },
    )
  })
})

test('an unchanged memory has no patch', () => {
  expect(patchText(change(['/a', 'x'], ['/a', 'x']))).toBe('')
  expect(patchText(change(undefined, undefined))).toBe('')
})

test('--stat counts lines, scales its bars, and sums up', () => {
  const long = Array.from({ length: 100 }, (_, index) => `${index}\n`).join('')
  const text = statText(plainInk, [
    change(['/a', 'one\n'], ['/a', 'two\nthree\n']),
    change(undefined, ['/long', long]),
    change(['/x', 'x'], ['/y', 'x']),
  ])
  expect(text).toBe(
    [
      ' /a       |   3 +-',
      ` /long    | 100 ${'+'.repeat(40)}`,
      ' /x => /y |   0',
      ' 3 memories changed, +102 -1 lines',
      '',
    ].join('\n'),
  )
})

test('the name of a change is its path, or both paths of a rename', () => {
  expect(nameOf(change(['/a', ''], undefined))).toBe('/a')
  expect(nameOf(change(undefined, ['/b', '']))).toBe('/b')
  expect(nameOf(change(['/a', ''], ['/b', '']))).toBe('/a => /b')
})

test('a patch is painted by the kind of its lines, not by their looks', () => {
  const ink: Ink = { plain: (text) => `<${text}>`, paint: (colour, line) => `${colour}(${line})` }
  const patch = patchText(change(['/a', '-- x\nsame\n'], ['/a', '++ y\nsame\n']))
  expect(paintPatch(ink, patch)).toBe(
    [
      'bold(diff --git a/a b/a)',
      'bold(--- a/a)',
      'bold(+++ b/a)',
      'cyan(@@ -1,2 +1,2 @@)',
      'red(--- x)',
      'green(+++ y)',
      '< same>',
      '<>',
    ].join('\n'),
  )
})
