// Replays one session of the transcript through the memory tool, as the SDK's tool runner would,
// and shows each command with its answer and its commit. Anything that the transcript does not
// expect ends the tour.

import type { MemoryStore } from 'gitlocket'
import { type MemoryTool, memoryTool } from 'gitlocket/anthropic'
import { cut, inFull, isFull, print, printBlock, printWrapped, style } from './screen.ts'
import type { Call, Input, Session } from './transcript/call.ts'

interface Outcome {
  readonly kind: Call['outcome']
  readonly answer: string
  readonly commit: string | undefined
}

/** Returns how many commits the session made. */
export async function replay(store: MemoryStore, session: Session): Promise<number> {
  const tool = memoryTool(store, { session: session.id })
  let commits = 0
  for (const call of session.calls) {
    const outcome = await send(store, tool, call.input)
    const show = async (): Promise<void> => {
      showInput(call.input)
      showAnswer(call.input, outcome)
      await showCommit(store, call.input, outcome)
    }
    await (call.input.command === 'view' ? inFull(show) : show())
    check(call, outcome)
    if (outcome.commit !== undefined) commits += 1
  }
  return commits
}

function showInput(input: Input): void {
  print(`  ${style('bold', input.command)} ${argumentsOf(input)}`)
  for (const line of editOf(input)) print(style('dim', `      ${cut(line, 94)}`))
}

/** Shows the first rows of a view, and the first line of other answers. */
function showAnswer({ command }: Input, { kind, answer }: Outcome): void {
  if (kind === 'refused') printWrapped(answer, 4)
  else if (command === 'view') printBlock(answer, { indent: 4, linesMax: 7 })
  else if (isFull) printBlock(answer.split('\n')[0] ?? '', { indent: 4 })
}

/** Moving or deleting a directory is one commit with a version for each memory below it. */
async function showCommit(store: MemoryStore, input: Input, { commit }: Outcome): Promise<void> {
  if (commit === undefined) {
    if (input.command !== 'view') print(style('yellow', '    no commit: nothing was changed'))
    return
  }
  const { data: versions } = await store.history.versions({ limit: 100 })
  const rows = versions.filter((version) => version.commit === commit).length
  if (isFull) print(style('green', `    commit ${commit}${rows === 1 ? '' : `, ${rows} versions`}`))
}

async function send(store: MemoryStore, tool: MemoryTool, input: Input): Promise<Outcome> {
  const before = (await store.status()).head
  const { answer, failed } = await tool.run(input).then(
    (text) => ({ answer: text, failed: false }),
    (error: unknown) => ({ answer: messageOf(error), failed: true }),
  )
  const { head } = await store.status()
  const commit = head === before ? undefined : head
  const kind = failed ? 'refused' : commit === undefined ? 'answers' : 'commits'
  return { kind, answer, commit }
}

function check({ input, outcome, saying }: Call, found: Outcome): void {
  const isSound = found.kind !== 'refused' || found.commit === undefined
  if (found.kind === outcome && isSound && found.answer.includes(saying ?? '')) return
  const wanted = saying === undefined ? outcome : `${outcome}, saying "${saying}"`
  throw new Error(`The transcript expects another outcome of ${input.command}: ${wanted}`)
}

/** The paths and lines of a command. */
function argumentsOf(input: Input): string {
  if (input.command === 'rename') return `${input.old_path} to ${input.new_path}`
  const range = input.view_range === undefined ? '' : `, lines ${input.view_range.join(' to ')}`
  const line = input.insert_line === undefined ? '' : `, after line ${input.insert_line}`
  const { length } = linesOf(input.file_text)
  const size = length === 0 ? '' : `, ${length} ${length === 1 ? 'line' : 'lines'}`
  return `${input.path}${range}${line}${size}`
}

/** The lines that an edit removes and adds. */
function editOf(input: Input): string[] {
  return [
    ...linesOf(input.old_str).map((line) => `- ${line}`),
    ...linesOf(input.new_str).map((line) => `+ ${line}`),
    ...linesOf(input.insert_text).map((line) => `+ ${line}`),
  ]
}

function linesOf(text: string | undefined): string[] {
  return text === undefined ? [] : text.replace(/\n$/, '').split('\n')
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
