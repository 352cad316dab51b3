// The memory tool's handlers.

import type { MutatedFile } from '../mutant.ts'

export const handlers: readonly MutatedFile[] = [
  {
    file: 'memory-tool/turn-order.ts',
    mutants: [
      {
        line: 'if (effect !== current) ready = settled',
        becomes: '',
        test: 'unit/memory-tool/turn-order.test.ts',
        name: 'a read waits for every write before it, not only for the last one',
      },
      {
        line: 'if (effect !== current) ready = settled',
        becomes: 'ready = settled',
        test: 'unit/memory-tool/turn-order.test.ts',
        name: 'calls of one kind do not wait for each other',
      },
      {
        line: `() => before,
      () => before,`,
        becomes: `() => undefined,
      () => undefined,`,
        test: 'unit/memory-tool/turn-order.test.ts',
        name: 'a write waits for every read before it, not only for the last one',
      },
      {
        line: `() => before,
    )`,
        becomes: `() => undefined,
    )`,
        test: 'unit/memory-tool/turn-order.test.ts',
        name: 'a call that fails fails alone, and those after it still wait for the others',
      },
      {
        line: 'current = effect',
        becomes: '',
        test: 'unit/memory-tool/turn-order.test.ts',
        name: 'a call waits for all that was before it, however often the kind changed',
      },
    ],
  },
  {
    file: 'memory-tool/commands.ts',
    mutants: [
      {
        line: `Refusal(invalidPathText(shown), { prefix: '' })`,
        becomes: 'Refusal(invalidPathText(shown))',
        test: 'conformance/memory-tool-corpus.test.ts',
        name: 'view of a file: below a file there is nothing',
      },
      {
        line: `if (code !== 'too_many_lines') return undefined`,
        becomes: `if (code === 'too_many_lines') return undefined`,
        test: 'conformance/memory-tool-corpus.test.ts',
        name: 'view_range: of a directory is refused',
      },
      {
        line: 'if (parent === undefined) return new Refusal(`File ${shown} already exists`)',
        becomes: '',
        test: 'conformance/memory-tool-corpus.test.ts',
        name: 'limits: a taken path is what create says first',
      },
      {
        line: `if (error.code !== 'path_conflict') return undefined
      const parent`,
        becomes: `if (error.code === 'path_conflict') return undefined
      const parent`,
        test: 'conformance/memory-tool-corpus.test.ts',
        name: 'limits: a taken path is what create says first',
      },
      {
        line: `Refusal(problem, { prefix: '' })`,
        becomes: 'Refusal(problem)',
        test: 'conformance/memory-tool-corpus.test.ts',
        name: 'str_replace, occurrences: twice on one line',
      },
      {
        line: `if (error.code !== 'invalid_line') return undefined`,
        becomes: `if (error.code === 'invalid_line') return undefined`,
        test: 'conformance/memory-tool-corpus.test.ts',
        name: 'insert, insert_line: one past the last line',
      },
      {
        line: `if (error.code === 'sensitive_content') return sensitive(call, error)`,
        becomes: '',
        test: 'conformance/memory-tool-guard.test.ts',
        name: 'through our handlers create: a secret',
      },
      {
        line: 'if (from.isRoot) throw ',
        becomes: 'if (from.isRoot) void ',
        test: 'conformance/memory-tool-corpus.test.ts',
        name: 'rename: the root',
      },
      {
        line: `if (code === 'move_into_itself') {`,
        becomes: `if (code === 'not_a_store') {`,
        test: 'conformance/memory-tool-corpus.test.ts',
        name: 'rename: a directory below itself',
      },
      {
        line: `if (error.code !== 'multiple_matches') return undefined`,
        becomes: `if (error.code === 'multiple_matches') return undefined`,
        test: 'conformance/memory-tool-corpus.test.ts',
        name: 'str_replace, occurrences: twice on one line',
      },
      {
        line: 'return actions.isBelow(shown, occupant) ? occupant : undefined',
        becomes: 'return occupant',
        test: 'conformance/memory-tool-corpus.test.ts',
        name: 'limits: a taken path is what create says first',
      },
      {
        line: `const lines = error.details.lines?.join(', ')`,
        becomes: `const lines = error.details.lines?.join(',')`,
        test: 'conformance/memory-tool-corpus.test.ts',
        name: 'str_replace, occurrences: twice on one line',
      },
      {
        line: `if (parameter === 'reason') return new Refusal(\`Cannot write. \${message}\`)`,
        becomes: '',
        test: 'conformance/memory-tool-guard.test.ts',
        name: 'a secret in the reason that the program gives is named as that',
      },
    ],
  },
  {
    file: 'store/commits/author.ts',
    mutants: [
      {
        line: 'session: session ?? defaultSession,',
        becomes: 'session,',
        test: 'conformance/memory-tool-input.test.ts',
        name: 'options an actor of type session is recorded',
      },
    ],
  },
  {
    file: 'store/memory-store.ts',
    mutants: [
      {
        line: 'return new StoreWriter(this.#session, checkAuthor(author))',
        becomes: 'return new StoreWriter(this.#session, author)',
        test: 'conformance/memory-tool-input.test.ts',
        name: 'options are refused at once: an empty session',
      },
    ],
  },
  {
    file: 'anthropic/memory-tool.ts',
    mutants: [
      {
        line: 'return Object.setPrototypeOf(handlers, null)',
        becomes: 'return handlers',
        test: 'conformance/memory-tool-sdk.test.ts',
        name: 'types and classes betaMemoryTool reaches no inherited member',
      },
      {
        line: `    ...extraProps,
    type: 'memory_20250818',
    name: 'memory',`,
        becomes: `    type: 'memory_20250818',
    name: 'memory',
    ...extraProps,`,
        test: 'conformance/memory-tool-sdk.test.ts',
        name: 'types and classes further properties cannot rename the tool',
      },
    ],
  },
  {
    file: 'memory-tool/run-command.ts',
    mutants: [
      {
        line: 'return Object.hasOwn(commands, name)',
        becomes: 'return name in commands',
        test: 'conformance/memory-tool-input.test.ts',
        name: 'commands a command that is inherited names the parameter',
      },
    ],
  },
  {
    file: 'memory-tool/render.ts',
    mutants: [
      {
        line: 'if (length > ROWS_MAX && rows.length > 0) break',
        becomes: 'if (length > ROWS_MAX) break',
        test: 'conformance/memory-tool-corpus.test.ts',
        name: 'view, truncation: a single long row is shown whole',
      },
      {
        line: 'if (isHidden(child.name)) continue',
        becomes: '',
        test: 'conformance/memory-tool-corpus.test.ts',
        name: 'hidden items and node_modules are left out at any level but counted',
      },
      {
        line: `if (text !== '1024.0' && value < 1024) return text + unit`,
        becomes: 'if (value < 1024) return text + unit',
        test: 'conformance/memory-tool-corpus.test.ts',
        name: 'view of large files: 1048525 bytes are shown as 1.0M',
      },
      {
        line: 'if (last === end) return text',
        becomes: 'if (last >= end - 1) return text',
        test: 'conformance/memory-tool-corpus.test.ts',
        name: 'view, truncation: one row more is cut',
      },
    ],
  },
]
