// The directories in which an agent program keeps its own memory (its documentation, "auto memory"
// and "subagents"), and the place in the store for each of them. A project is known again on
// another machine by the first commit of its repository and the name of its remote; the name that
// the program gives it is made of its path, which differs there.

import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync, statSync } from 'node:fs'
import { basename, join, resolve } from 'node:path'
import { attempt } from '../../home/files.ts'
import { CommandError, type Context } from '../call/command.ts'
import {
  findNamedMemory,
  findProjectMemory,
  namesIn,
  newProjectMemory,
  projectRoots,
} from '../import/claude-code.ts'
import { readNamedFile } from '../import/tree.ts'
import { isObject } from '../machine/json.ts'

/** Where all of it is in the store. */
export const agentPlace = '/claude-code'
const PROJECTS = `${agentPlace}/projects`
/** Digits of the first commit in the name of a project. */
const COMMIT_DIGITS = 10
/** Of a transcript, whose first lines name the directory of the session. */
const TRANSCRIPT_BYTES = 65_536

export interface AgentMemory {
  readonly directory: string
  readonly at: string
}

export interface AgentMemories {
  readonly found: readonly AgentMemory[]
  /** Directories that are not mirrored, each with the reason. */
  readonly leftOut: readonly { readonly directory: string; readonly reason: string }[]
}

export interface MemorySearch {
  readonly project: string
  /** The name of this project, if it is in no repository. */
  readonly name: string | undefined
  /** Includes those that git may track in the project. */
  readonly withTracked: boolean
  /** The names of the projects that the store has. */
  readonly known: readonly string[]
  /** The directories that are mirrored already. */
  readonly mirrored: ReadonlyMap<string, string>
}

export function findAgentMemories(context: Context, search: MemorySearch): AgentMemories {
  return new Finder(context, search).find()
}

class Finder {
  readonly #found: AgentMemory[] = []
  readonly #leftOut: { directory: string; reason: string }[] = []
  readonly #context: Context
  readonly #search: MemorySearch

  constructor(context: Context, search: MemorySearch) {
    this.#context = context
    this.#search = search
  }

  find(): AgentMemories {
    const { claudeDirectory } = this.#context.environment
    this.#addExisting(join(claudeDirectory, 'agent-memory'), `${agentPlace}/agents`)
    this.#addProject()
    for (const name of namesIn(join(claudeDirectory, 'projects'))) this.#addOther(name)
    return { found: this.#found, leftOut: this.#leftOut }
  }

  /** The project in which the command runs, also if it has no memory yet. */
  #addProject(): void {
    const { project, withTracked } = this.#search
    const projects = join(this.#context.environment.claudeDirectory, 'projects')
    const roots = projectRoots(project)
    const root = roots.at(-1) ?? project
    const named = findNamedMemory(this.#context, roots)
    if (named !== undefined && !isBelow(named, roots)) {
      this.#add(named, `${agentPlace}/memory`)
      return
    }
    const directory =
      named ?? findProjectMemory(projects, roots) ?? newProjectMemory(projects, root)
    const at = this.#placeOf(root, directory)
    if (directory === undefined) this.#leaveOut(root, 'its path is too long: run the program first')
    else this.#add(directory, at)
    this.#addExisting(join(root, '.claude/agent-memory-local'), `${at}/agents-local`)
    const shared = join(root, '.claude/agent-memory')
    if (withTracked) this.#addExisting(shared, `${at}/agents`)
    else if (existsSync(shared)) this.#leaveOut(shared, 'git may track it: --with-tracked adds it')
  }

  /** Another project, whose path a transcript tells. */
  #addOther(slug: string): void {
    const home = join(this.#context.environment.claudeDirectory, 'projects', slug)
    const directory = join(home, 'memory')
    if (!existsSync(directory) || this.#found.some((one) => one.directory === directory)) return
    const known = this.#search.mirrored.get(directory)
    if (known !== undefined) {
      this.#add(directory, known)
      return
    }
    const project = findSessionDirectory(home)
    if (project === undefined || !existsSync(project)) {
      this.#leaveOut(directory, 'its project is not known: `gitlocket mirror` takes it with --at')
      return
    }
    const identity = identify(this.#context, projectRoots(project).at(-1) ?? project)
    if (identity === undefined) this.#leaveOut(directory, 'its project is in no repository')
    else this.#add(directory, `${PROJECTS}/${this.#nameOf(identity)}`)
  }

  /** The place of this project. Throws `invalid_input` if it needs a name. */
  #placeOf(root: string, directory: string | undefined): string {
    const { name, known, mirrored } = this.#search
    const identity = identify(this.#context, root)
    if (name !== undefined) return `${PROJECTS}/${name}`
    if (identity !== undefined) return `${PROJECTS}/${this.#nameOf(identity)}`
    const own = nameOf(basename(root))
    const isMine = directory !== undefined && mirrored.get(directory) === `${PROJECTS}/${own}`
    if (!known.includes(own) || isMine) return `${PROJECTS}/${own}`
    throw new CommandError(
      'path_conflict',
      `The store has the memory of another project with the name ${own}, or of this one`,
      `Choose with --name: \`--name ${own}\` if it is this one, or else another name`,
    )
  }

  /**
   * Without a remote a project is known by its first commit alone, whatever its directory's name.
   */
  #nameOf({ name, commit, hasRemote }: ProjectIdentity): string {
    const own = `${name}-${commit}`
    const same = this.#search.known.filter((one) => one.endsWith(`-${commit}`))
    return hasRemote || same.length !== 1 ? own : (same[0] ?? own)
  }

  #addExisting(directory: string, at: string): void {
    if (existsSync(directory)) this.#add(directory, at)
  }

  #add(directory: string, at: string): void {
    this.#found.push({ directory: resolve(directory), at })
  }

  #leaveOut(directory: string, reason: string): void {
    this.#leftOut.push({ directory, reason })
  }
}

interface ProjectIdentity {
  /** Of the remote, or else of the directory. */
  readonly name: string
  /** The first digits of the first commit. */
  readonly commit: string
  readonly hasRemote: boolean
}

/** Undefined without git, a repository, or a first commit that is here. */
function identify(context: Context, root: string): ProjectIdentity | undefined {
  const shallow = git(context, root, ['rev-parse', '--is-shallow-repository'])
  if (shallow !== 'false') return undefined
  const first = git(context, root, ['rev-list', '--max-parents=0', 'HEAD'])
    ?.split('\n')
    .toSorted()[0]
  if (first === undefined || !/^[0-9a-f]{40,64}$/.test(first)) return undefined
  const remote = git(context, root, ['remote', 'get-url', 'origin'])
  const address = (remote ?? root).replace(/[/\\]+$/, '').replace(/\.git$/, '')
  const name = nameOf(
    address.slice(Math.max(address.lastIndexOf('/'), address.lastIndexOf(':')) + 1),
  )
  return { name, commit: first.slice(0, COMMIT_DIGITS), hasRemote: remote !== undefined }
}

/** A name in a path of the store. */
function nameOf(text: string): string {
  const name = text.normalize('NFC').replaceAll(/(?:[^\p{L}\p{N}._-]|\p{DI})+/gu, '-')
  return /^\.*$/.test(name) ? 'project' : name
}

function git(
  { environment }: Context,
  directory: string,
  words: readonly string[],
): string | undefined {
  const { status, stdout } = spawnSync('git', ['-C', directory, ...words], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
    env: { PATH: environment.searchPath, HOME: environment.homeDirectory, GIT_OPTIONAL_LOCKS: '0' },
  })
  return status === 0 ? stdout.trim() : undefined
}

function isBelow(directory: string, roots: readonly string[]): boolean {
  return roots.some((root) => `${directory}/`.startsWith(`${root}/`))
}

/** The directory of the newest session whose transcript names one. */
function findSessionDirectory(home: string): string | undefined {
  const names = attempt('list a directory', home, () => readdirSync(home))
  const transcripts = names
    .filter((name) => name.endsWith('.jsonl'))
    .map((name) => join(home, name))
    .map((path) => ({ path, time: statSync(path).mtimeMs }))
    .toSorted((a, b) => b.time - a.time)
  for (const { path } of transcripts.slice(0, 5)) {
    const found = directoryIn(path)
    if (found !== undefined) return found
  }
  return undefined
}

function directoryIn(transcript: string): string | undefined {
  const text = Buffer.from(readNamedFile(transcript, TRANSCRIPT_BYTES)).toString('utf8')
  for (const line of text.split('\n').slice(0, -1)) {
    try {
      const entry: unknown = JSON.parse(line)
      const cwd = isObject(entry) ? entry['cwd'] : undefined
      if (typeof cwd === 'string' && cwd.startsWith('/')) return cwd
    } catch {
      // A line that is still being written.
    }
  }
  return undefined
}
