// What a process keeps of the past, how it comes up to a newer head, and that others have turns.

import type { MutatedFile } from '../mutant.ts'

const current = 'unit/store/current-versions.test.ts'
const sameAsMap = 'are those of a map after any sequence of sets, deletes and copies'
const branches = 'property/branches.test.ts'
const sameHistory = 'the history is the same however it came there'
const inOrder = 'the history knows the order, the past of each commit, and the cuts'
const caughtUp = 'unit/store/history.test.ts'

export const history: readonly MutatedFile[] = [
  {
    file: 'store/snapshot/current-versions.ts',
    mutants: [
      {
        line: `    this.#live.delete(memoryId)
    const number`,
        becomes: '    const number',
        test: current,
        name: sameAsMap,
      },
      {
        line: '      this.#forgetOther(memoryId)',
        becomes: '',
        test: current,
        name: sameAsMap,
      },
      {
        line: 'copy.#others = this.#others.copy(this.#others.length)',
        becomes: 'copy.#others = this.#others',
        test: current,
        name: sameAsMap,
      },
      {
        line: 'const BYTES = 25',
        becomes: 'const BYTES = 125',
        test: current,
        name: 'of deleted memories take less than 100 bytes each',
      },
    ],
  },
  {
    file: 'store/history/catch-up.ts',
    mutants: [
      {
        line: 'return { oid, height, parents: this.#history.parentsOf(commit), known: undefined }',
        becomes: 'return undefined',
        test: caughtUp,
        name: 'after a merge reads new commits, and of known ones what decides their order',
      },
      {
        line: '.toSorted(byHash)',
        becomes: '',
        test: branches,
        name: inOrder,
      },
      {
        line: 'return known?.isCut === true ? known.position : undefined',
        becomes: 'return known?.position',
        test: branches,
        name: sameHistory,
      },
      {
        line: 'this.#heightAt(start - 1) === this.#heightAt(end - 1)',
        becomes: 'false',
        test: branches,
        name: sameHistory,
      },
      {
        line: 'parents: follows ? undefined : parents.map(oidOf)',
        becomes: 'parents: undefined',
        test: branches,
        name: inOrder,
      },
      {
        line: '    history.truncate(kept)',
        becomes: '',
        test: caughtUp,
        name: 'after a redaction elsewhere reads only rewritten commits',
      },
    ],
  },
  {
    file: 'time-slice.ts',
    mutants: [
      {
        line: 'setImmediate(() => (this.#began = undefined))',
        becomes: '',
        test: 'unit/time-slice.test.ts',
        name: 'short pieces of work share a slice until others had their turn',
      },
      {
        line: `    while (this.isOver())
`,
        becomes: `    while (false)
`,
        test: 'unit/time-slice.test.ts',
        name: 'who waits for a shared slice goes on in order, if there is time in it',
      },
    ],
  },
  {
    file: 'store/session/session.ts',
    mutants: [
      {
        line: 'if (this.#slice.isOver()) await this.#slice.next()',
        becomes: '',
        test: 'unit/store/slices.test.ts',
        name: 'reads that are awaited one after another, though none of them has to wait',
      },
    ],
  },
]
