// `import`: texts from elsewhere become memories, one commit each. A source (src/cli/import/) finds
// the texts; the rest is the same for all of them.

import type { Answer, Command, Context, Input } from '../call/command.ts'
import { authorOf, authorOptions } from '../call/options.ts'
import { findBasicMemory } from '../import/basic-memory.ts'
import { findClaudeCode } from '../import/claude-code.ts'
import { findMarkdown, findPlainFiles } from '../import/files.ts'
import { findMcpMemory } from '../import/mcp-memory.ts'
import { findMemoryStore } from '../import/memory-stores.ts'
import { checkRoom, planImport, type OnConflict, writeJobs } from '../import/plan.ts'
import { checkPlan, importAnswer } from '../import/report.ts'
import type { FoundTexts } from '../import/source.ts'
import { withStore } from '../store/open-store.ts'
import { withProgress } from '../terminal/progress.ts'

export const commands: readonly Command[] = [
  {
    name: 'import',
    summary: 'Create memories from files and from other memories of agents, one commit each',
    usage: '[<source>]',
    options: {
      '--from <claude-code|markdown|basic-memory|mcp-memory|memory-stores>':
        'What the source is; else plain files, all that there are',
      '--to <path>': 'Import below this path; for a single file, its path',
      '--on-conflict <fail|skip|overwrite>':
        'What to do if a path has another text; else fail, before anything is changed',
      '--skip-unsuitable': 'Leave out what cannot be a memory, such as pictures, and list it',
      '--url <address>': 'The server of a store; else that of Anthropic',
      '--dry-run': 'Show what would be done',
      ...authorOptions,
    },
    notes: [
      'The source is a directory or a file, and for memory-stores the id of a store; claude-code ' +
        'and basic-memory know one by default. It is only read, and links in it are not ' +
        'followed. docs/IMPORT.md lists what each one brings.',
      'A memory that has the text already is left unchanged, so that an import can be repeated. ' +
        'Each import is a session, unless --session names one: `rollback --session` takes it back.',
    ],
    run: importMemories,
  },
]

/** By --from. They change nothing, and follow no link below the place that the user has named. */
const sources: Readonly<
  Record<string, (context: Context, input: Input) => FoundTexts | Promise<FoundTexts>>
> = {
  files: findPlainFiles,
  'claude-code': findClaudeCode,
  markdown: findMarkdown,
  'basic-memory': findBasicMemory,
  'mcp-memory': findMcpMemory,
  'memory-stores': findMemoryStore,
}

const ending = 'Imported memories are kept, and nothing is half done; run it again to continue'

function importMemories(context: Context, input: Input): Promise<Answer> {
  const from = input.text('from') ?? 'files'
  const find = sources[from] ?? findPlainFiles
  return context.interrupts.patiently(ending, async () => {
    const found = await find(context, input)
    return withStore(context, async (store) => {
      const plan = await withProgress(context, 'Checking', ({ progress, signal }) =>
        planImport(store, found, { onConflict: onConflictOf(input), signal, progress }),
      )
      checkPlan(input.flag('skip-unsuitable') ? { ...plan, unsuitable: [] } : plan)
      checkRoom(plan)
      const given = authorOf(context, input)
      const session = given.session ?? `import-${from}-${stamp(context.clock())}`
      const author = { reason: `Imported from ${from}`, ...given, session }
      const dryRun = input.flag('dry-run')
      const commits = await withProgress(context, 'Importing', (options) =>
        writeJobs(store, dryRun ? [] : plan.jobs, author, options),
      )
      return importAnswer({
        plan,
        leftOut: [...found.leftOut, ...plan.unsuitable],
        commits,
        session,
        dryRun,
      })
    })
  })
}

function onConflictOf(input: Input): OnConflict {
  const given = input.text('on-conflict')
  return given === 'skip' || given === 'overwrite' ? given : 'fail'
}

/** A moment in the alphabet of session ids, to the millisecond: two imports are two sessions. */
function stamp(time: number): string {
  return new Date(time).toISOString().replaceAll(/[-:.]/g, '')
}
