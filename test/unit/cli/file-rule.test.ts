// The rule for plain files: names of memories and of what exists, in; verdicts, out.

import { describe, expect, test } from 'vitest'
import { judgeFiles } from '../../../src/cli/machine/file-rule.ts'

function judge(
  paths: readonly string[],
  existing: readonly string[] = [],
  directory = '/home/a/out',
): Readonly<Record<string, string>> {
  const verdicts = judgeFiles({ directory, paths, existing })
  return Object.fromEntries(Array.from(verdicts, ([path, { kind }]) => [path, kind]))
}

function allUnsafe(paths: readonly string[]): Readonly<Record<string, string>> {
  return Object.fromEntries(paths.map((path) => [path, 'unsafe']))
}

describe('a repository', () => {
  test.each([
    [['/HEAD', '/objects/a', '/refs/a']],
    [['/a/HEAD', '/a/objects', '/a/refs']],
    [['/a/head', '/a/Objects/x', '/A/REFS/x']],
    [['/a/HEAD', '/a/commondir']],
    [['/a/HEAD.', '/a/objects /x', '/a/refs::$DATA']],
    [['/a\\HEAD', '/a\\objects\\x', '/a/refs/x']],
    [['/a/HE\u200cAD', '/a/ob\ufeffjects/x', '/a/refs/x']],
    [['/HEAD', '/objects/HEAD', '/objects/commondir', '/refs/x']],
    [['/.x/HEAD', '/.x/objects/a', '/.x/refs/a']],
  ])('is not made of %j', (paths) => {
    expect(judge(['/config', '/a/config', ...paths])).toEqual(allUnsafe(paths))
  })

  test.each([
    [['/HEAD', '/objects/a']],
    [['/HEAD', '/refs/a']],
    [['/objects/a', '/refs/a', '/commondir', '/gitdir', '/config', '/hooks/post-update']],
    [['/a/HEAD', '/objects/a', '/refs/a']],
    [['/HEAD.md', '/objects.md', '/refs.md', '/ahead', '/commondirs']],
  ])('is not seen in %j', (paths) => {
    expect(judge(paths)).toEqual({})
  })

  test.each([
    [['/refs/a'], ['HEAD', 'objects']],
    [['/HEAD'], ['Objects', 'REFS']],
    [['/objects/a', '/refs/a'], ['head']],
    [['/commondir'], ['HEAD']],
  ])('is not completed by %j where %j exist', (paths, names) => {
    const existing = names.map((name) => `/home/a/out/${name}`)
    expect(judge(['/a.md', ...paths], existing)).toEqual(allUnsafe(paths))
  })

  test('that exists gets no file, in no directory of it', () => {
    const existing = ['HEAD', 'objects', 'refs'].map((name) => `/home/a/${name}`)
    expect(judge(['/a.md', '/b/c.md'], existing)).toEqual(allUnsafe(['/a.md', '/b/c.md']))
    expect(judge(['/a.md'], [], '/home/a/.git/out')).toEqual(allUnsafe(['/a.md']))
    expect(judge(['/a.md'], ['/home/a/.git', '/home/a/out/.git'])).toEqual({})
  })

  test('is not completed by the directory itself', () => {
    const existing = ['/home/a/HEAD', '/home/a/objects']
    expect(judge(['/a.md'], existing, '/home/a/refs')).toEqual(allUnsafe(['/a.md']))
    expect(judge(['/a.md'], existing)).toEqual({})
  })

  test.each([
    '/.git',
    '/a/.GIT/config',
    '/.Git. ./config',
    '/.g\u200cit/config',
    '/\ufeff.git/config',
    '/.g\u0131t/config',
    '/.git::$INDEX_ALLOCATION/config',
    '/.git:x',
    '/GIT~1/config',
    '/git~2. ',
    '/GI7D29~1/config',
    '/a\\.git\\config',
  ])('is not written into by %j', (path) => {
    expect(judge([path])).toEqual({ [path]: 'unsafe' })
  })
})

describe('configuration of other programs', () => {
  test.each([
    '/.envrc',
    '/a/.claude/settings.json',
    '/a/.CLAUDE/settings.local.json',
    '/.claude/hooks/x.sh',
    '/.mcp.json',
    '/.vscode/tasks.json',
    '/.vscode/settings.json',
    '/.vscode/launch.json',
    '/.husky/pre-commit',
    '/.gitattributes',
    '/.gitignore/x',
    '/.claude/agents/x.md',
    '/.gitmodules',
    '/.gitconfig',
    '/.cursor/mcp.json',
    '/.devcontainer/devcontainer.json',
    '/.npmrc',
    '/.yarnrc.yml',
    '/.idea/workspace.xml',
    '/.pre-commit-config.yaml',
    '/.github/workflows/x.yml',
    '/.obsidian/plugins/x/main.js',
    '/.hg/hgrc',
    '/_darcs/prefs/defaults',
    '/a.code-workspace',
    '/desktop.ini',
    '/opencode.json',
    '/CLAUDE~1/settings.json',
    '/a\\.vscode\\tasks.json',
    '/.v\u200cscode/tasks.json',
  ])('needs consent: %j', (path) => {
    expect(judge([path])).toEqual({ [path]: 'configuration' })
  })

  test.each([
    '/a.md',
    '/a/b.c/d',
    '/Makefile',
    '/package.json',
    '/AGENTS.md',
    '/claude/settings.json',
    '/vscode/tasks.json',
    '/git/config',
    '/a~/b',
    '/...',
    '/.gitignore',
    '/a/.gitkeep',
    '/.draft.md',
  ])('is not %j', (path) => {
    expect(judge([path])).toEqual({})
  })

  test('is not part of the directory that the user names', () => {
    expect(judge(['/a.md'], [], '/home/a/.local/share/notes')).toEqual({})
  })
})
