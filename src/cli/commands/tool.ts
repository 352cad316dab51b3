// `tool`: the memory tool for programs in any language. Takes the inputs of a model as JSON, and
// answers each with the content of the tool result, once what it did is durable.

import { plainTextOf } from '../../home/files.ts'
import { contentBytesFormatMax } from '../../limits.ts'
import type { Mount } from '../../memory-tool/mount.ts'
import { Refusal } from '../../memory-tool/refusal.ts'
import {
  answerTool,
  commandRunner,
  type RunCommand,
  type ToolAnswer,
} from '../../memory-tool/run-command.ts'
import { ToolSpace } from '../../memory-tool/tool-space.ts'
import type { MemoryStore } from '../../store/memory-store.ts'
import { type Answer, type Command, type Context, type Input, usageError } from '../call/command.ts'
import { authorOf, authorOptions } from '../call/options.ts'
import { readPlainInput } from '../machine/files.ts'
import { withStore } from '../store/open-store.ts'
import { grantedIntervalOf, syncIntervalOf } from '../text/times.ts'

export const commands: readonly Command[] = [
  {
    name: 'tool',
    summary: 'Run commands of the memory tool, for an agent in any language',
    options: {
      '--stream': 'One input and one answer a line, until the input ends',
      '--read-only': 'Refuse every command but view',
      '--sync <interval>': 'With --stream: sync after changes, and such as every 5m',
      ...authorOptions,
    },
    notes: [
      'Takes the input of the memory tool, as the model wrote it, as JSON from standard input: ' +
        '{"command": "view", "path": "/memories"}. Answers on one line with the content of the ' +
        'tool result: {"content": "…", "is_error": false}. What the tool refuses is an answer, ' +
        'too, and the exit code is 0.',
      'With --stream the store is kept open, and lines are run in their order: the answer comes ' +
        'when the change is durable. The end of the input, Ctrl-C and SIGTERM end it; a command ' +
        'that is being run is still answered. With --sync, as with `gitlocket mcp`, a change is ' +
        'sent within five seconds, and the rest at the end.',
    ],
    run: tool,
  },
]

/** The limit of a line, as of a whole standard input. */
const LINE_BYTES_MAX = contentBytesFormatMax
const NEWLINE = 0x0a

async function tool(context: Context, input: Input): Promise<Answer> {
  if (input.flag('stream')) return stream(context, input)
  if (input.text('sync') !== undefined) throw usageError('--sync needs --stream', 'tool')
  const reading = readPlainInput()
  // No one waits for a store while someone types.
  await reading.catch(() => undefined)
  return withStore(context, async (store) => {
    const run = runnerOf(context, input, store)
    const answer = await answerTool(run, async () => parse(await reading))
    return { text: lineOf(answer), json: answer }
  })
}

/** Ends with standard input, or by a signal: a command that is being run is still answered. */
async function stream(context: Context, input: Input): Promise<Answer> {
  if (input.flag('json')) throw usageError('--stream answers with JSON, without --json', 'tool')
  const ending = 'Ended; all answered changes are safe'
  const everyMs = syncIntervalOf(input, 'tool') ?? grantedIntervalOf(context)
  const sends = everyMs === undefined ? undefined : { actor: 'gitlocket-tool', everyMs }
  const answerAll = (store: MemoryStore): Promise<void> =>
    answerLines(context, runnerOf(context, input, store))
  await context.interrupts.untilStopped(ending, () => withStore(context, answerAll, { sends }))
  return { text: '', json: {} }
}

/** In their order: a line is looked at when the one before it has been answered. */
async function answerLines({ interrupts }: Context, run: RunCommand): Promise<void> {
  const { signal } = interrupts
  signal.addEventListener('abort', endInput, { once: true })
  if (signal.aborted) endInput()
  try {
    for await (const line of readLines(process.stdin, LINE_BYTES_MAX)) {
      await print(lineOf(await answerTool(run, () => parseLine(line))))
    }
  } catch (error) {
    if (!signal.aborted) throw error
  }
}

function endInput(): void {
  process.stdin.destroy()
}

function runnerOf(context: Context, input: Input, store: MemoryStore): RunCommand {
  const access = input.flag('read-only') ? 'read_only' : 'read_write'
  const open = { store, me: store.as(authorOf(context, input)), access } as const
  const mount: Mount = {
    name: 'memories',
    storeId: store.id,
    access,
    description: '',
    instructions: undefined,
    root: '/',
    use: (work) => work(open),
  }
  return commandRunner(ToolSpace.of([mount], true))
}

function parseLine(line: Uint8Array | undefined): unknown {
  if (line !== undefined) return parse(plainTextOf(line, 'the line'))
  throw new Refusal(`The line has more than ${LINE_BYTES_MAX} bytes`)
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    const example = '{"command": "view", "path": "/memories"}'
    throw new Refusal(`The input is not JSON: it should be an object such as ${example}`)
  }
}

/** ASCII alone, so that no reader's encoding or idea of a line end matters. */
function lineOf(answer: ToolAnswer): string {
  const text = JSON.stringify(answer).replaceAll(/[^ -~]/g, (unit) => {
    return `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`
  })
  return `${text}\n`
}

/** Resolves when the reader, or a pipe, has it. */
function print(text: string): Promise<void> {
  return new Promise((resolve, reject) => {
    process.stdout.write(text, (error) => (error ? reject(error) : resolve()))
  })
}

/**
 * Each line as it comes, without its end; undefined for a longer one, which is read to its end and
 * not kept. An empty rest is no line.
 */
async function* readLines(
  input: AsyncIterable<Uint8Array>,
  bytesMax: number,
): AsyncGenerator<Uint8Array | undefined, void> {
  let parts: Uint8Array[] = []
  let length = 0
  const take = (part: Uint8Array): void => {
    length += part.length
    if (length <= bytesMax) parts.push(part)
    else parts = []
  }
  const line = (): Uint8Array | undefined => {
    const whole = length <= bytesMax ? Buffer.concat(parts) : undefined
    parts = []
    length = 0
    return whole
  }
  for await (const chunk of input) {
    let from = 0
    for (let end = chunk.indexOf(NEWLINE); end !== -1; end = chunk.indexOf(NEWLINE, from)) {
      take(chunk.subarray(from, end))
      from = end + 1
      yield line()
    }
    take(chunk.subarray(from))
  }
  if (length > 0) yield line()
}
