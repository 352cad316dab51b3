// The files of an agent program that a set-up adds to: the wanted contents of each, a preview, and
// the change itself. A file that cannot be extended is refused before any is changed.

import { join } from 'node:path'
import { systemDisk } from '../../disk/system-disk.ts'
import { StoreError } from '../../errors.ts'
import type { AgentEnvironment } from '../call/environment.ts'
import { isObject, type JsonObject } from '../machine/json.ts'
import { type Launch, shellLine } from './clients.ts'
import { type Addition, addTo, holds, type Wanted } from './json-text.ts'
import { addTable } from './toml-text.ts'
import { checkWritable, readUserFile, replaceUserFile, tidy, type UserFile } from './user-file.ts'

/** One file, and its wanted contents. */
export interface Part {
  readonly path: string
  /** The file of a project lies in it. */
  readonly within: string | undefined
  readonly wanted: readonly Wanted[]
}

/** A file, and its text with the missing parts. */
export interface Proposal {
  readonly file: UserFile
  /** Undefined if nothing is missing. */
  readonly text: string | undefined
  /** The new parts, without the existing text. */
  readonly lines: readonly string[]
}

/** Throws `invalid_input` if the file is in the way, and a storage code. */
export function proposalOf({ path, within, wanted }: Part): Proposal {
  const file = readUserFile(path, within)
  let text = file.text ?? ''
  const lines: string[] = []
  for (const one of wanted) {
    const added = additionTo(path, text, one)
    if (added === undefined) continue
    text = added.text
    lines.push(...added.lines)
  }
  return { file, text: lines.length === 0 ? undefined : text, lines }
}

function additionTo(path: string, text: string, wanted: Wanted): Addition | undefined {
  return path.endsWith('.toml') ? addTable(path, text, wanted) : addTo(path, text, wanted)
}

/** A file that holds the wanted contents and nothing else. */
export function exampleOf({ path, wanted }: Part): string {
  let text = ''
  for (const one of wanted) {
    const added = additionTo(path, text, one)
    if (added === undefined) throw new StoreError('invalid_input', 'There is nothing to add')
    text = added.text
  }
  return text
}

/** What it proposes is read in the same turn: two set-ups may add to one file. */
export async function changeFiles(parts: readonly Part[]): Promise<readonly Proposal[]> {
  const proposals = parts.map(proposalOf)
  for (const { file, text } of proposals) if (text !== undefined) checkWritable(file)
  for (const { file, text } of proposals) {
    if (text === undefined) tidy(systemDisk, file.target)
    else await replaceUserFile(systemDisk, file, text)
  }
  return proposals
}

/** The lines that are new alone: those next to them may hold secrets of other programs. */
export function differenceText({ file, text, lines }: Proposal): string {
  if (text === undefined) return `${file.path}: nothing to do\n`
  return `${file.path}: would get\n${lines.map((line) => `+ ${line}\n`).join('')}`
}

const HOOK_SECONDS = 10

/** A command that the agent program runs at an event. */
export interface Hook {
  readonly event: string
  /** The tools that it is about. */
  readonly matcher?: string
  /** What tells it from other hooks of ours: `hook session-start`. */
  readonly words: string
  readonly launch: Launch
}

/** The hook takes the place of its shell, so that its parent is the program itself. */
export function hookPart(
  { homeDirectory, claudeDirectory }: AgentEnvironment,
  within: string | undefined,
  { event, matcher, words, launch: { command, args, env } }: Hook,
): Part {
  const variables = Object.entries(env).map(([name, value]) => `${name}=${value}`)
  const prefix = variables.length === 0 ? ['exec'] : ['exec', 'env', ...variables]
  const line = shellLine([...prefix, command, ...args])
  const hook = { type: 'command', command: line, timeout: HOOK_SECONDS }
  const judge = (item: JsonObject): 'same' | 'other' | undefined => {
    const hooks: readonly unknown[] = Array.isArray(item['hooks']) ? item['hooks'] : []
    if (hooks.some((one) => holds(one, { type: 'command', command: line }))) return 'same'
    return hooks.some((one) => isOurs(one, words)) ? 'other' : undefined
  }
  const directory =
    within === undefined
      ? (claudeDirectory ?? join(homeDirectory, '.claude'))
      : join(within, '.claude')
  const value = matcher === undefined ? { hooks: [hook] } : { matcher, hooks: [hook] }
  const wanted: Wanted = { path: ['hooks', event], value, judge }
  return { path: join(directory, 'settings.json'), within, wanted: [wanted] }
}

function isOurs(hook: unknown, words: string): boolean {
  const command = isObject(hook) ? hook['command'] : undefined
  if (typeof command !== 'string') return false
  const [, ...rest] = command.split('gitlocket')
  return rest.join('gitlocket').includes(words)
}
