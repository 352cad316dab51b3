// Durability: the journal, the branch, checkpoints.

import type { MutatedFile } from '../mutant.ts'

const mark = 'unit/git/writer-mark.test.ts'

export const journal: readonly MutatedFile[] = [
  {
    file: 'git/journal/journal-survey.ts',
    mutants: [
      {
        line: `isEmpty || rest.length >= sectorBytes ? 'zeros' : 'damaged'`,
        becomes: `'zeros'`,
        test: 'unit/git/journal-damage.test.ts',
        name: 'damaged journal file cut off anywhere is refused, or shows all that was appended',
      },
      {
        line: `if (batches.some(({ durable }) => durable > end)) return 'damaged'`,
        becomes: '',
        test: 'unit/git/journal-damage.test.ts',
        name: 'journal file with zeros in a sector of an append that others follow is refused',
      },
      {
        line: `if (hashed > 2 * bytes.length) return { batches, overlap: true }`,
        becomes: '',
        test: 'attack/planted-journals.test.ts',
        name: 'of overlapping batches is damage, found in proportion to its size',
      },
      {
        line: `return isTorn(rest, end) ? 'torn' : 'damaged'`,
        becomes: `return 'torn'`,
        test: 'unit/git/journal-damage.test.ts',
        name: 'journal file with any bit flipped is refused, or shows all that was appended',
      },
      {
        line: `return isTorn(rest, end) ? 'torn' : 'damaged'`,
        becomes: `return 'damaged'`,
        test: 'unit/git/journal.test.ts',
        name: 'journal scrubs every byte but the live frames, under the eyes of another handle',
      },
      {
        line: 'if (rest[length - 1] === 0) return true',
        becomes: '',
        test: 'unit/git/journal-damage.test.ts',
        name: 'a write that did not end is taken for one, wherever the process was killed in it',
      },
      {
        line: 'if (sectorEnd(length) > rest.length) return false',
        becomes: 'if (sectorEnd(length) > rest.length) return true',
        test: 'unit/git/journal-damage.test.ts',
        name: 'damaged journal file cut off anywhere is refused, or shows all that was appended',
      },
      {
        line: 'if (isZero(rest.subarray(at, Math.min(at + sectorBytes, length)))) return true',
        becomes: '',
        test: 'unit/git/journal-damage.test.ts',
        name: 'end is taken for one, whatever sectors of it are on the disk, and written over',
      },
      {
        line: `if (isEmpty && !isZero(rest.subarray(sectorBytes))) return 'damaged'
`,
        becomes: '',
        test: 'unit/git/journal-damage.test.ts',
        name: 'journal file whose start is gone, and whose only append is damaged, is refused',
      },
      {
        line: 'generation && equalBytes(salt, origin.salt)',
        becomes: 'generation',
        test: 'unit/git/journal-damage.test.ts',
        name: 'a damaged journal file does not go on with an append of another use of the file',
      },
      {
        line: `if (rest.length < sectorBytes) return false
`,
        becomes: '',
        test: 'unit/git/journal-damage.test.ts',
        name: 'journal file that ends within a sector is refused, whatever zeros are in that',
      },
      {
        line: `if (rest[batchHeadBytes - 1] === 0) return true
`,
        becomes: '',
        test: 'unit/git/journal-damage.test.ts',
        name: 'a write that did not end is taken for one, wherever the process was killed in it',
      },
    ],
  },
  {
    file: 'git/journal/journal-frame.ts',
    mutants: [
      {
        line: 'if (!equalBytes(headSum(start, fields), sum)) return undefined',
        becomes: '',
        test: 'unit/git/journal-frame.test.ts',
        name: 'a batch decodes to what was encoded, whatever the objects',
      },
      {
        line: 'if (!equalBytes(tail, concatBytes(bodySum(body), mark))) return undefined',
        becomes: '',
        test: 'unit/git/journal-damage.test.ts',
        name: 'journal file with any bit flipped is refused, or shows all that was appended',
      },
      {
        line: 'sha256(new ByteWriter().u64(start).raw(fields).bytes()).subarray(0,',
        becomes: 'sha256(fields).subarray(0,',
        test: 'unit/git/journal-frame.test.ts',
        name: 'a batch decodes to what was encoded, whatever the objects',
      },
    ],
  },
  {
    file: 'git/refs/branch.ts',
    mutants: [
      {
        line: 'if (match?.[1] === undefined) {',
        becomes: `if (match === null && text === '?') {`,
        test: 'unit/git/disk-object-store.test.ts',
        name: 'a closed store opening before damage to the branch file fails',
      },
      {
        line: 'undefined && !isSameFile(this.#disk.stat(this.#packed), this.#packedStatus)',
        becomes: 'undefined && false',
        test: 'unit/git/git-file-lock.test.ts',
        name: 'notices that git moved it, or packed it',
      },
    ],
  },
  {
    file: 'git/disk-store/head-link.ts',
    mutants: [
      {
        line: 'const isKnown = isSame && this.#linked',
        becomes: 'const isKnown = this.#linked',
        test: mark,
        name: 'a writer looks again after each commit of another handle',
      },
      {
        line: 'if (isKnown) {\n      if (this.#branch.changed()) this.reload()',
        becomes: 'if (isKnown) {',
        test: mark,
        name: 'a writer looks again after git has moved the branch, without a lock',
      },
      {
        line: 'this.#linked = false\n    const change = this.#journal.refresh()',
        becomes: 'const change = this.#journal.refresh()',
        test: mark,
        name: 'a writer looks again after a look that failed: what it did not see is not forgotten',
      },
      {
        line: 'doubt(): void {\n    this.#linked = false',
        becomes: 'doubt(): void {',
        test: mark,
        name: 'a writer looks again after work of its own that failed',
      },
    ],
  },
  {
    file: 'disk/process-lock.ts',
    mutants: [
      {
        line: 'return isSameFile(this.#disk.stat(this.#markPath), this.#mark)',
        becomes: 'return this.#disk.stat(this.#markPath) !== undefined',
        test: mark,
        name: 'a writer looks again when its mark is another file',
      },
      {
        line: 'if (this.isMarked) return true\n    this.#mark = undefined',
        becomes: 'this.#mark = undefined',
        test: mark,
        name: 'a writer whom nobody has come between makes a commit with seven operations',
      },
    ],
  },
  {
    file: 'git/journal/journal-file.ts',
    mutants: [
      {
        line: 'if (isQuiet && this.doubtful && equalBytes(last, this.#doubt)) throw',
        becomes: 'if (this.doubtful && false) throw',
        test: 'unit/git/journal-damage.test.ts',
        name: 'journal file with any bit flipped is refused, or shows all that was appended',
      },
      {
        line: '(isQuiet && this.doubtful',
        becomes: '(this.doubtful',
        test: 'unit/git/journal-damage.test.ts',
        name: 'file may be one being written: without the lock it is not reported as damaged',
      },
      {
        line: `      await this.#undoWrite(fd, batch.length, error)
`,
        becomes: '',
        test: 'fault/object-store-crash.test.ts',
        name: 'a commit on top of what a dead process never synced survives a power failure',
      },
      {
        line: `if (this.#appending) return 'nothing'`,
        becomes: '',
        test: 'unit/git/journal.test.ts',
        name: 'journal does not take its own frames for those of others before they are durable',
      },
      {
        line: 'this.#durable = Math.max(this.#durable, batch.durable)',
        becomes: 'this.#durable = this.#end',
        test: 'unit/git/journal.test.ts',
        name: 'journal writes frames of another handle again before its own, in the same write',
      },
      {
        line: 'this.#disk.write(fd, bytes, this.#durable)',
        becomes: 'this.#disk.write(fd, batch, this.#end)',
        test: 'unit/git/journal.test.ts',
        name: 'journal writes frames of another handle again before its own, in the same write',
      },
      {
        line: `if (this.generation > 0 && !isOfSame(this.#origin, head)) return undefined
`,
        becomes: '',
        test: 'unit/git/journal-damage.test.ts',
        name: 'a damaged journal file does not go on with an append of another use of the file',
      },
      {
        line: `if (this.#poisoned !== undefined) throw this.#poisoned
`,
        becomes: '',
        test: 'unit/git/journal.test.ts',
        name: 'the journal writes nothing after a write that was neither made nor taken back',
      },
    ],
  },
  {
    file: 'git/journal/journal.ts',
    mutants: [
      {
        line: 'if (!object.isVerified && gitHash(type, body) !== oid) {',
        becomes: `if (oid === '') {`,
        test: 'unit/git/journal.test.ts',
        name: 'the journal refuses an object that another process wrote under a wrong oid',
      },
      {
        line: 'return { oid, type, body: body.slice() }',
        becomes: 'return object',
        test: 'unit/git/journal.test.ts',
        name: 'uses its memory again, but not what anybody still looks at',
      },
      {
        line: 'if (at === branch) first ??= index + 1',
        becomes: 'if (at === branch) first = index + 1',
        test: 'unit/git/journal.test.ts',
        name: 'the journal keeps frames that return to where the branch is',
      },
      {
        line: 'if (first === undefined) return false',
        becomes: 'if (first === undefined) first = 0',
        test: 'unit/git/journal.test.ts',
        name: 'the journal does not fit a branch that is nowhere on its way',
      },
      {
        line: 'if (this.#files.some((file) => file.frames.length > 0)) return',
        becomes: '',
        test: 'unit/git/journal.test.ts',
        name: 'the journal truncates only when it holds nothing',
      },
      {
        line: `if (frame.expected !== at) return false
`,
        becomes: '',
        test: 'unit/git/journal.test.ts',
        name: 'the journal does not fit if its files do not follow each other',
      },
    ],
  },
  {
    file: 'git/maintenance/checkpoint.ts',
    mutants: [
      {
        line: 'if (sealing.switched) return',
        becomes: 'return',
        test: 'fault/object-store-crash.test.ts',
        name: `its first commit' survives a death, 'torn', at each operation, losing 'nothing'`,
      },
      {
        line: `      if (objects.length > 0) await packer.write(objects)
`,
        becomes: '',
        test: 'fault/object-store-crash.test.ts',
        name: `its first commit' survives a death, 'torn', at each operation, losing 'nothing'`,
      },
      {
        line: 'if (branch.read() === expected) return',
        becomes: 'if (branch.read() !== undefined) return',
        test: 'fault/object-store-crash.test.ts',
        name: `its first commit' survives a death, 'torn', at each operation, losing 'nothing'`,
      },
    ],
  },
  {
    file: 'git/journal/journal-memory.ts',
    mutants: [
      {
        line: 'this.#retired.push(...this.#used)',
        becomes: 'this.#memory.giveBack(this.#used)',
        test: 'unit/git/journal.test.ts',
        name: 'uses its memory again, but not what anybody still looks at',
      },
      {
        line: 'this.#memory.giveBack(this.#retired)',
        becomes: '',
        test: 'unit/git/journal.test.ts',
        name: 'uses its memory again, but not what anybody still looks at',
      },
    ],
  },
]
