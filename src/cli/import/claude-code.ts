// The notes that the agent of this name keeps of a project by itself (its documentation, "auto
// memory"): Markdown below `projects/<project>/memory` of its directory, of which MEMORY.md is the
// index. Instructions, which people write, stay where it reads them.

import { existsSync, lstatSync, readdirSync, realpathSync, statSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import { attempt, findTextFile } from '../../home/files.ts'
import { onlyLine } from '../../plain-input.ts'
import { CommandError } from '../call/command-error.ts'
import type { Input } from '../call/command.ts'
import type { Context } from '../call/context.ts'
import { findNamedMemory } from './claude-settings.ts'
import { findMarkdownBelow } from './markdown.ts'
import type { Found } from './source.ts'

/** A longer name of a project is cut there, and a hash follows. */
const PROJECT_LENGTH_MAX = 200

/** The source is a directory of memory, one that holds it, or else that of this project. */
export function findClaudeCode(context: Context, input: Input): Promise<Found> {
  const given = input.findArgument(0)
  const root = given === undefined ? memoryOfProject(context) : memoryBelow(given)
  return findMarkdownBelow(context, input, root, `/claude-code/${projectName(root)}`)
}

function memoryBelow(directory: string): string {
  const inner = join(directory, 'memory')
  return isDirectory(inner) ? inner : directory
}

/** `home-alice-app` of `projects/-home-alice-app/memory`: where the project is. */
function projectName(root: string): string {
  const path = resolve(root)
  const name = basename(basename(path) === 'memory' ? dirname(path) : path)
  return name.replace(/^-+(?=.)/, '')
}

/** Of the directory that the command runs in, or of the git repository that this belongs to. */
function memoryOfProject(context: Context): string {
  const { claudeDirectory } = context.environment
  const projects = join(claudeDirectory, 'projects')
  const roots = projectRoots(process.cwd())
  const named = findNamedMemory(context, roots)
  if (named !== undefined) return named
  for (const directory of roots) {
    const found = findProject(projects, directory.replaceAll(/[^A-Za-z0-9]/g, '-'))
    if (found !== undefined) return found
  }
  throw new CommandError(
    'invalid_input',
    `Claude Code has no memory of this directory in ${projects}`,
    'Run it in the directory of the project, or name a directory: ' +
      '`gitlocket import --from claude-code ~/.claude/projects/<project>/memory`',
  )
}

function findProject(projects: string, slug: string): string | undefined {
  if (slug.length <= PROJECT_LENGTH_MAX) {
    const memory = join(projects, slug, 'memory')
    return isDirectory(memory) ? memory : undefined
  }
  if (!existsSync(projects)) return undefined
  const start = `${slug.slice(0, PROJECT_LENGTH_MAX)}-`
  const names = attempt('list a directory', projects, () => readdirSync(projects))
  const found = names
    .filter((name) => name.startsWith(start))
    .map((name) => join(projects, name, 'memory'))
    .filter(isDirectory)
  // The hash is not documented: two that begin alike cannot be told apart.
  return found.length === 1 ? found[0] : undefined
}

/** The directory itself, and the repository above it: all worktrees share their notes. */
function projectRoots(directory: string): readonly string[] {
  const roots = [directory]
  for (let at = directory; ; at = dirname(at)) {
    const git = join(at, '.git')
    const found = lstatSync(git, { throwIfNoEntry: false })
    if (found !== undefined) {
      const shared = found.isFile() ? findShared(git) : undefined
      return [...roots, at, ...(shared === undefined ? [] : [shared])]
    }
    if (dirname(at) === at) return roots
  }
}

/**
 * What all worktrees of a repository share: its own working tree, or a bare repository itself. The
 * file `.git` of a foreign project may name any directory, so that must name the worktree, too.
 */
function findShared(file: string): string | undefined {
  const own = findPath(file, /^gitdir: (.+)$/)
  if (own === undefined) return undefined
  const [common, worktree] = [findPath(join(own, 'commondir')), findPath(join(own, 'gitdir'))]
  if (common === undefined || dirname(own) !== join(common, 'worktrees')) return undefined
  if (worktree === undefined || !existsSync(worktree)) return undefined
  if (realpathSync(worktree) !== realpathSync(file)) return undefined
  return basename(common) === '.git' ? dirname(common) : common
}

/** The path that a file of git holds, relative to its own directory or absolute. */
function findPath(file: string, form = /^(.+)$/): string | undefined {
  const line = onlyLine(findTextFile('a file of git', file, false) ?? '') ?? ''
  const [, named] = form.exec(line) ?? []
  return named === undefined ? undefined : resolve(dirname(file), named)
}

function isDirectory(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true
}
