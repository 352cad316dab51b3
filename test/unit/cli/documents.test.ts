// The commands that the documents show: each is one that the command line takes.

import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { parseCommandLine } from '../../../src/cli/program.ts'
import { loadCommands } from '../../../src/cli/table.ts'
import { git } from '../../support/temporary.ts'

const commands = await loadCommands()
const root = fileURLToPath(new URL('../../..', import.meta.url))
/** Without the generated CLI.md, and the format, which shows subjects of commits. */
const documents = git(['ls-files', '-z', '*.md'], root)
  .split('\0')
  .filter((path) => !['', 'docs/CLI.md', 'docs/FORMAT.md'].includes(path))
  .map((path) => [path, readFileSync(root + path, 'utf8')] as const)

/** The words of a shell command up to what ends it, without the program. */
function wordsOf(command: string): readonly string[] {
  const [text = ''] = command.split(/ [|#;&>]|&&/)
  const words = text.match(/'[^']*'|"[^"]*"|\S+/g) ?? []
  return words.map((word) => word.replaceAll(/^['"]|['"]$/g, '')).slice(1)
}

/** Why the command line refuses it; undefined if it takes it. */
async function problemOf(command: string): Promise<string | undefined> {
  try {
    await parseCommandLine(wordsOf(command))
    return undefined
  } catch (error) {
    return `${command}: ${String(error)}`
  }
}

function shippedFiles(): ReadonlySet<string> {
  const pack = ['pack', '--dry-run', '--json', '--ignore-scripts']
  const packed = execFileSync('npm', pack, { cwd: root, encoding: 'utf8', stdio: 'pipe' })
  return new Set([...packed.matchAll(/"path": "([^"]+)"/g)].map(([, path = '']) => path))
}

/** Lines that are meant to be typed. */
const typed = documents.flatMap(([path, text]) =>
  [...text.matchAll(/^ {4}(?:[A-Z_]+=\S+ )*(?:npx )?(gitlocket .*)$/gm)].map(
    ([, command = '']) => [path, command] as const,
  ),
)
/** Commands that a sentence names, often without what they need. */
const named = documents.flatMap(([path, text]) =>
  [...text.matchAll(/`(gitlocket [a-z][^`]*)`/g)].map(
    ([, command = '']) => [path, command.replaceAll('\n', ' ')] as const,
  ),
)

describe('the documents', () => {
  test.each(typed)('%s: %s', async (_, command) => {
    expect(await problemOf(command)).toBeUndefined()
  })

  test('name commands and options that exist', async () => {
    const problems = await Promise.all(
      named.map(async ([path, command]) => [path, (await problemOf(command)) ?? ''] as const),
    )
    const unknown = problems.filter(([, problem]) => problem !== '' && !/ needs /.test(problem))
    expect(unknown).toEqual([])
    expect(Math.min(typed.length, named.length)).toBeGreaterThan(5)
  })

  test('of the recipes name no file that the package leaves out', { tags: 'slow' }, () => {
    const shipped = shippedFiles()
    const tracked = new Set(git(['ls-files', '-z'], root).split('\0'))
    const recipes = documents.filter(([path]) => path.startsWith('docs/recipes/'))
    const missing = recipes.flatMap(([path, text]) => {
      const spans = [...text.matchAll(/`([^`\s]+)`/g)].map(([, span = '']) => span)
      const files = spans.flatMap((span) => [join(dirname(path), span), span])
      return files.filter((file) => tracked.has(file) && !shipped.has(file))
    })
    expect(missing).toEqual([])
  })

  test('ship in the package, with all that README.md and docs link to', { tags: 'slow' }, () => {
    const shipped = shippedFiles()
    const missing = documents
      .filter(([path]) => shipped.has(path) && path !== 'CONTRIBUTING.md')
      .flatMap(([path, text]) => {
        const links = [...text.matchAll(/\]\((?!https?:)([^)#]+)/g)]
        return links.map(([, link = '']) => join(dirname(path), link))
      })
      .filter((path) => !shipped.has(path))
    expect(shipped).toContain('docs/API.md')
    expect(missing).toEqual([])
  })

  test('docs/GUIDE.md lists every command in its table, and nothing else', () => {
    const [, guide = ''] = documents.find(([path]) => path === 'docs/GUIDE.md') ?? []
    const [, section = ''] = guide.split('\n## Commands\n')
    const rows = section.split('\n').filter((line) => line.startsWith('| '))
    const listed = rows.flatMap((row) => [...row.matchAll(/`([a-z-]+)`/g)].map(([, name]) => name))
    const verbs = new Set(commands.map(({ name }) => name.split(' ')[0]))
    expect(new Set(listed)).toEqual(verbs)
    expect(listed).toHaveLength(verbs.size)
  })

  test('README.md is at most 80 lines and names only commands that exist', () => {
    const [, readme = ''] = documents.find(([path]) => path === 'README.md') ?? []
    const verbs = new Set(commands.map(({ name }) => name.split(' ')[0]))
    const spans = [...readme.matchAll(/`([a-z]+)(?: --[a-z]+)?`|\bgitlocket ([a-z]+)/g)]
    const verbsNamed = spans.map(([, span, command]) => command ?? span ?? '')
    expect(readme.trimEnd().split('\n').length).toBeLessThanOrEqual(80)
    expect(verbsNamed.filter((verb) => !verbs.has(verb))).toEqual([])
    expect(verbsNamed).toContain('redact')
  })
})
