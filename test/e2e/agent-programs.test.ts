// `setup` with the real agent programs: each accepts its configuration, and starts the server.
// One of them writes its own memory into mirrored files, which follow to another machine.
// @module-tag slow

import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import { bareRemote } from '../support/clones.ts'
import { eventOf } from '../support/messages-api-stream.ts'
import { patience } from '../support/patience.ts'
import { requires } from '../support/tools.ts'
import {
  type AskedMessages,
  runClaude,
  runProgram,
  scriptedApi,
  scriptedServer,
  type ToolUse,
} from './agent-programs.ts'
import { firstMachine, pinned } from './cli-machines.ts'
import { ended, type Home, newHome, newHomeWithStore } from './cli-process.ts'

const codex = requires('codex')
const gemini = requires('gemini')
const opencode = requires('opencode')
const claude = requires('claude')

async function setUp(program: string): Promise<Home> {
  const home = await newHomeWithStore()
  await home.ok('create', 'zebra.md', '--text', 'The zebra deploys on Fridays')
  const { stdout, exitCode } = await home.call(['setup', program, '--write'])
  expect([exitCode, stdout]).toEqual([0, expect.stringContaining('Connected: 1 memory')])
  return home
}

test.skipIf(codex.missing)(`Codex offers its model the memories${codex.note}`, async () => {
  const home = await setUp('codex')
  const listed = await runProgram(home, ['codex', 'mcp', 'list', '--json'])
  expect(JSON.parse(listed.stdout)).toMatchObject([{ name: 'gitlocket', enabled: true }])
  let asked = ''
  const url = await scriptedServer(/^\/v1\/responses$/, (body) => {
    asked = body
    const content = [{ type: 'output_text', text: 'Done.' }]
    const item = { type: 'message', role: 'assistant', id: 'msg_1', content }
    const usage = { input_tokens: 1, output_tokens: 1, total_tokens: 2 }
    return [
      { type: 'response.created', response: { id: 'resp_1' } },
      { type: 'response.output_item.done', item },
      { type: 'response.completed', response: { id: 'resp_1', usage } },
    ]
      .map(eventOf)
      .join('')
  })
  const provider = `{name="s",base_url="${url}/v1",env_key="KEY",wire_api="responses"}`
  const choice = ['-c', 'model_provider=s', '-c', `model_providers.s=${provider}`]
  const words = ['codex', 'exec', '--skip-git-repo-check', ...choice, 'When does it deploy?']
  const { stdout, stderr, exitCode } = await runProgram(home, words, { KEY: 'key' })
  expect([exitCode, stdout], stderr).toEqual([0, 'Done.\n'])
  expect(asked).toContain('mcp__gitlocket')
})

test.skipIf(gemini.missing)(`Gemini CLI connects in a trusted folder${gemini.note}`, async () => {
  const home = await setUp('gemini')
  const trusted = { [join(home.directory, 'project')]: 'TRUST_FOLDER' }
  home.file('.gemini/trustedFolders.json', JSON.stringify(trusted))
  const { stdout, stderr } = await runProgram(home, ['gemini', 'mcp', 'list'])
  expect(stdout + stderr).toMatch(/gitlocket: .* mcp \(stdio\) - Connected/)
})

test.skipIf(opencode.missing)(`opencode connects${opencode.note}`, async () => {
  const home = await setUp('opencode')
  const { stdout, stderr } = await runProgram(home, ['opencode', 'mcp', 'list'])
  expect(stdout + stderr).toMatch(/gitlocket.*connected/)
})

/** Has the agent write a file where its own instructions place its memory. */
function writeNote({ text, tools }: AskedMessages): ToolUse | undefined {
  const [directory] = /\/[^"\\`\s]*\/\.claude\/projects\/[^"\\`\s/]*\/memory/.exec(text) ?? []
  if (directory === undefined || !tools.includes('Write')) return undefined
  const input = { file_path: `${directory}/pnpm.md`, content: 'The user prefers pnpm.\n' }
  return { name: 'Write', input }
}

/** Mirrors the memory of the project, and returns the file of the note in it. */
async function mirrorMemory(home: Home): Promise<string> {
  const words = ['gitlocket', 'setup', 'claude-code', '--memory', '--write']
  const { exitCode, stderr } = await runProgram(home, words)
  expect([exitCode, stderr]).toEqual([0, ''])
  const slug = join(home.directory, 'project').replaceAll(/[^A-Za-z0-9]/g, '-')
  return join(home.directory, '.claude/projects', slug, 'memory/pnpm.md')
}

/** What the unit of `mirror login --write` runs. */
function watch(home: Home): void {
  const child = home.start(['mirror', '--watch'])
  onTestFinished(async () => {
    child.kill('SIGTERM')
    await ended(child)
  })
}

test.skipIf(claude.missing)(
  `what Claude Code remembers is on both machines, until its session is undone${claude.note}`,
  async () => {
    const url = bareRemote()
    const { home: first, recoveryKey } = await firstMachine(url)
    const note = await mirrorMemory(first)
    const second = newHome()
    const file = second.file('recovery', `${recoveryKey}\n`)
    const joined = await second.call(['join', await pinned(first, url)], {
      GITLOCKET_RECOVERY_KEY_FILE: file,
    })
    expect(joined.exitCode, joined.stderr).toBe(0)
    const copy = await mirrorMemory(second)
    const both = [first, second]
    for (const home of both) watch(home)
    const syncBoth = async (): Promise<void> => {
      for (const home of both) expect((await home.call(['sync'])).exitCode).toBe(0)
    }
    const api = await scriptedApi(writeNote)
    const said = await runClaude(first, ['-p', 'Remember that I prefer pnpm'], api.url)
    expect(said).toMatchObject({ exitCode: 0, stdout: 'Done.\n' })
    expect(readFileSync(note, 'utf8')).toBe('The user prefers pnpm.\n')
    await syncBoth()
    await vi.waitFor(() => expect(readFileSync(copy, 'utf8')).toContain('pnpm'), patience)
    const { data } = Object(await first.json('log', '-n', '1'))
    expect(data).toMatchObject([{ operation: 'created', created_by: { type: 'session_actor' } }])
    const undone = await first.call(['undo', data[0].session_id, '--yes'])
    expect(undone.exitCode, undone.stderr).toBe(0)
    await syncBoth()
    await vi.waitFor(() => expect([note, copy].map(existsSync)).toEqual([false, false]), patience)
  },
)
