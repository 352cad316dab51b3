// `setup` for an agent program that keeps its servers in a TOML file.

import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { parse } from 'smol-toml'
import { describe, expect, test } from 'vitest'
import { mainFile, newHome, newHomeWithStore } from './cli-process.ts'

const url = 'https://memory.example.com/mcp'

describe('codex, whose file is TOML', () => {
  const config = '.codex/config.toml'
  const before = '# mine\nmodel = "o5"\r\n[mcp_servers."other"]\ncommand = "x" # kept'

  test.each([
    ['', { command: process.execPath, args: [mainFile, 'mcp'], required: true }],
    [`--url ${url}`, { url, bearer_token_env_var: 'GITLOCKET_API_KEY' }],
  ])('gets a table at its end, once: %s', async (words, added) => {
    const home = await newHomeWithStore()
    const file = join(home.directory, config)
    mkdirSync(dirname(file))
    writeFileSync(file, before)
    const set = ['setup', 'codex', '--write', ...words.split(' ').filter(Boolean)]
    expect(await home.ok(...set)).toContain(`Wrote ${file}`)
    const text = readFileSync(file, 'utf8')
    expect(text.startsWith(before)).toBe(true)
    expect(parse(text)).toEqual({
      model: 'o5',
      mcp_servers: { other: { command: 'x' }, gitlocket: added },
    })
    expect(await home.ok(...set)).toContain(`${file}: nothing to do`)
    expect(readFileSync(file, 'utf8')).toBe(text)
  })

  test('is made if missing, and follows CODEX_HOME', async () => {
    const home = newHome()
    const env = { CODEX_HOME: join(home.directory, 'codex') }
    const { stdout } = await home.run(['setup', 'codex', '--scope', 'user'], { env })
    expect(stdout).toContain(`Add this to ${join(home.directory, 'codex/config.toml')}:`)
    expect(stdout).toContain('  [mcp_servers.gitlocket]\n')
  })

  test.each([
    ['[mcp_servers.gitlocket]\ncommand = "other"\n', 'it has another "gitlocket"'],
    ['mcp_servers = { gitlocket = { command = "other" } }\n', 'it has another "gitlocket"'],
    ['mcp_servers = { other = { command = "x" } }\n', 'its "mcp_servers" is closed'],
    ['mcp_servers = "canary"\n', 'its "mcp_servers" is closed'],
    ['key = canary\n', 'it is not valid TOML'],
  ])('is refused, and left unchanged: %j', async (text, problem) => {
    const home = await newHomeWithStore()
    const file = join(home.directory, config)
    mkdirSync(dirname(file))
    writeFileSync(file, text)
    const { exitCode, stderr } = await home.run(['setup', 'codex', '--write'])
    expect([exitCode, stderr]).toEqual([2, expect.stringContaining(problem)])
    expect(stderr).not.toContain('canary')
    expect(readFileSync(file, 'utf8')).toBe(text)
  })
})
