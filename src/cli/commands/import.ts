// `import`: texts from elsewhere become memories, one commit each. A source (src/cli/import/) finds
// the texts; the rest is the same for all of them.

import { findingsText } from '../../store/guard/guard.ts'
import { visibleLine } from '../../text/visible.ts'
import {
  type Answer,
  type Command,
  CommandError,
  type Context,
  type Input,
} from '../call/command.ts'
import { authorOf, authorOptions } from '../call/options.ts'
import { findBasicMemory } from '../import/basic-memory.ts'
import { findClaudeCode } from '../import/claude-code.ts'
import { findMarkdown, findPlainFiles } from '../import/files.ts'
import { findMcpMemory } from '../import/mcp-memory.ts'
import { findMemoryStore } from '../import/memory-stores.ts'
import {
  checkRoom,
  type HeldText,
  type ImportPlan,
  type OnConflict,
  planImport,
  writeJobs,
} from '../import/plan.ts'
import type { FoundTexts, LeftOutPart } from '../import/source.ts'
import { withStore } from '../store/open-store.ts'
import { withProgress } from '../terminal/progress.ts'
import { countText, listOf, numberText } from '../text/words.ts'

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

interface Imported {
  readonly plan: ImportPlan
  /** By the rules of the source, and what cannot be a memory. */
  readonly leftOut: readonly LeftOutPart[]
  readonly commits: number
  readonly session: string
  readonly dryRun: boolean
}

/** Names that are shown for one reason. */
const NAMED_MAX = 3
/** The exit code of `sensitive_content`: some texts were refused, and the others imported. */
const HELD = 6

export function importAnswer(imported: Imported): Answer {
  const { plan, leftOut, commits, session, dryRun } = imported
  const changes = plan.jobs.map(({ candidate: { path }, current }) => {
    return { path, action: current === undefined ? 'create' : 'overwrite' }
  })
  const notes = [leftOutNote(leftOut), heldNote(plan.held), flaggedNote(plan.flagged, dryRun)]
    .filter((note) => note !== undefined)
    .join('\n')
  const undo = commits === 0 ? '' : `\`gitlocket rollback --session ${session}\` takes it back`
  const listed = listOf(changes.map(({ path, action }) => `${action} ${path}`))
  const lines = [summary(imported), dryRun ? listed : undo].filter((line) => line !== '')
  return {
    text: `${lines.join('\n')}\n`,
    json: {
      imported: plan.jobs.length,
      commits,
      unchanged: plan.unchanged,
      skipped: plan.skipped.length,
      changes,
      left_out: leftOut,
      held: plan.held.map(heldJson),
      guard: plan.flagged,
      session_id: session,
      dry_run: dryRun,
    },
    ...(notes === '' ? {} : { note: notes }),
    ...(plan.held.length === 0 ? {} : { exitCode: HELD }),
  }
}

function summary({ plan, dryRun }: Imported): string {
  const { jobs, unchanged, skipped, held } = plan
  const count = countText(jobs.length, 'memory', 'memories')
  const others = [
    ...(unchanged === 0 ? [] : [`${numberText(unchanged)} unchanged`]),
    ...(held.length === 0 ? [] : [`held back ${numberText(held.length)}`]),
    ...(skipped.length === 0 ? [] : [`skipped ${numberText(skipped.length)}`]),
  ]
  return [`${dryRun ? 'Would import' : 'Imported'} ${count}`, ...others].join('; ')
}

/** A line for each reason, with some names. All are in the JSON. */
function leftOutNote(leftOut: readonly LeftOutPart[]): string | undefined {
  if (leftOut.length === 0) return undefined
  const groups = new Map<string, string[]>()
  for (const { origin, reason } of leftOut) {
    const names = groups.get(reason)
    if (names === undefined) groups.set(reason, [origin])
    else names.push(origin)
  }
  const lines = [...groups].map(([reason, names]) => {
    const more = names.length - NAMED_MAX
    const shown = [...names.slice(0, NAMED_MAX), ...(more > 0 ? [`and ${more} more`] : [])]
    return `${reason} (${numberText(names.length)}): ${shown.join(', ')}`
  })
  return `Left out:\n${listOf(lines)}`
}

/** All of them: each needs a decision of its own. */
function heldNote(held: readonly HeldText[]): string | undefined {
  if (held.length === 0) return undefined
  const lines = held.flatMap(({ origin, findings, sha256 }) => [
    `  ${visibleLine(origin)}: ${findingsText(findings)}`,
    ...(sha256 === undefined ? [] : [`    gitlocket guard allow ${sha256}`]),
  ])
  return [
    'Held back, since the guard takes something in them for a secret:',
    ...lines,
    'Take the secret out; or, if this is a false alarm, an owner lets the exact text through by ' +
      'the command below its name. Then import again',
  ].join('\n')
}

/** `line` is null for a finding in the path, which cannot be let through. */
function heldJson({ origin, path, findings, sha256 }: HeldText): object {
  const found = findings.map(({ rule, line }) => ({ rule, line: line === 0 ? null : line }))
  return { origin, path, findings: found, sha256: sha256 ?? null }
}

function flaggedNote(flagged: readonly LeftOutPart[], dryRun: boolean): string | undefined {
  if (flagged.length === 0) return undefined
  const lines = flagged.map(({ origin, reason }) => `${origin}: ${reason}`)
  const what = dryRun ? 'would be' : 'were'
  return `Secrets ${what} imported, since the guard of this store is off:\n${listOf(lines)}`
}

/** Throws `invalid_input` or `path_conflict`, with everything that is wrong. */
function checkPlan({ unsuitable, conflicts }: Pick<ImportPlan, 'unsuitable' | 'conflicts'>): void {
  const problems: { readonly text: string; readonly hint: string }[] = []
  if (unsuitable.length > 0) {
    const lines = unsuitable.map(({ origin, reason }) => `${origin}: ${reason}`)
    problems.push({
      text: `Some of this cannot be memories; nothing was imported\n${listOf(lines)}`,
      hint: 'Rename, convert or move these, or leave them out with --skip-unsuitable',
    })
  }
  if (conflicts.length > 0) {
    problems.push({
      text: `Some paths are taken; nothing was imported\n${listOf([...new Set(conflicts)])}`,
      hint:
        'Add --on-conflict skip or --on-conflict overwrite, or import below another path ' +
        'with --to',
    })
  }
  if (problems.length === 0) return
  throw new CommandError(
    unsuitable.length > 0 ? 'invalid_input' : 'path_conflict',
    problems.map(({ text }) => text).join('\n'),
    problems.map(({ hint }) => hint).join('; '),
    { facts: { unsuitable, conflicts } },
  )
}
