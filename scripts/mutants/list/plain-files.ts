// Files that other programs find by their names, and operations that change what is there by then.

import type { MutatedFile } from '../mutant.ts'

const rule = 'unit/cli/file-rule.test.ts'

export const plainFiles: readonly MutatedFile[] = [
  {
    file: 'cli/file-rule.ts',
    mutants: [
      {
        line: 'isInGit ? inRepository : ',
        becomes: '',
        test: rule,
        name: 'that exists gets no file, in no directory of it',
      },
      {
        line: 'if (before.isRepository(directory)) return inRepository',
        becomes: '',
        test: rule,
        name: 'that exists gets no file, in no directory of it',
      },
      {
        line: 'if (repositoryKeys.has(segment) && after',
        becomes: 'if (after',
        test: rule,
        name: 'is not completed by ["/refs/a"] where ["HEAD","objects"] exist',
      },
      {
        line: "return names.has('commondir') || (",
        becomes: 'return (',
        test: rule,
        name: 'is not completed by ["/commondir"] where ["HEAD"] exist',
      },
      {
        line: '.split(/[\\\\/]/)',
        becomes: ".split('/')",
        test: rule,
        name: 'needs consent: "/a\\\\.vscode\\\\tasks.json"',
      },
      {
        line: 'keys.slice(0, -1).some(isConfiguration) || ',
        becomes: '',
        test: rule,
        name: 'needs consent: "/.gitignore/x"',
      },
      {
        line: ' || isShort(key)',
        becomes: '',
        test: rule,
        name: 'needs consent: "/CLAUDE~1/settings.json"',
      },
      {
        line: '^\\.(?:gitignore|',
        becomes: '^\\.(?:gitignore|envrc|',
        test: rule,
        name: 'needs consent: "/.envrc"',
      },
    ],
  },
  {
    file: 'store/changes/changes.ts',
    mutants: [
      {
        line: 'appendLines(state.contentOf(memory), content)',
        becomes: 'content',
        test: 'unit/store/changes.test.ts',
        name: 'appends of one turn to a memory that is not there yet are all kept',
      },
    ],
  },
  {
    file: 'api/path-operations.ts',
    mutants: [
      {
        line: 'return me.restore(request, { confirmed: planned.plan })',
        becomes: 'return me.restore(request)',
        test: 'unit/api/path-operations.test.ts',
        name: 'a memory that leaves the directory once its restoration is checked stays away',
      },
    ],
  },
]
