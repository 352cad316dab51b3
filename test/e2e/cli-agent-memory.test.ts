// `setup --memory`: the files in which the agent program keeps its own memory are
// mirrored, followed to another machine, and an undo takes back what a session wrote there.
// @module-tag slow

import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { bareRemote } from '../support/clones.ts'
import { cleanEnvironment } from '../support/temporary.ts'
import { pinned } from './cli-machines.ts'
import { type Home, mainFile, newHome, newHomeWithStore } from './cli-process.ts'

function git(directory: string, ...words: readonly string[]): void {
  const env = { ...cleanEnvironment(directory), GIT_COMMITTER_DATE: '2026-01-01T00:00:00Z' }
  const author = ['-c', 'user.name=a', '-c', 'user.email=a@example.com']
  execFileSync('git', [...author, ...words], { cwd: directory, env, stdio: 'ignore' })
}

/** A project in a repository whose first commit is the same everywhere. */
function projectOf(home: Home, name: string): string {
  const project = join(home.directory, name)
  mkdirSync(project, { recursive: true })
  git(project, 'init', '--initial-branch=main')
  git(project, 'remote', 'add', 'origin', 'git@example.com:team/app.git')
  writeFileSync(join(project, 'README.md'), 'app\n')
  git(project, 'add', '.')
  git(project, 'commit', '--date', '2026-01-01T00:00:00Z', '-m', 'first')
  return project
}

function memoryOf(home: Home, project: string): string {
  const slug = project.replaceAll(/[^A-Za-z0-9]/g, '-')
  return join(home.directory, '.claude/projects', slug, 'memory')
}

function write(path: string, text: string): void {
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, text)
}

/** The command in a directory of its own. */
function within(home: Home, directory: string, ...words: readonly string[]): string {
  return execFileSync(process.execPath, [mainFile, ...words], {
    cwd: directory,
    env: home.environment(),
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
  })
}

test('a name with a letter that is not seen gives a path of the store', async () => {
  const home = await newHomeWithStore()
  const project = projectOf(home, 'code/app')
  git(project, 'remote', 'set-url', 'origin', 'git@example.com:team/a\u3164b.git')
  write(join(memoryOf(home, project), 'MEMORY.md'), '- [Style](style.md)\n')
  const shown = within(home, project, 'setup', 'claude-code', '--memory', '--write', '--json')
  const at = expect.stringMatching(/^\/claude-code\/projects\/a-b-[0-9a-f]{10}$/)
  expect(JSON.parse(shown)).toMatchObject({ written: true, mirrors: [{ at }] })
})

test('memory of a project and of agents follows to another machine', async () => {
  const url = bareRemote()
  const first = await newHomeWithStore()
  const project = projectOf(first, 'code/app')
  const memory = memoryOf(first, project)
  write(join(memory, 'MEMORY.md'), '- [Style](style.md)\n')
  write(join(memory, 'style.md'), '---\ntype: feedback\n---\nUse pnpm.\n')
  write(join(memory, 'hook.sh'), 'touch canary\n')
  write(join(first.directory, '.claude/agent-memory/reviewer/MEMORY.md'), 'be brief\n')
  write(join(project, '.claude/agent-memory/x/MEMORY.md'), 'shared by git\n')
  const shown = within(first, project, 'setup', 'claude-code', '--memory', '--json')
  expect(JSON.parse(shown)).toMatchObject({
    written: false,
    mirrors: [
      { directory: join(first.directory, '.claude/agent-memory'), at: '/claude-code/agents' },
      {
        directory: memory,
        at: expect.stringMatching(/^\/claude-code\/projects\/app-[0-9a-f]{10}$/),
      },
    ],
    left_out: [{ directory: join(project, '.claude/agent-memory') }],
  })
  expect(existsSync(join(first.directory, '.claude/settings.json'))).toBe(false)
  within(first, project, 'setup', 'claude-code', '--memory', '--write')
  const settings = readFileSync(join(first.directory, '.claude/settings.json'), 'utf8')
  expect(JSON.parse(settings).hooks.PostToolUse).toMatchObject([
    { matcher: 'Write|Edit|MultiEdit' },
  ])
  const paths = await first.ok('ls', JSON.parse(shown).mirrors[1].at)
  expect(paths).toContain('style.md')
  expect(paths).not.toContain('hook.sh')
  await first.ok('remote', 'add', 'origin', url)
  await first.call(['sync'])
  const key = /GLKR1-[0-9A-Z-]+/.exec((await first.call(['key', 'recovery', '--keep-old'])).stdout)
  const second = newHome()
  const file = second.file('recovery', `${key?.[0]}\n`)
  const joined = await second.call(['join', await pinned(first, url)], {
    GITLOCKET_RECOVERY_KEY_FILE: file,
  })
  expect(joined.exitCode, joined.stderr).toBe(0)
  const other = projectOf(second, 'elsewhere/my-copy')
  within(second, other, 'setup', 'claude-code', '--memory', '--write')
  const arrived = join(memoryOf(second, other), 'style.md')
  expect(readFileSync(arrived, 'utf8')).toBe('---\ntype: feedback\n---\nUse pnpm.\n')
  expect(existsSync(join(memoryOf(second, other), 'hook.sh'))).toBe(false)
})

test('the session is the author of what its agent writes, and undo takes it back', async () => {
  const home = await newHomeWithStore()
  const project = projectOf(home, 'app')
  const memory = memoryOf(home, project)
  const note = join(memory, 'note.md')
  write(note, 'one\n')
  within(home, project, 'setup', 'claude-code', '--memory', '--write')
  write(note, 'one\npoison\n')
  const report = { session_id: 'sess-77', tool_name: 'Write', tool_input: { file_path: note } }
  const remote = bareRemote()
  await home.ok('remote', 'add', 'origin', remote)
  const input = JSON.stringify(report)
  const hook = await home.run(['hook', 'file-written', '--sync'], { input })
  expect([hook.exitCode, hook.stdout, hook.stderr]).toEqual([0, '', ''])
  expect(Object(await home.json('status')).remotes).toMatchObject([{ unsent_commits: 0 }])
  const { data } = JSON.parse(await home.ok('log', '-n', '1', '--json'))
  expect(data[0].created_by).toMatchObject({ type: 'session_actor', session_id: 'sess-77' })
  const listed = await home.call(['undo'])
  expect(listed.stdout).toContain('sess-77')
  expect(listed.stderr).toContain('undo --actor mirror')
  await home.call(['undo', 'sess-77', '--yes'])
  within(home, project, 'mirror', memory)
  expect(readFileSync(note, 'utf8')).toBe('one\n')
})

test('the hook leaves other files alone, and never fails', async () => {
  const home = await newHomeWithStore()
  const outside = home.file('outside.md', 'not mirrored\n')
  for (const input of [
    '',
    'no JSON',
    '{}',
    JSON.stringify({ session_id: '../x', tool_input: { file_path: outside } }),
    JSON.stringify({ session_id: 's', tool_input: { file_path: outside } }),
    JSON.stringify({ session_id: 's', tool_input: { file_path: '/no/such/directory/x.md' } }),
  ]) {
    expect((await home.run(['hook', 'file-written'], { input })).exitCode, input).toBe(0)
  }
  expect(await home.ok('ls')).toBe('')
})

test('a project without a repository needs a name if another one has it', async () => {
  const home = await newHomeWithStore()
  const [one, two] = [join(home.directory, 'a/app'), join(home.directory, 'b/app')]
  for (const project of [one, two]) mkdirSync(project, { recursive: true })
  write(join(memoryOf(home, one), 'a.md'), 'a\n')
  within(home, one, 'setup', 'claude-code', '--memory', '--write')
  expect(() => within(home, two, 'setup', 'claude-code', '--memory', '--write')).toThrow('--name')
  within(home, two, 'setup', 'claude-code', '--memory', '--write', '--name', 'app-two')
  within(home, one, 'setup', 'claude-code', '--memory', '--write')
  expect(await home.ok('ls', '/claude-code/projects/app')).toContain('a.md')
  rmSync(one, { recursive: true })
})
