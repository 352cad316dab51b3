// The plugin in dist/plugin: its files against the documentation of the agent program, its hooks as
// a shell runs them, and the whole of it in a real session against a scripted Messages API.

import { spawn } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { optionsOf } from '../../src/cli/call/command.ts'
import { loadCommands } from '../../src/cli/table.ts'
import { bareRemote } from '../support/clones.ts'
import { git } from '../support/temporary.ts'
import { requires } from '../support/tools.ts'
import {
  type AskedMessages,
  installed,
  runClaude,
  scriptedApi,
  type ToolUse,
  withCommand,
} from './agent-programs.ts'
import { type Ended, ended, type Home, newHome, newHomeWithStore } from './cli-process.ts'

const plugin = fileURLToPath(new URL('../../dist/plugin', import.meta.url))
const slow = { tags: 'slow' }

function jsonIn(file: string) {
  return JSON.parse(readFileSync(join(plugin, file), 'utf8'))
}

interface Hook {
  readonly type: string
  readonly command: string
  readonly args?: readonly string[]
  readonly timeout: number
  readonly async?: boolean
}

function hooksOf(event: string): readonly Hook[] {
  const groups: readonly { readonly hooks: readonly Hook[] }[] =
    jsonIn('hooks/hooks.json').hooks[event]
  return groups.flatMap(({ hooks }) => hooks)
}

/** Runs the hook of an event as the agent program does. */
function runHook(
  home: Home,
  event: string,
  input: unknown,
  env: Readonly<Record<string, string>>,
): Promise<Ended> {
  const [{ command, args } = { command: '' }] = hooksOf(event)
  const [file, words] = args === undefined ? ['/bin/sh', ['-c', command]] : [command, args]
  const options = { env: home.environment(env), cwd: home.directory, stdio: 'pipe' } as const
  const child = spawn(file, words, options)
  child.stdin.on('error', () => undefined)
  child.stdin.end(JSON.stringify(input))
  return ended(child)
}

const events = ['SessionStart', 'UserPromptSubmit', 'PostToolUse', 'PreCompact', 'SessionEnd']

describe('the files', () => {
  test('name the package and its version, and set nothing else', () => {
    const { name, version } = JSON.parse(readFileSync(join(plugin, '../../package.json'), 'utf8'))
    const about = ['name', 'version', 'description', 'author', 'license', 'keywords']
    const manifest = jsonIn('.claude-plugin/plugin.json')
    expect(Object.keys(manifest)).toEqual([...about, 'userConfig'])
    expect(manifest).toMatchObject({ name, version })
    const { plugins, ...marketplace } = jsonIn('.claude-plugin/marketplace.json')
    expect(marketplace).toEqual({ name, description: expect.any(String), owner: { name } })
    expect(plugins).toEqual([
      { ...manifest, userConfig: undefined, source: './', category: 'productivity' },
    ])
    expect(readdirSync(plugin).toSorted()).toEqual([
      '.claude-plugin',
      '.mcp.json',
      'hooks',
      'skills',
    ])
  })

  test('ask for nothing, and add no tokens to prompts by themselves', () => {
    const { userConfig } = jsonIn('.claude-plugin/plugin.json')
    expect(userConfig).toEqual({
      recall_tokens: {
        type: 'number',
        title: expect.any(String),
        description: expect.any(String),
        default: 0,
        min: 0,
        max: 5000,
      },
    })
    expect(jsonIn('.mcp.json')).toEqual({
      mcpServers: { gitlocket: { command: 'gitlocket', args: ['mcp'] } },
    })
  })

  test('have hooks of the documented form, which run commands that exist', async () => {
    const { hooks, ...others } = jsonIn('hooks/hooks.json')
    expect(others).toEqual({})
    expect(Object.keys(hooks)).toEqual(events)
    const known = new Map((await loadCommands()).map((command) => [command.name, command]))
    for (const event of events) {
      for (const { type, command, args = [], timeout, ...rest } of hooksOf(event)) {
        expect([type, timeout > 0 && timeout <= 30]).toEqual(['command', true])
        expect(Object.keys(rest).filter((field) => field !== 'async')).toEqual([])
        const line = [command, ...args].join(' ')
        const [, name = '', options = ''] = /gitlocket (hook [\w-]+)((?: --\w+)*)/.exec(line) ?? []
        const names = optionsOf(known.get(name)?.options).map((option) => ` --${option.name}`)
        expect(known.has(name), line).toBe(true)
        expect(options === '' || names.includes(options), line).toBe(true)
      }
    }
    expect(hooks.SessionStart[0].matcher).toBe('startup|resume|clear|compact|fork')
  })

  test('have skills that name commands and tools that exist', async () => {
    const names = readdirSync(join(plugin, 'skills')).toSorted()
    expect(names).toEqual(['erase', 'recall', 'remember', 'undo-session'])
    const known = new Set((await loadCommands()).map((command) => command.name))
    for (const name of names) {
      const text = readFileSync(join(plugin, 'skills', name, 'SKILL.md'), 'utf8')
      const [, head = '', body = ''] = /^---\n(.*?)\n---\n(.*)$/s.exec(text) ?? []
      expect(head).toMatch(new RegExp(`^name: ${name}\ndescription: \\S.{40,500}(?:\n|$)`))
      for (const [, verb = ''] of body.matchAll(/`gitlocket ([a-z]+)/g))
        expect(known).toContain(verb)
      // What destroys or undoes is for the user to start.
      const isForUsers = head.includes('\ndisable-model-invocation: true')
      expect(isForUsers).toBe(['erase', 'undo-session'].includes(name))
    }
  })
})

describe('the hooks', () => {
  test('answer in the form of Claude Code', slow, async () => {
    const home = await newHomeWithStore()
    await home.ok('create', 'zebra.md', '--text', 'The zebra deploys on Fridays')
    const env = withCommand(home, installed)
    const start = await runHook(home, 'SessionStart', { session_id: 's', source: 'fork' }, env)
    expect(JSON.parse(start.stdout).hookSpecificOutput).toMatchObject({
      hookEventName: 'SessionStart',
      additionalContext: expect.stringContaining('"/memories/zebra.md"'),
    })
    const wanted = { ...env, CLAUDE_PLUGIN_OPTION_RECALL_TOKENS: '200' }
    const prompt = await runHook(home, 'UserPromptSubmit', { prompt: 'the zebra' }, wanted)
    expect(JSON.parse(prompt.stdout).hookSpecificOutput).toMatchObject({
      hookEventName: 'UserPromptSubmit',
      additionalContext: expect.stringContaining('The zebra deploys on Fridays'),
    })
    for (const event of ['PostToolUse', 'PreCompact', 'SessionEnd']) {
      expect(await runHook(home, event, {}, env)).toEqual({ exitCode: 0, stdout: '', stderr: '' })
    }
  })

  test.each(['', '0', 'x', '-1', '$(touch evil)', '1; touch evil'])(
    'start nothing for a prompt while the setting is "%s"',
    async (value) => {
      const home = newHome()
      const env = withCommand(home, `touch '${home.directory}/started'`)
      const all = { ...env, ...(value !== '' && { CLAUDE_PLUGIN_OPTION_RECALL_TOKENS: value }) }
      expect(await runHook(home, 'UserPromptSubmit', { prompt: 'x' }, all)).toEqual({
        exitCode: 0,
        stdout: '',
        stderr: '',
      })
      expect(readdirSync(home.directory)).toEqual(['bin'])
    },
  )

  test('refuse nothing with a gitlocket that does not know them', async () => {
    const home = newHome()
    const env = { ...withCommand(home, 'exit 2'), CLAUDE_PLUGIN_OPTION_RECALL_TOKENS: '500' }
    for (const event of events.slice(1)) {
      expect((await runHook(home, event, {}, env)).exitCode).toBe(0)
    }
  })
})

const claude = requires('claude')

test.skipIf(claude.missing)(`Claude Code accepts the files${claude.note}`, slow, async () => {
  for (const file of ['plugin.json', 'marketplace.json']) {
    const words = ['plugin', 'validate', '--strict', join(plugin, '.claude-plugin', file)]
    const { stdout, exitCode } = await runClaude(newHome(), words)
    expect([exitCode, stdout]).toEqual([0, expect.stringContaining('Validation passed')])
  }
})

/** Has the agent write one memory. */
function writeMemory({ tools }: AskedMessages): ToolUse | undefined {
  const name = tools.find((tool) => tool.endsWith('__memory_write'))
  const input = { path: '/memories/agent.md', content: 'from the agent' }
  return name === undefined ? undefined : { name, input }
}

test.skipIf(claude.missing)(
  `a session of Claude Code begins with the memories, writes one and syncs${claude.note}`,
  slow,
  async () => {
    const home = await newHomeWithStore()
    const remote = bareRemote()
    await home.ok('remote', 'add', 'origin', remote)
    await home.ok('create', 'zebra.md', '--text', 'The zebra deploys on Fridays')
    const own = { hooks: { Stop: [{ hooks: [{ type: 'command', command: 'true' }] }] } }
    const settings = home.file('.claude/settings.json', JSON.stringify(own))
    const memory = home.file('.claude/projects/-x/memory/MEMORY.md', 'mine')
    for (const words of [
      ['plugin', 'marketplace', 'add', plugin],
      ['plugin', 'install', 'gitlocket@gitlocket', '--config', 'recall_tokens=300'],
    ]) {
      expect(await runClaude(home, words)).toMatchObject({ exitCode: 0 })
    }
    const api = await scriptedApi(writeMemory)
    const tool = 'mcp__plugin_gitlocket_gitlocket__memory_write'
    const words = ['-p', 'When does the zebra deploy?', '--allowedTools', tool]
    const { stdout, exitCode } = await runClaude(home, words, api.url)
    expect([exitCode, stdout]).toEqual([0, 'Done.\n'])
    const all = api.received.join('\n')
    expect(all).toContain('keeps your long-term memory: 1 memory')
    expect(all).toContain('that may matter for this prompt')
    const { data } = Object(await home.json('log', 'agent.md'))
    expect(data).toMatchObject([{ created_by: { type: 'session_actor' } }])
    const head = git(['rev-parse', 'main'], home.store)
    expect(git(['rev-parse', 'main'], remote)).toBe(head)
    expect((await home.call(['undo', data[0].session_id, '--yes'])).exitCode).toBe(0)
    expect(await home.ok('ls')).toBe('zebra.md\n')
    expect(JSON.parse(readFileSync(settings, 'utf8'))).toMatchObject(own)
    expect(readFileSync(memory, 'utf8')).toBe('mine')
  },
)
