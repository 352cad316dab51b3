// The rows of a merge as FORMAT §6.4 requires, its outcomes, and that it reads only what it needs.

import { describe, expect, test, vi } from 'vitest'
import { sha256OfText } from '../../../../src/crypto/digest.ts'
import { zeroId } from '../../../../src/format/record.ts'
import { rowsMax } from '../../../../src/limits.ts'
import { planMerge } from '../../../../src/store/merge/plan.ts'
import type { LiveMemory } from '../../../../src/store/snapshot/live-memory.ts'
import { base, type Case, inputOf, nameOf, openOf, versionIdOf } from './merge-cases.ts'

describe('rows', () => {
  const given: Case = {
    open: {
      c: {
        base,
        ours: { at: 5, path: '/x', content: 'edit\n' },
        theirs: { at: 4, path: '/x' },
      },
    },
    changed: {
      a: { at: 2, path: '/y', content: 'a' },
      b: { at: 3, path: '/y', content: 'ü' },
      d: { at: 3, path: '/z', content: 'd' },
    },
  }

  test('ascend by memory, name both bases of an open memory and one of a settled one', () => {
    const { rows } = planMerge(inputOf(given))
    const a = versionIdOf('a', { at: 2 })
    const b = versionIdOf('b', { at: 3 })
    const c = [versionIdOf('c', { at: 5 }), versionIdOf('c', { at: 4 })]
    const bases = rows.map(({ memoryId, operation, base: first, secondBase }) => {
      return [nameOf(memoryId), operation, first, secondBase]
    })
    expect(bases).toEqual([
      ['c', 'modified', ...c],
      ['b', 'deleted', b, zeroId],
      ['a', 'modified', a, zeroId],
    ])
  })

  test("have size and digest of their contents, and the memory's creation time", () => {
    const { rows } = planMerge(inputOf(given))
    const content = 'a\nü'
    expect(rows[2]).toMatchObject({ content, size: 4, sha256: sha256OfText(content), created: 97 })
    expect(rows[1]).toMatchObject({ content: undefined, size: 0, sha256: '', created: 98 })
  })

  test('outcomes name their input versions, older first, also of the other memory', () => {
    const { outcomes } = planMerge(inputOf(given))
    expect(outcomes.map(({ kind, inputs }) => [kind, ...inputs])).toEqual([
      ['edit_kept', versionIdOf('c', { at: 4 }), versionIdOf('c', { at: 5 })],
      ['joined', versionIdOf('a', { at: 2 }), versionIdOf('b', { at: 3 })],
    ])
  })

  test.each<[string, Case, read: readonly string[]]>([
    ['a memory that nothing happens to', given, ['a', 'b', 'c']],
    [
      'one of two equal texts',
      {
        open: {
          a: {
            base,
            ours: { at: 2, path: '/x', content: 'new\n' },
            theirs: { at: 3, path: '/y', content: 'new\n' },
          },
        },
      },
      ['a'],
    ],
  ])('are planned without reading %s', (_, some, expected) => {
    const read: string[] = []
    const input = inputOf(some)
    const readContent = (memory: LiveMemory): string => {
      read.push(nameOf(memory.memoryId))
      return input.readContent(memory)
    }
    planMerge({ ...input, readContent })
    expect(read.toSorted()).toEqual(expected)
  })

  test(
    'are as many as one commit holds at most, those of joined memories among them',
    { tags: 'slow' },
    () => {
      const ended = { ours: { at: 1, path: '/x' }, theirs: { at: 2, path: '/x' } }
      const open = Array.from({ length: rowsMax }, () => openOf(['a', ended]))
      const input = inputOf({ changed: { b: { at: 2, path: '/y', content: 'b' } } })
      expect(planMerge({ ...input, open }).rows).toHaveLength(rowsMax)
      const joining = inputOf({
        changed: {
          b: { at: 2, path: '/y', content: 'b' },
          c: { at: 3, path: '/y', content: 'c' },
        },
      })
      expect(() => planMerge({ ...joining, open })).toThrow(tooLarge)
    },
  )

  test('that are too many for one commit are refused before anything is read', () => {
    const state = { path: '/x', content: 'x' }
    const memory = openOf(['a', { ours: { at: 1, ...state }, theirs: { at: 2, ...state } }])
    const open = Array.from({ length: rowsMax + 1 }, () => memory)
    const readContent = vi.fn<() => string>()
    expect(() => planMerge({ ...inputOf({}), open, readContent })).toThrow(tooLarge)
    expect(readContent).not.toHaveBeenCalled()
  })
  const tooLarge = expect.objectContaining({ code: 'change_too_large' })
})
