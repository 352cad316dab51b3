// The notes that the agent program keeps of a project by itself (its documentation, "auto memory"):
// Markdown below `projects/<project>/memory` of its directory, with the index MEMORY.md, or in the
// directory that the setting `autoMemoryDirectory` names. Reads no other setting.

import { existsSync, lstatSync, readdirSync, realpathSync, statSync } from 'node:fs'
import { basename, dirname, isAbsolute, join, resolve, sep } from 'node:path'
import { attempt, findTextFile } from '../../home/files.ts'
import { onlyLine } from '../../plain-input.ts'
import { CommandError, type Context, type Input } from '../call/command.ts'
import type { Environment } from '../call/environment.ts'
import { findObject } from '../machine/json.ts'
import { findMarkdownBelow } from './files.ts'
import type { FoundTexts } from './source.ts'

/** The program cuts a longer name of a project there, and appends a hash. */
const PROJECT_LENGTH_MAX = 200
const SETTING = 'autoMemoryDirectory'

/** The source is a directory of notes, one that holds it, or else that of this project. */
export function findClaudeCode(context: Context, input: Input): Promise<FoundTexts> {
  const given = input.findArgument(0)
  const root = given === undefined ? memoryOfProject(context) : memoryBelow(given)
  const path = resolve(root)
  // `home-alice-app` of `projects/-home-alice-app/memory`
  const name = basename(basename(path) === 'memory' ? dirname(path) : path).replace(/^-+(?=.)/, '')
  return findMarkdownBelow(context, input, root, `/claude-code/${name}`)
}

function memoryBelow(directory: string): string {
  const inner = join(directory, 'memory')
  return isDirectory(inner) ? inner : directory
}

/** Of the current directory, or of the git repository around it. */
function memoryOfProject(context: Context): string {
  const projects = join(context.environment.claudeDirectory, 'projects')
  const roots = projectRoots(process.cwd())
  const found = findNamedMemory(context, roots) ?? findProjectMemory(projects, roots)
  if (found !== undefined) return found
  throw new CommandError(
    'invalid_input',
    `Claude Code has no memory of this directory in ${projects}`,
    'Run it in the directory of the project, or name a directory: ' +
      '`gitlocket import --from claude-code ~/.claude/projects/<project>/memory`',
  )
}

/** The directory that the program itself has chosen for a project, if it exists. */
export function findProjectMemory(projects: string, roots: readonly string[]): string | undefined {
  for (const directory of roots) {
    const found = findProject(projects, slugOf(directory))
    if (found !== undefined) return found
  }
  return undefined
}

/** The directory that the program will choose; undefined for a long path, which gets a hash. */
export function newProjectMemory(projects: string, root: string): string | undefined {
  const slug = slugOf(root)
  return slug.length > PROJECT_LENGTH_MAX ? undefined : join(projects, slug, 'memory')
}

function slugOf(directory: string): string {
  return directory.replaceAll(/[^A-Za-z0-9]/g, '-')
}

function findProject(projects: string, slug: string): string | undefined {
  const start = `${slug.slice(0, PROJECT_LENGTH_MAX)}-`
  const names = slug.length <= PROJECT_LENGTH_MAX ? [slug] : namesIn(projects)
  const found = names
    .filter((name) => name === slug || name.startsWith(start))
    .map((name) => join(projects, name, 'memory'))
    .filter(isDirectory)
  // The hash is not documented: two names that begin alike cannot be told apart.
  return found.length === 1 ? found[0] : undefined
}

/** The directory itself, and the repository above it: all worktrees share their notes. */
export function projectRoots(directory: string): readonly string[] {
  for (let at = directory; ; at = dirname(at)) {
    const git = join(at, '.git')
    const found = lstatSync(git, { throwIfNoEntry: false })
    const shared = found?.isFile() === true ? findShared(git) : []
    if (found !== undefined) return [directory, at, ...shared]
    if (dirname(at) === at) return [directory]
  }
}

/**
 * The working tree that all worktrees of a repository share, or the bare repository itself. The
 * file `.git` of a foreign project may name any directory: that must name the worktree, too.
 */
function findShared(file: string): readonly string[] {
  const own = findPath(file, /^gitdir: (.+)$/)
  if (own === undefined) return []
  const [common, worktree] = [findPath(join(own, 'commondir')), findPath(join(own, 'gitdir'))]
  if (common === undefined || dirname(own) !== join(common, 'worktrees')) return []
  if (worktree === undefined || !existsSync(worktree)) return []
  if (realpathSync(worktree) !== realpathSync(file)) return []
  return [basename(common) === '.git' ? dirname(common) : common]
}

/** The path that a file of git holds, relative to its own directory or absolute. */
function findPath(file: string, form = /^(.+)$/): string | undefined {
  const line = onlyLine(findTextFile('a file of git', file, false) ?? '') ?? ''
  const [, named] = form.exec(line) ?? []
  return named === undefined ? undefined : resolve(dirname(file), named)
}

interface SettingsContext extends Pick<Context, 'notices'> {
  readonly environment: Pick<
    Environment,
    'claudeDirectory' | 'claudePolicyDirectory' | 'homeDirectory'
  >
}

/**
 * The directory that the settings name for a project, in the program's order of precedence;
 * undefined if none does. Throws `invalid_input` if the notes may not be there.
 */
export function findNamedMemory(
  context: SettingsContext,
  roots: readonly string[],
): string | undefined {
  const { claudeDirectory, claudePolicyDirectory, homeDirectory } = context.environment
  const local = roots.map((root) => join(root, '.claude/settings.local.json'))
  const shared = new Set(roots.map((root) => join(root, '.claude/settings.json')))
  const user = join(claudeDirectory, 'settings.json')
  const files = [...policiesIn(claudePolicyDirectory), ...local, ...shared, user]
  // In the home directory the settings of the project are those of the user.
  shared.delete(user)
  for (const file of files) {
    const directory = findSetting(context, file)?.replace(/^~(?=\/|$)/, () => homeDirectory)
    if (directory === undefined) continue
    if (!isAbsolute(directory)) {
      context.notices.push(`${SETTING} in ${file} is not absolute, so that Claude Code ignores it`)
      continue
    }
    if (!isDirectory(directory)) throw unusable(file, `names no directory: ${directory}`)
    // The author of a repository must not choose what the user of a clone imports.
    if (shared.has(file) && !roots.some((root) => isWithin(root, directory))) {
      throw unusable(file, `names a place outside of the project: ${directory}`)
    }
    return directory
  }
  return undefined
}

/** The files of the organization, strongest first: of those in the directory, later names. */
function policiesIn(directory: string): readonly string[] {
  const drops = join(directory, 'managed-settings.d')
  const read = namesIn(drops).filter((name) => name.endsWith('.json') && !name.startsWith('.'))
  const overlaid = read.toSorted().toReversed()
  return [...overlaid.map((name) => join(drops, name)), join(directory, 'managed-settings.json')]
}

function findSetting(context: SettingsContext, file: string): string | undefined {
  const text = findTextFile('the settings of Claude Code', file, false)
  if (text === undefined) return undefined
  const settings = findObject(text)
  if (settings === undefined) context.notices.push(`${file} holds no JSON object; it was ignored`)
  const value = settings?.[SETTING]
  return typeof value === 'string' && value !== '' ? value : undefined
}

function isWithin(root: string, directory: string): boolean {
  return `${resolve(directory)}${sep}`.startsWith(`${resolve(root)}${sep}`)
}

function unusable(file: string, problem: string): CommandError {
  const hint =
    'Name the directory with the notes: `gitlocket import --from claude-code <directory>`'
  return new CommandError('invalid_input', `${SETTING} in ${file} ${problem}`, hint)
}

/** None if the directory does not exist. */
export function namesIn(directory: string): readonly string[] {
  if (!existsSync(directory)) return []
  return attempt('list a directory', directory, () => readdirSync(directory))
}

function isDirectory(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true
}
