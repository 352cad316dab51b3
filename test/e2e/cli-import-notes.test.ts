// `import --from` of notes in Markdown, without the other files of the programs that keep them.
// @module-tag slow

import { execFileSync } from 'node:child_process'
import { mkdirSync, realpathSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { cleanEnvironment, git } from '../support/temporary.ts'
import { call, type Called } from './cli-call.ts'
import { type Home, newHomeWithStore } from './cli-process.ts'

const note =
  '---\ntitle: "Ünicode: [x]"\ntags: [a, b]\n---\r\n# See [[Other note|alias]] ![[a.png]]\n'

/** As a project of this directory is called below `projects`. */
function slugOf(directory: string): string {
  return realpathSync(directory).replaceAll(/[^A-Za-z0-9]/g, '-')
}

/** The command in another directory of the home. */
function within(home: Home, directory: string, ...words: readonly string[]): Promise<Called> {
  return call(words, { directory: join(home.directory, directory), env: home.environment() })
}

describe('markdown', () => {
  test('a vault keeps notes byte for byte, and the rest is counted', async () => {
    const home = await newHomeWithStore()
    home.file('vault/Daily/2026-01-01.md', note)
    home.file('vault/READ.MARKDOWN', 'text')
    home.file('vault/.obsidian/plugins/x/README.md', 'not mine')
    home.file('vault/.trash/old.md', 'thrown away')
    home.file('vault/.git/info.md', 'not mine')
    home.file('vault/site/node_modules/p/README.md', 'not mine')
    home.file('vault/.hidden.md', 'not mine')
    for (const name of ['a.png', 'b.pdf', 'c.canvas', 'd.txt']) home.file(`vault/${name}`, '\0')
    const made = await home.call(['import', '--from', 'markdown', 'vault'])
    expect(made).toMatchObject({ exitCode: 0 })
    expect(made.stderr).toBe(
      'Left out:\n' +
        '  hidden directory (3): vault/.git, vault/.obsidian, vault/.trash\n' +
        '  hidden file (1): vault/.hidden.md\n' +
        '  not Markdown (4): vault/a.png, vault/b.pdf, vault/c.canvas, and 1 more\n' +
        '  packages (1): vault/site/node_modules\n',
    )
    expect(await home.ok('ls', '-R')).toBe('/Daily/2026-01-01.md\n/READ.MARKDOWN\n')
    expect(await home.ok('cat', 'Daily/2026-01-01.md')).toBe(note)
    const again = await home.call(['import', '--from', 'markdown', 'vault', '--json'])
    const answer = JSON.parse(again.stdout)
    expect(answer).toMatchObject({ imported: 0, unchanged: 2, left_out: { length: 9 } })
  })

  test('two names that differ by case are two memories', async () => {
    const home = await newHomeWithStore()
    home.file('in/A.md', 'large')
    home.file('in/a.md', 'small')
    await home.ok('import', '--from', 'markdown', 'in', '--to', '/notes')
    expect(await home.ok('cat', 'notes/A.md')).toBe('large')
    expect(await home.ok('cat', 'notes/a.md')).toBe('small')
  })

  test('it needs a source, which is a directory', async () => {
    const home = await newHomeWithStore()
    const none = await home.call(['import', '--from', 'markdown'])
    expect(none).toMatchObject({ exitCode: 2 })
    expect(none.stderr).toContain('needs a directory with Markdown')
    home.file('one.md', 'text')
    const file = await home.call(['import', '--from', 'markdown', 'one.md'])
    expect(file.stderr).toContain('one.md is not a directory')
  })
})

describe('basic-memory', () => {
  function withProjects(home: Home, config: unknown): void {
    home.file('notes/specs/search.md', '---\npermalink: specs/search\n---\n- [idea] fast #perf\n')
    home.file('notes/memory.db', 'SQLite format 3\0')
    home.file('.basic-memory/config.json', JSON.stringify(config))
  }

  test('the default project comes from its configuration', async () => {
    const home = await newHomeWithStore()
    withProjects(home, { default_project: 'work', projects: { work: '~/notes', main: '/else' } })
    const made = await home.call(['import', '--from', 'basic-memory', '--json'])
    expect(JSON.parse(made.stdout)).toMatchObject({
      changes: [{ path: '/specs/search.md', action: 'create' }],
      left_out: [{ reason: 'not Markdown' }],
    })
  })

  test('a project is named, also in the newer form, or its directory', async () => {
    const home = await newHomeWithStore()
    const path = join(home.directory, 'notes')
    withProjects(home, { projects: { research: { path, mode: 'local' } } })
    const from = ['import', '--from', 'basic-memory']
    await home.call([...from, 'research', '--to', 'by-name'])
    await home.call([...from, 'notes', '--to', 'by-path'])
    expect(await home.ok('ls', '-R')).toBe('/by-name/specs/search.md\n/by-path/specs/search.md\n')
  })

  test.each([
    ['{"projects":', 'does not hold a JSON object'],
    ['[]', 'does not hold a JSON object'],
    ['{"projects":{"main":7}}', 'There is no directory, and no project'],
    ['{"projects":{},"default_project":"__proto__"}', 'There is no directory, and no project'],
  ])('a configuration %s is refused in words', async (text, words) => {
    const home = await newHomeWithStore()
    home.file('.basic-memory/config.json', text)
    const refused = await home.call(['import', '--from', 'basic-memory'])
    expect(refused).toMatchObject({ exitCode: 2, stdout: '' })
    expect(refused.stderr).toContain(words)
  })

  test('its configuration is found by its variables, after a byte order mark too', async () => {
    const home = await newHomeWithStore()
    home.file('notes/n.md', 'text')
    const text = JSON.stringify({ projects: { main: join(home.directory, 'notes') } })
    const words = ['import', '--from', 'basic-memory', '--dry-run', '--json']
    for (const [file, env] of [
      ['named/config.json', { BASIC_MEMORY_CONFIG_DIR: join(home.directory, 'named') }],
      ['xdg/basic-memory/config.json', { XDG_CONFIG_HOME: join(home.directory, 'xdg') }],
      ['.basic-memory/config.json', { XDG_CONFIG_HOME: join(home.directory, 'none') }],
    ] as const) {
      home.file(file, `\ufeff${text}`)
      const store = { GITLOCKET_IDENTITY_FILE: home.identityFile }
      const made = await home.call(words, { ...env, ...store })
      expect(JSON.parse(made.stdout), file).toMatchObject({ changes: [{ path: '/n.md' }] })
    }
  })

  test('a project is found by the permalink of its name, if only one has it', async () => {
    const home = await newHomeWithStore()
    const path = join(home.directory, 'notes')
    withProjects(home, {
      projects: { 'Work Notes': path, 'Zoë’s_ideas': path, A_b: path, 'a b': '/' },
    })
    const from = ['import', '--from', 'basic-memory', '--dry-run']
    for (const name of [
      'Work Notes',
      'work-notes',
      'WorkNotes',
      'work_notes',
      'zoes-ideas',
      'A_b',
    ]) {
      expect((await home.call([...from, name])).stdout, name).toContain('/specs/search.md')
    }
    expect(await home.call([...from, 'a-b'])).toMatchObject({ exitCode: 2 })
  })

  test('without a configuration it asks for the directory', async () => {
    const home = await newHomeWithStore()
    const none = await home.call(['import', '--from', 'basic-memory'])
    expect(none.stderr).toContain('name the directory of the project')
    const missing = await home.call(['import', '--from', 'basic-memory', 'missing'])
    expect(missing.stderr).toContain('There is nothing at missing')
  })
})

describe('claude-code', () => {
  function withMemory(home: Home, project: string, place = '.claude'): void {
    const memory = `${place}/projects/${project}/memory`
    home.file(`${memory}/MEMORY.md`, '- [Build](build.md)\n')
    home.file(`${memory}/build.md`, '---\nname: build\ntype: project\n---\nnpm ci\n')
    home.file(`${memory}/.consolidate-lock`, '')
    home.file(`${place}/projects/${project}/0000.jsonl`, '{}')
  }

  test('the memory of the directory that it runs in', async () => {
    const home = await newHomeWithStore()
    mkdirSync(join(home.directory, 'my_app'))
    const slug = slugOf(join(home.directory, 'my_app'))
    withMemory(home, slug)
    await within(home, 'my_app', 'import', '--from', 'claude-code')
    const place = `/claude-code/${slug.slice(1)}`
    expect(await home.ok('ls', '-R')).toBe(`${place}/MEMORY.md\n${place}/build.md\n`)
    const other = await home.call(['import', '--from', 'claude-code'])
    expect(other).toMatchObject({ exitCode: 2 })
    expect(other.stderr).toContain('has no memory of this directory')
  })

  test('that of the repository, in a directory or a worktree of it', { tags: 'slow' }, async () => {
    const home = await newHomeWithStore()
    const run = (...words: string[]): unknown =>
      execFileSync('git', words, {
        cwd: join(home.directory, 'app'),
        env: cleanEnvironment(home.directory),
      })
    mkdirSync(join(home.directory, 'app/src'), { recursive: true })
    run('init', '-q')
    run('commit', '-q', '--allow-empty', '-m', 'first')
    run('worktree', 'add', '-q', '../tree')
    withMemory(home, slugOf(join(home.directory, 'app')))
    await within(home, 'app/src', 'import', '--from', 'claude-code', '--to', 'a')
    await within(home, 'tree', 'import', '--from', 'claude-code', '--to', 'b')
    expect(await home.ok('ls', '-R')).toBe('/a/MEMORY.md\n/a/build.md\n/b/MEMORY.md\n/b/build.md\n')
    // As git writes it with worktree.useRelativePaths.
    home.file('tree/.git', 'gitdir: ../app/.git/worktrees/tree\n')
    const again = await within(home, 'tree', 'import', '--from', 'claude-code', '--to', 'b')
    expect(again.stdout).toContain('2 unchanged')
  })

  test('that of a bare repository, in each of its worktrees', { tags: 'slow' }, async () => {
    const home = await newHomeWithStore()
    const run = (...words: string[]): string => git(words, home.directory).trim()
    run('init', '-q', '--bare', 'app/.bare')
    const tree = run('-C', 'app/.bare', 'mktree')
    const commit = run('-C', 'app/.bare', 'commit-tree', tree, '-m', 'first')
    run('-C', 'app/.bare', 'update-ref', 'HEAD', commit)
    // The directory above it, in which git finds the repository by this file.
    home.file('app/.git', 'gitdir: ./.bare\n')
    run('-C', 'app', 'worktree', 'add', '-q', '--detach', 'tree')
    mkdirSync(join(home.directory, 'app/tree/src'))
    withMemory(home, slugOf(join(home.directory, 'app/.bare')))
    await within(home, 'app/tree/src', 'import', '--from', 'claude-code', '--to', 'a')
    expect(await home.ok('ls', '-R')).toBe('/a/MEMORY.md\n/a/build.md\n')
  })

  test('that of no repository that does not know the worktree', { tags: 'slow' }, async () => {
    const home = await newHomeWithStore()
    execFileSync('git', ['init', '-q', join(home.directory, 'app')])
    withMemory(home, slugOf(join(home.directory, 'app')))
    mkdirSync(join(home.directory, 'app/.git/worktrees/tree'), { recursive: true })
    home.file('foreign/.git', `gitdir: ${home.directory}/app/.git/worktrees/tree\n`)
    const refused = await within(home, 'foreign', 'import', '--from', 'claude-code')
    expect(refused).toMatchObject({ exitCode: 2, stdout: '' })
    home.file('app/.git/worktrees/tree/commondir', '../..\n')
    home.file('app/.git/worktrees/tree/gitdir', `${home.directory}/tree/.git\n`)
    const again = await within(home, 'foreign', 'import', '--from', 'claude-code')
    expect(again).toMatchObject({ exitCode: 2, stdout: '' })
  })

  describe('the setting autoMemoryDirectory', () => {
    const words = ['import', '--from', 'claude-code', '--dry-run']

    async function homeWithDefault(): Promise<Home> {
      const home = await newHomeWithStore()
      mkdirSync(join(home.directory, 'app/src'), { recursive: true })
      execFileSync('git', ['init', '-q', join(home.directory, 'app')])
      withMemory(home, slugOf(join(home.directory, 'app')))
      for (const name of ['users', 'local']) home.file(`${name}/${name}.md`, 'text')
      home.file('app/notes/shared.md', 'text')
      return home
    }

    function setting(home: Home, file: string, autoMemoryDirectory: string): void {
      home.file(file, `\ufeff${JSON.stringify({ autoMemoryDirectory })}`)
    }

    test('of the user, of the project, and of the user in the project, is followed', async () => {
      const home = await homeWithDefault()
      const imported = async (): Promise<string> => (await within(home, 'app/src', ...words)).stdout
      expect(await imported()).toContain('/build.md')
      setting(home, '.claude/settings.json', '~/users')
      expect(await imported()).toContain('/users/users.md')
      setting(home, 'app/.claude/settings.json', join(home.directory, 'app/notes'))
      expect(await imported()).toContain('/notes/shared.md')
      setting(home, 'app/.claude/settings.local.json', join(home.directory, 'local'))
      expect(await imported()).toContain('/local/local.md')
    })

    test('of a project cannot name a place outside of it', async () => {
      const home = await homeWithDefault()
      setting(home, 'app/.claude/settings.json', '~/users')
      const refused = await within(home, 'app', ...words)
      expect(refused).toMatchObject({ exitCode: 2, stdout: '' })
      expect(refused.stderr).toContain('autoMemoryDirectory in ')
    })

    test('that names no directory is an error, and one that is relative is named', async () => {
      const home = await homeWithDefault()
      setting(home, '.claude/settings.json', '/nowhere')
      expect(await within(home, 'app', ...words)).toMatchObject({ exitCode: 2, stdout: '' })
      setting(home, '.claude/settings.json', 'notes')
      const ignored = await within(home, 'app', ...words)
      expect(ignored.stdout).toContain('/build.md')
      expect(ignored.stderr).toMatch(/autoMemoryDirectory in .* is not absolute/)
    })
  })

  test('a named directory: that of a project, its memory, or that of a subagent', async () => {
    const home = await newHomeWithStore()
    withMemory(home, '-home-alice-app')
    home.file('.claude/agent-memory/reviewer/MEMORY.md', 'style')
    const from = ['import', '--from', 'claude-code']
    for (const below of ['projects/-home-alice-app', 'projects/-home-alice-app/memory']) {
      await home.call([...from, `.claude/${below}`])
    }
    await home.call([...from, '.claude/agent-memory/reviewer'])
    expect(await home.ok('ls', '-R')).toBe(
      '/claude-code/home-alice-app/MEMORY.md\n/claude-code/home-alice-app/build.md\n' +
        '/claude-code/reviewer/MEMORY.md\n',
    )
  })

  test('a long path, whose name is cut, and a directory of another name', async () => {
    const home = await newHomeWithStore()
    const deep = join(home.directory, 'd'.repeat(120), 'e'.repeat(120))
    mkdirSync(deep, { recursive: true })
    withMemory(home, `${slugOf(deep).slice(0, 200)}-1a2b3c`, 'elsewhere')
    const env = { CLAUDE_CONFIG_DIR: join(home.directory, 'elsewhere') }
    const words = ['import', '--from', 'claude-code', '--to', 'a']
    const made = await call(words, { directory: deep, env: home.environment(env) })
    expect(made.stdout).toContain('Imported 2 memories\n')
  })
})
