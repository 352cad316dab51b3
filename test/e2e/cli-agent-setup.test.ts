// `setup`: what it prints and writes for each agent program, into files as users have them.

import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { type Home, mainFile, newHome, newHomeWithStore } from './cli-process.ts'

const url = 'https://memory.example.com/mcp'
const local = { command: process.execPath, args: [mainFile, 'mcp'] }
const shared = { command: 'gitlocket', args: ['mcp'] }
const header = (value: string): object => ({ url, headers: { Authorization: `Bearer ${value}` } })
const input = {
  type: 'promptString',
  id: 'gitlocket-api-key',
  description: 'API key of the gitlocket server',
  password: true,
}
const stdio = { type: 'stdio' }
const http = { type: 'http' }

/** The words of the command, the file below the home, and what it adds. */
const forms: readonly (readonly [words: string, file: string, added: object])[] = [
  ['claude-code', '.claude.json', { mcpServers: { gitlocket: { ...stdio, ...local } } }],
  [
    'claude-code --scope project',
    '.mcp.json',
    { mcpServers: { gitlocket: { ...stdio, ...shared } } },
  ],
  [
    `claude-code --url ${url}`,
    '.claude.json',
    { mcpServers: { gitlocket: { ...http, ...header('${GITLOCKET_API_KEY}') } } },
  ],
  [
    'claude-desktop',
    '.config/Claude/claude_desktop_config.json',
    { mcpServers: { gitlocket: local } },
  ],
  ['cursor', '.cursor/mcp.json', { mcpServers: { gitlocket: local } }],
  ['cursor --scope project', '.cursor/mcp.json', { mcpServers: { gitlocket: shared } }],
  [
    `cursor --url ${url}`,
    '.cursor/mcp.json',
    { mcpServers: { gitlocket: header('${env:GITLOCKET_API_KEY}') } },
  ],
  ['vscode', '.config/Code/User/mcp.json', { servers: { gitlocket: { ...stdio, ...local } } }],
  [
    'vscode --scope project',
    '.vscode/mcp.json',
    { servers: { gitlocket: { ...stdio, ...shared } } },
  ],
  [
    `vscode --scope project --url ${url}`,
    '.vscode/mcp.json',
    {
      servers: { gitlocket: { ...http, ...header('${input:gitlocket-api-key}') } },
      inputs: [input],
    },
  ],
  ['gemini', '.gemini/settings.json', { mcpServers: { gitlocket: local } }],
  ['gemini --scope project', '.gemini/settings.json', { mcpServers: { gitlocket: shared } }],
  [
    `gemini --url ${url}`,
    '.gemini/settings.json',
    {
      mcpServers: {
        gitlocket: { httpUrl: url, headers: { Authorization: 'Bearer ${GITLOCKET_API_KEY}' } },
      },
    },
  ],
  [
    'opencode',
    '.config/opencode/opencode.json',
    {
      mcp: {
        gitlocket: { type: 'local', command: [process.execPath, mainFile, 'mcp'], enabled: true },
      },
    },
  ],
  [
    `opencode --scope project --url ${url}`,
    'opencode.json',
    {
      mcp: {
        gitlocket: { type: 'remote', ...header('{env:GITLOCKET_API_KEY}'), enabled: true },
      },
    },
  ],
]

const linux = process.platform === 'linux'

test.runIf(linux).each(forms)('setup %s shows what to add to ~/%s', async (words, file, added) => {
  const home = newHome()
  const text = await home.ok('setup', ...words.split(' '))
  const [, example = ''] = text.split(`this to ${join(home.directory, file)}:\n\n`)
  expect(JSON.parse(example.slice(0, example.indexOf('\n  }\n') + 5))).toEqual(added)
  const json = await home.json('setup', ...words.split(' '), '--dry-run')
  expect(json['files']).toEqual([{ file: join(home.directory, file), status: 'proposed' }])
  expect(readdirSync(home.directory)).toEqual([])
})

test('the command for claude can be parsed by a shell', async () => {
  const home = newHome()
  const store = join(home.directory, `it's "my" $HOME's store`)
  const identity = join(home.directory, 'my identity')
  const { stdout } = await home.call(['--store', store, 'setup', 'claude-code'], {
    GITLOCKET_IDENTITY_FILE: identity,
  })
  const line = /\n {2}(claude mcp add .*)\n/.exec(stdout)?.[1] ?? ''
  const words = execFileSync('/bin/sh', ['-c', `claude() { printf '%s\\n' "$@"; }; ${line}`])
  expect(words.toString().split('\n').slice(0, -1)).toEqual(
    ['mcp', 'add', '--env', `GITLOCKET_IDENTITY_FILE=${identity}`, '--scope', 'user'].concat([
      'gitlocket',
      '--',
      local.command,
      ...local.args,
      '--store',
      store,
    ]),
  )
})

const others = { mcpServers: { other: { command: 'x', env: { TOKEN: 's3cr3t' } } } }
const commented = `{
  // my servers
  "mcpServers": {
    "other": {"command": "x", "env": {"TOKEN": "s3cr3t"}}, /* keep */
  }
}`
const kept: readonly (readonly [what: string, text: string])[] = [
  ['nothing in it', ''],
  ['an empty object', '{}\n'],
  ['other servers', JSON.stringify(others, undefined, 4)],
  ['everything on one line', JSON.stringify(others)],
  ['comments', commented],
  ['a byte-order mark and CRLF', `\u{feff}${commented.replaceAll('\n', '\r\n')}\r\n`],
]

/** Adds a server at an address, which asks no question. */
function write(home: Home, ...words: readonly string[]): ReturnType<Home['call']> {
  return home.call(['setup', 'cursor', '--url', url, '--write', ...words])
}

describe('a file with', () => {
  test.each(kept)('%s gets the server, once, and keeps the rest', async (_, text) => {
    const home = newHome()
    const file = home.file('.cursor/mcp.json', text)
    chmodSync(file, 0o640)
    const { stdout, stderr, exitCode } = await write(home)
    expect([exitCode, stderr]).toEqual([0, ''])
    expect(stdout).toContain(`Wrote ${file}\n`)
    const written = readFileSync(file, 'utf8')
    for (const piece of text.split(/[,{}\s]+/)) expect(written).toContain(piece)
    expect(written).toContain('"Bearer ${env:GITLOCKET_API_KEY}"')
    expect(written.endsWith(text.slice(-2).trimStart())).toBe(true)
    const before = statusOf(file)
    expect(before.mode).toBe(0o640)
    const again = await write(home)
    expect([again.exitCode, again.stdout]).toEqual([0, expect.stringContaining('nothing to do')])
    expect(readFileSync(file, 'utf8')).toBe(written)
    expect(statusOf(file)).toEqual(before)
    expect(readdirSync(dirname(file))).toEqual(['mcp.json'])
  })

  test('a link to it is followed, and remains a link', async () => {
    const home = newHome()
    const target = home.file('dotfiles/cursor.json', '{}')
    mkdirSync(join(home.directory, '.cursor'))
    const link = join(home.directory, '.cursor/mcp.json')
    symlinkSync('../dotfiles/cursor.json', link)
    expect((await write(home)).exitCode).toBe(0)
    expect(lstatSync(link).isSymbolicLink()).toBe(true)
    expect(readFileSync(target, 'utf8')).toContain('gitlocket')
    expect(readdirSync(dirname(target))).toEqual(['cursor.json'])
  })
})

test(
  'concurrent set-ups that write to one file each report the true result',
  { tags: 'slow' },
  async () => {
    const home = newHome()
    const letters = [...'abcd']
    for (let round = 0; round < 3; round += 1) {
      const file = home.file('.cursor/mcp.json', JSON.stringify(others))
      const all = await Promise.all(
        letters.map(async (letter) => {
          const words = ['setup', 'cursor', '--write', '--url', `https://${letter}.example.com/mcp`]
          return { letter, ...(await home.run(words)) }
        }),
      )
      const [winner, ...more] = all.filter(({ exitCode }) => exitCode === 0)
      expect(more).toEqual([])
      const refused = { exitCode: 2, stderr: expect.stringContaining('it has another "gitlocket"') }
      for (const one of all) if (one !== winner) expect(one).toMatchObject(refused)
      const { mcpServers } = JSON.parse(readFileSync(file, 'utf8'))
      expect(mcpServers.other).toEqual(others.mcpServers.other)
      expect(mcpServers.gitlocket.url).toBe(`https://${winner?.letter}.example.com/mcp`)
      expect(readdirSync(dirname(file))).toEqual(['mcp.json'])
    }
    expect(readdirSync(join(home.stateDirectory, 'turns'))).toEqual([])
  },
)

/** Replacing the file would change it. */
function statusOf(file: string): { readonly inode: number; readonly mode: number } {
  const { ino, mode } = statSync(file)
  return { inode: ino, mode: mode & 0o777 }
}

const broken: readonly (readonly [text: string, problem: string])[] = [
  ['{"secret": "s3cr3t"', 'it is not valid JSON'],
  ['["s3cr3t"]', 'it holds no JSON object'],
  ['{"mcpServers": ["s3cr3t"]}', 'its "mcpServers" is no object'],
  ['{"mcpServers": {"gitlocket": {"command": "s3cr3t"}}}', 'it has another "gitlocket"'],
  ['{"mcpServers": {}, "mcpServers": {"a": "s3cr3t"}}', 'it has "mcpServers" twice'],
]

test.each(broken)('%s is refused, and left unchanged', async (text, problem) => {
  const home = newHome()
  const file = home.file('.cursor/mcp.json', text)
  for (const words of [['--write'], ['--dry-run'], ['--write', '--json']]) {
    const { stdout, stderr, exitCode } = await home.call([
      'setup',
      'cursor',
      '--url',
      url,
      ...words,
    ])
    expect([exitCode, stdout]).toEqual([2, ''])
    expect(stderr).toContain(words.includes('--json') ? 'invalid_input' : `${file}: ${problem}`)
    expect(stderr).not.toContain('s3cr3t')
  }
  expect(readFileSync(file, 'utf8')).toBe(text)
  expect(readdirSync(dirname(file))).toEqual(['mcp.json'])
})

describe('a file to write', () => {
  test('that is read-only is left as it is, and the way around is named', async () => {
    const home = newHome()
    const file = home.file('.cursor/mcp.json', '{}')
    chmodSync(file, 0o444)
    const { stdout, stderr, exitCode } = await write(home)
    expect([exitCode, stdout]).toEqual([9, ''])
    expect(stderr).toContain(`Could not write ${file}: the file is read-only`)
    expect(stderr).toContain('hint: Without --write this prints what to add')
    expect(readFileSync(file, 'utf8')).toBe('{}')
  })

  test.skipIf(process.geteuid?.() === 0)('in a read-only directory is refused', async () => {
    const home = newHome()
    const file = home.file('.cursor/mcp.json', '{}')
    chmodSync(dirname(file), 0o500)
    const { stderr, exitCode } = await write(home)
    chmodSync(dirname(file), 0o700)
    expect([exitCode, stderr]).toEqual([9, expect.stringContaining('directory is read-only')])
    expect(readFileSync(file, 'utf8')).toBe('{}')
  })

  test.each(['.cursor/mcp.json', '.cursor'])('is refused if %s is in the way', async (name) => {
    const home = newHome()
    const path = join(home.directory, name)
    if (name === '.cursor') writeFileSync(path, '')
    else mkdirSync(path, { recursive: true })
    const { stdout, stderr, exitCode } = await write(home)
    expect([exitCode, stdout]).toEqual([2, ''])
    expect(stderr).toContain(`${home.directory}/.cursor`)
    expect(existsSync(path)).toBe(true)
  })

  test('that is missing is made, for its user alone', async () => {
    const home = newHome()
    expect((await write(home)).exitCode).toBe(0)
    expect(statSync(join(home.directory, '.cursor/mcp.json')).mode & 0o777).toBe(0o600)
  })
})

test('--dry-run shows the lines that are new, and nothing next to them', async () => {
  const home = newHome()
  const text = JSON.stringify(others, undefined, 2)
  const file = home.file('.cursor/mcp.json', text)
  const shown = await home.ok('setup', 'cursor', '--url', url, '--dry-run')
  expect(shown).toBe(
    [
      `${file}: would get`,
      '+ "gitlocket": {',
      `+   "url": "${url}",`,
      '+   "headers": {',
      '+     "Authorization": "Bearer ${env:GITLOCKET_API_KEY}"',
      '+   }',
      '+ }\n',
    ].join('\n'),
  )
  expect(readFileSync(file, 'utf8')).toBe(text)
})

test.each([
  ['emacs', 'must be one of claude-code, claude-desktop, cursor, vscode'],
  ['claude-desktop --scope project', 'has no files for a project'],
  [`claude-desktop --url ${url}`, 'no server that needs an API key'],
  ['cursor --hooks', 'for claude-code only'],
  [`claude-code --hooks --url ${url}`, 'leave out --url'],
  ['cursor --url memory.example.com', 'must be the address'],
  ['cursor --url file:///etc/passwd', 'must be the address'],
  ['cursor --url http://memory.example.com/mcp', 'unencrypted'],
  ['cursor --url https://me:s3cr3t@example.com/mcp', 'must hold no key'],
  ['cursor --url https://example.com/mcp?key=s3cr3t', 'may name stores as memory_store_id'],
  ['cursor --scope project --store elsewhere', 'use --scope user'],
  ['cursor --scope all', '--scope'],
])('setup %s is refused', async (words, problem) => {
  const home = newHome()
  const { stdout, stderr, exitCode } = await home.call(['setup', ...words.split(' '), '--write'])
  expect([exitCode, stdout]).toEqual([2, ''])
  expect(stderr).toContain(problem)
  expect(stderr).not.toContain('s3cr3t')
  expect(readdirSync(home.directory)).toEqual([])
})

test('a server of this machine may be reached without encryption', async () => {
  const [home, address] = [newHome(), 'http://127.0.0.1:8787/mcp']
  expect(await home.ok('setup', 'cursor', '--url', address)).toContain(address)
})

test('the address of a server may name its stores', async () => {
  const [one, other] = ['a', 'b'].map((end) => `memory_store_id=memstore_${end.repeat(26)}`)
  const address = `${url}?${one}&${other}`
  expect(await newHome().ok('setup', 'claude-code', '--url', address)).toContain(address)
})

describe('--hooks', () => {
  const settings = '.claude/settings.json'

  test('adds a hook to existing ones, once', { tags: 'slow' }, async () => {
    const home = await newHomeWithStore()
    const other = { matcher: 'startup', hooks: [{ type: 'command', command: 's3cr3t' }] }
    const file = home.file(settings, JSON.stringify({ hooks: { SessionStart: [other] } }))
    const shown = await home.ok('setup', 'claude-code', '--hooks', '--dry-run')
    expect(shown).toContain('hook session-start')
    expect(shown).not.toContain('s3cr3t')
    await home.call(['setup', 'claude-code', '--hooks', '--write'])
    const written = readFileSync(file, 'utf8')
    const { SessionStart: groups } = JSON.parse(written).hooks
    const command = `exec ${process.execPath} ${mainFile} hook session-start`
    expect(groups).toEqual([other, { hooks: [{ type: 'command', command, timeout: 10 }] }])
    await home.call(['setup', 'claude-code', '--hooks', '--write'])
    expect(readFileSync(file, 'utf8')).toBe(written)
  })

  test('writes neither file if one of them cannot be added to', async () => {
    const home = await newHomeWithStore()
    home.file(settings, '{"hooks": []}')
    const { stdout, exitCode } = await home.call(['setup', 'claude-code', '--hooks', '--write'])
    expect([exitCode, stdout]).toEqual([2, ''])
    expect(existsSync(join(home.directory, '.claude.json'))).toBe(false)
  })

  test('does not add a second hook of ours next to an older one', async () => {
    const home = await newHomeWithStore()
    const old = { hooks: [{ type: 'command', command: '/old/gitlocket hook session-start' }] }
    home.file(settings, JSON.stringify({ hooks: { SessionStart: [old] } }))
    const { stderr } = await home.call(['setup', 'claude-code', '--hooks', '--write'])
    expect(stderr).toContain('an older or another one')
  })
})

test('without a store nothing is written, and init is named', async () => {
  const home = newHome()
  const { stdout, stderr, exitCode } = await home.call(['setup', 'claude-code', '--write'])
  expect([exitCode, stdout]).toEqual([8, ''])
  expect(stderr).toContain('`gitlocket init` creates a store')
  expect(readdirSync(home.directory).map((name) => basename(name))).toEqual([])
})

test.each([
  ['gemini', 'a $HOME', '"$H"'],
  ['opencode', 'a {env:HOME}', '"{env:"'],
])('%s takes no path in which it replaces a variable', async (program, name, found) => {
  const home = await newHomeWithStore()
  const store = ['--store', join(home.directory, name)]
  const { exitCode, stderr } = await home.run(['setup', program, ...store])
  expect([exitCode, stderr]).toEqual([2, expect.stringContaining(`A path with ${found}`)])
})
