// What a merge makes of memories and of texts.

import type { MutatedFile } from '../mutant.ts'

export const merge: readonly MutatedFile[] = [
  {
    file: 'store/merge/content-merge.ts',
    mutants: [
      {
        line: `if (older === newer) return { content: newer, how: 'same' }`,
        becomes: '',
        test: 'unit/store/merge/content-merge.test.ts',
        name: 'contents become one equal ones stay',
      },
      {
        line: 'if (content !== older && content !== newer && !isFit(content, sides, limit)) {',
        becomes: 'if (!isFit(content, sides, limit)) {',
        test: 'unit/store/merge/content-merge.test.ts',
        name: 'the limit does not cut a side that is larger',
      },
      {
        line: 'if (Buffer.byteLength(content) > limit) return false',
        becomes: 'if (content.length > limit) return false',
        test: 'unit/store/merge/content-merge.test.ts',
        name: 'the limit holds for bytes',
      },
      {
        line: 'return !isJson(older) || !isJson(newer) || isJson(content)',
        becomes: 'return true',
        test: 'unit/store/merge/content-merge.test.ts',
        name: 'JSON stays JSON overlapping values',
      },
      {
        line: `return { content, how: merged.clean ? 'merged' : 'both_kept' }`,
        becomes: `return { content, how: 'merged' }`,
        test: 'unit/store/merge/content-merge.test.ts',
        name: 'contents become one overlapping edits',
      },
    ],
  },
  {
    file: 'store/merge/draft.ts',
    mutants: [
      {
        line: 'const live = older.live ?? newer.live',
        becomes: 'const live = newer.live',
        test: 'unit/store/merge/open-memories.test.ts',
        name: 'an open memory stays if one side edited and the other deleted it',
      },
      {
        line: 'return newer === base ? older : undefined',
        becomes: 'return older',
        test: 'unit/store/merge/open-memories.test.ts',
        name: 'an open memory gets the newer path where both moved it',
      },
      {
        line: 'return { path: path ?? newer.path, read: () => content, outcomes }',
        becomes: 'return { path: path ?? older.path, read: () => content, outcomes }',
        test: 'unit/store/merge/open-memories.test.ts',
        name: 'an open memory gets the newer path where both moved it',
      },
      {
        line: 'return live.path !== base.path || live.sha256 !== base.sha256',
        becomes: 'return true',
        test: 'unit/store/merge/open-memories.test.ts',
        name: 'is deleted if one side deleted it and the other only sealed it again',
      },
      {
        line: `const outcomes: OutcomeKind[] = isDeleted ? ['edit_kept'] : []`,
        becomes: 'const outcomes: OutcomeKind[] = []',
        test: 'unit/store/merge/open-memories.test.ts',
        name: 'an open memory stays if one side edited and the other deleted it',
      },
      {
        line: 'if (older === newer || older === base) return newer',
        becomes: 'if (older === newer) return newer',
        test: 'unit/store/merge/open-memories.test.ts',
        name: 'gets a new path from the newer side and a text from the older one',
      },
      {
        line: 'if (older === newer || older === base) return newer',
        becomes: 'if (older === base) return newer',
        test: 'unit/store/merge/open-memories.test.ts',
        name: 'needs no decision where both made the same of it, as two merges of the same do',
      },
    ],
  },
  {
    file: 'store/merge/joining.ts',
    mutants: [
      {
        line: 'if (into.isFixed && into.settled?.sha256 !== sha256OfText(content)) return',
        becomes: '',
        test: 'unit/store/merge/clashes.test.ts',
        name: 'commit, stay where they are, and an older one at their path moves aside',
      },
      {
        line: `= { base: '', older: older.draft.read(),`,
        becomes: '= { base: older.draft.read(), older: older.draft.read(),',
        test: 'unit/store/merge/clashes.test.ts',
        name: 'at one path are joined into the older memory, lines by the age of the versions',
      },
      {
        line: 'other.isLive = false',
        becomes: '',
        test: 'unit/store/merge/clashes.test.ts',
        name: 'at one path are joined into the older memory, lines by the age of the versions',
      },
      {
        line: 'other.outcomes.length = 0',
        becomes: '',
        test: 'unit/store/merge/clashes.test.ts',
        name: 'at one path of which the younger is open keep both bases of its deletion',
      },
      {
        line: `if (how === 'newer_kept') into.outcomes.push(how)`,
        becomes: '',
        test: 'unit/store/merge/clashes.test.ts',
        name: 'memories at one path of JSON become the newer text',
      },
      {
        line: `  into.inputs = [...older.draft.inputs, ...newer.draft.inputs]
`,
        becomes: '',
        test: 'unit/store/merge/plan.test.ts',
        name: 'outcomes name the versions that went in, older first, also of the other memory',
      },
    ],
  },
  {
    file: 'store/merge/placement.ts',
    mutants: [
      {
        line: 'return this.#directories.has(path) || this.#files.has(path) ? draft : undefined',
        becomes: 'return undefined',
        test: 'unit/store/merge/clashes.test.ts',
        name: 'a file and a directory of one name the younger file moves aside',
      },
      {
        line: 'return this.#directories.has(path) || this.#files.has(path) ? draft : undefined',
        becomes: 'return this.#directories.has(path) ? draft : undefined',
        test: 'unit/store/merge/clashes.test.ts',
        name: 'commit, stay where they are, and an older one at their path moves aside',
      },
      {
        line: 'if (file !== undefined) return file',
        becomes: '',
        test: 'unit/store/merge/clashes.test.ts',
        name: 'a directory of one name the younger files of the directory move aside together',
      },
      {
        line: 'return fits && places.isFree(path) && !input.isOccupied(path)',
        becomes: 'return fits && places.isFree(path)',
        test: 'unit/store/merge/clashes.test.ts',
        name: 'file and a directory of one name a name that is taken gives way to the whole id',
      },
      {
        line: 'return fits && places.isFree(path) && !input.isOccupied(path)',
        becomes: 'return places.isFree(path) && !input.isOccupied(path)',
        test: 'unit/store/merge/clashes.test.ts',
        name: 'name a path that cannot grow moves to the root, to the first name that is free',
      },
      {
        line: 'return fits && places.isFree(path) && !input.isOccupied(path)',
        becomes: 'return fits && !input.isOccupied(path)',
        test: 'unit/store/merge/clashes.test.ts',
        name: 'a file and a directory of one name two that move aside do not meet there',
      },
      {
        line: 'const end = dot > name ? dot : path.length',
        becomes: 'const end = dot >= name ? dot : path.length',
        test: 'unit/store/merge/clashes.test.ts',
        name: 'file and a directory of one name a name that is taken gives way to the whole id',
      },
    ],
  },
  {
    file: 'store/merge/plan.ts',
    mutants: [
      {
        line: 'if (isUnchanged(draft)) return []',
        becomes: '',
        test: 'unit/store/merge/clashes.test.ts',
        name: 'memories at one path with equal texts leave the older as it is',
      },
      {
        line: 'if (!isLive || settled?.path !== path) return false',
        becomes: 'if (!isLive) return false',
        test: 'unit/store/merge/open-memories.test.ts',
        name: 'an open memory gets the edits of both sides',
      },
      {
        line: 'return outcomes.length === 0 || settled.sha256 === sha256OfText(read())',
        becomes: 'return outcomes.length === 0',
        test: 'unit/store/merge/clashes.test.ts',
        name: 'memories at one path with equal texts leave the older as it is',
      },
      {
        line: `  checkRowCount(rows.length, limit)
`,
        becomes: '',
        test: 'unit/store/merge/plan.test.ts',
        name: 'are as many as one commit holds at most, those of joined memories among them',
      },
      {
        line: `  checkRowCount(input.open.length, limit)
`,
        becomes: '',
        test: 'unit/store/merge/plan.test.ts',
        name: 'that are too many for one commit are refused before anything is read',
      },
    ],
  },
  {
    file: 'text/text-merge.ts',
    mutants: [
      {
        line: 'return a.length === b.length && a.every((line, index) => line === b[index])',
        becomes: 'return a.every((line, index) => line === b[index])',
        test: 'unit/store/text-merge.test.ts',
        name: 'merges insertions at both ends',
      },
      {
        line: 'if (areEqual(ours, theirs) || areEqual(base, theirs)) merged',
        becomes: 'if (areEqual(base, theirs)) merged',
        test: 'unit/store/text-merge.test.ts',
        name: 'large texts merge where both sides made one large edit alike',
      },
      {
        line: `else if (areEqual(region.aContent, region.bContent)) merged.settle(region.aContent)
`,
        becomes: '',
        test: 'unit/store/text-merge.test.ts',
        name: 'merges the same edit among repeated lines',
      },
      {
        line: 'if (comparisons > COMPARISONS_MAX) merged.leave(ours, theirs)\n      else ',
        becomes: '',
        test: 'unit/store/text-merge.test.ts',
        name: 'conflict where more lines would have to be compared than a second allows',
      },
    ],
  },
  {
    file: 'store/sync/remote-history.ts',
    mutants: [
      {
        line: 'if (first.time !== second.time) return first.time > second.time',
        becomes: '',
        test: 'unit/store/sync/conflicts.test.ts',
        name: 'lines of the older record come first, however many changes the second clone made',
      },
    ],
  },
  {
    file: 'store/sync/merge.ts',
    mutants: [
      {
        line: "if (!hasCode(error, 'change_too_large')) throw error",
        becomes: 'throw error',
        test: 'attack/large-merges.test.ts',
        name: 'changed on both sides, are merged in several commits',
      },
      {
        line: 'for (const keepsOurs of [false, true]) {',
        becomes: 'for (const keepsOurs of [false]) {',
        test: 'attack/large-merges.test.ts',
        name: 'than a commit has rows, are merged where both created the same paths',
      },
    ],
  },
  {
    file: 'store/sync/remote-history.ts',
    mutants: [
      {
        line: 'if (this.#redactions === undefined) return snapshot',
        becomes: 'return snapshot',
        test: 'attack/large-merges.test.ts',
        name: 'changed on both sides, also where versions were redacted here',
      },
    ],
  },
]
