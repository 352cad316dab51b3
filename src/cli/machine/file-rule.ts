// The rule for every writer of plain files whose names come from memories: which of them may be
// written into a directory, judged together with what the directory holds already. An agent chooses
// the names, and other programs find their configuration by name: git takes any directory with the
// right three names for a repository, and runs programs that its `config` names. Pure: names in,
// verdicts out.

import { exportProblem, nameKey } from './memory-files.ts'

export interface PlainFiles {
  /** Where they will be written: absolute, without links. The user chooses it. */
  readonly directory: string
  /** Paths of memories, each a file below the directory. */
  readonly paths: readonly string[]
  /** Absolute paths of what exists in the directories of these files, and above. */
  readonly existing: readonly string[]
}

export interface Verdict {
  /** `unsafe` files are never written; `configuration` is, once the user agrees. */
  readonly kind: 'unsafe' | 'configuration'
  /** Why, as the end of a sentence that begins with the path. */
  readonly reason: string
}

/** Path → verdict. A path without one may be written. */
export function judgeFiles({ directory, paths, existing }: PlainFiles): Map<string, Verdict> {
  const before = new Entries(existing)
  const after = new Entries([...existing, ...paths.map((path) => `${directory}${path}`)])
  const isInGit = segmentsOf(directory).some(isGit)
  const verdicts = new Map<string, Verdict>()
  for (const path of paths) {
    const reason =
      exportProblem(path) ??
      (isInGit ? inRepository : repositoryProblem(before, after, `${directory}${path}`))
    if (reason !== undefined) verdicts.set(path, { kind: 'unsafe', reason })
    else if (holdsConfiguration(segmentsOf(path))) {
      verdicts.set(path, { kind: 'configuration', reason: 'may be run or loaded by a program' })
    }
  }
  return verdicts
}

const inRepository = 'would be in a git repository'

/** What git looks for, in the directory itself and in each one above. */
export const repositoryNames: readonly string[] = ['HEAD', 'objects', 'refs', 'commondir']
const repositoryKeys: ReadonlySet<string> = new Set(repositoryNames.map(nameKey))

function repositoryProblem(before: Entries, after: Entries, file: string): string | undefined {
  const segments = segmentsOf(file)
  for (const [depth, segment] of segments.entries()) {
    const directory = segments.slice(0, depth)
    if (before.isRepository(directory)) return inRepository
    // All of these are left out, whichever comes first: only existing files remain.
    if (repositoryKeys.has(segment) && after.isRepository(directory)) {
      return 'would make a git repository of its directory'
    }
  }
  return undefined
}

/** The names in each directory, without regard to case. */
class Entries {
  readonly #names = new Map<string, Set<string>>()

  constructor(paths: readonly string[]) {
    for (const path of paths) {
      const segments = segmentsOf(path)
      for (const [depth, segment] of segments.entries()) {
        if (repositoryKeys.has(segment)) this.#add(segments.slice(0, depth).join('/'), segment)
      }
    }
  }

  /** Where `commondir` is, git looks for the other two elsewhere, as in a linked worktree. */
  isRepository(directory: readonly string[]): boolean {
    const names = this.#names.get(directory.join('/'))
    if (names?.has('head') !== true) return false
    return names.has('commondir') || (names.has('objects') && names.has('refs'))
  }

  #add(directory: string, name: string): void {
    const names = this.#names.get(directory)
    if (names === undefined) this.#names.set(directory, new Set([name]))
    else names.add(name)
  }
}

/** Names as file systems compare them. A backslash separates on some of them. */
function segmentsOf(path: string): readonly string[] {
  return path
    .split(/[\\/]/)
    .map(nameKey)
    .filter((key) => key !== '')
}

function holdsConfiguration(keys: readonly string[]): boolean {
  const file = keys.at(-1) ?? ''
  return keys.slice(0, -1).some(isConfiguration) || (isConfiguration(file) && !isPlainNote(file))
}

function isGit(key: string): boolean {
  return key === '.git'
}

/**
 * What programs run or load merely because a user enters, opens or pushes the directory. By
 * convention such names begin with a dot, and there are too many for a list: `.envrc`, `.vscode`,
 * `.idea`, `.husky`, `.npmrc`, `.github`. Those without one are listed. What runs only when asked
 * for (`Makefile`, `package.json`) and what an agent only reads (`AGENTS.md`, like any memory) is
 * not configuration.
 */
function isConfiguration(key: string): boolean {
  return key.startsWith('.') || undotted.has(key) || key.endsWith('.code-workspace') || isShort(key)
}

/** A file with a leading dot that no program runs, and that at most names files to skip. */
function isPlainNote(key: string): boolean {
  return /^\.(?:gitignore|gitkeep|keep|[^.]+\.(?:md|txt))$/.test(key)
}

const undotted: ReadonlySet<string> = new Set([
  '_darcs',
  'appveyor.yml',
  'autorun.inf',
  'azure-pipelines.yaml',
  'azure-pipelines.yml',
  'bitbucket-pipelines.yml',
  'crush.json',
  'desktop.ini',
  'jenkinsfile',
  'mise.local.toml',
  'mise.toml',
  'opencode.json',
  'opencode.jsonc',
])

/** `VSCODE~1`: on Windows another name of `.vscode`, if that exists. */
function isShort(key: string): boolean {
  return /^[^.~]{1,6}~\d{1,6}(?:\.[^.]{1,3})?$/.test(key)
}
