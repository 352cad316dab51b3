// `setup --memory`: mirrors the directories in which that agent program keeps its own
// memory, and adds a hook that makes its session the author of what it writes there. Shows what it
// would do, and does it with --write.

import { attempt, makeDirectory } from '../../home/files.ts'
import type { MemoryStore } from '../../store/memory-store.ts'
import type { Answer, Context, Input } from '../call/command.ts'
import { readAgentEnvironment } from '../call/environment.ts'
import { launchOf } from '../setup/clients.ts'
import { changeFiles, differenceText, hookPart, type Part, proposalOf } from '../setup/parts.ts'
import { inTurn } from '../setup/turns.ts'
import { withStore } from '../store/open-store.ts'
import { listOf } from '../text/words.ts'
import {
  type AgentMemories,
  type AgentMemory,
  agentPlace,
  findAgentMemories,
} from './agent-memory.ts'
import { bindMirror, mirrorFiles, runnerOf } from './mirrors.ts'

export function setupMemory(context: Context, input: Input): Promise<Answer> {
  return withStore(context, async (store) => {
    const memories = await findMemories(context, input, store)
    const part = hookOf(context)
    if (!input.flag('write')) return proposal(memories, part)
    const [file] = await inTurn(context.environment, () => changeFiles([part]))
    const lines: string[] = []
    for (const memory of memories.found) lines.push(await mirrorOne(context, store, memory))
    const hook = file?.text === undefined ? 'nothing to do' : 'wrote the hook'
    const next =
      'Next: `gitlocket mirror --watch`, or `gitlocket mirror login` to start it at login'
    return {
      text: [...lines, `${part.path}: ${hook}`, '', next, ''].join('\n'),
      json: answerJson(memories, true),
      ...noteOf(memories),
    }
  })
}

async function findMemories(
  context: Context,
  input: Input,
  store: MemoryStore,
): Promise<AgentMemories> {
  const projects = await store.list(`${agentPlace}/projects`, { depth: 1 })
  const known = projects?.type === 'directory' ? projects.children.map(({ path }) => path) : []
  const mirrored = mirrorFiles(context, store.id).list()
  return findAgentMemories(context, {
    project: process.cwd(),
    name: input.text('name'),
    withTracked: input.flag('with-tracked'),
    known: known.map((path) => path.slice(path.lastIndexOf('/') + 1)),
    mirrored: new Map(mirrored.map(({ directory, at }) => [directory, at])),
  })
}

async function mirrorOne(
  context: Context,
  store: MemoryStore,
  { directory, at }: AgentMemory,
): Promise<string> {
  attempt('make a directory', directory, () => makeDirectory(directory))
  const choice = { directory, at, isMarkdownOnly: true, hasHook: true }
  const mirror = await bindMirror(context, store.id, choice)
  const runner = runnerOf(context, store, mirror)
  try {
    const { saved, written, notes } = await runner.settle({ signal: context.interrupts.signal })
    const what = notes.problem ?? `saved ${saved}, wrote ${written}`
    return `${directory} and ${at}: ${what}`
  } finally {
    await runner.close()
  }
}

function proposal(memories: AgentMemories, part: Part): Answer {
  const lines = memories.found.map(({ directory, at }) => `${directory} and ${at}`)
  return {
    text: [
      'Would keep these the same, with --write:',
      '',
      listOf(lines),
      '',
      differenceText(proposalOf(part)),
    ].join('\n'),
    json: answerJson(memories, false),
    ...noteOf(memories),
  }
}

function hookOf({ environment }: Context): Part {
  const agents = readAgentEnvironment()
  const launch = launchOf(environment, agents, 'user', ['hook', 'file-written'])
  const hook = {
    event: 'PostToolUse',
    matcher: 'Write|Edit|MultiEdit',
    words: 'hook file-written',
    launch,
  }
  return hookPart(agents, undefined, hook)
}

function noteOf({ leftOut }: AgentMemories): { readonly note?: string } {
  if (leftOut.length === 0) return {}
  return {
    note: `Left out:\n${listOf(leftOut.map(({ directory, reason }) => `${directory}: ${reason}`))}`,
  }
}

function answerJson({ found, leftOut }: AgentMemories, isWritten: boolean): object {
  return {
    client: 'claude-code',
    written: isWritten,
    mirrors: found.map(({ directory, at }) => ({ directory, at })),
    left_out: leftOut.map(({ directory, reason }) => ({ directory, reason })),
  }
}
