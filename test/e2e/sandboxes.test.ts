// docs/SANDBOXES.md and the recipe docs/recipes/sandboxes: a machine with only a grant and an
// address reads, writes and sends, and the files have the fields that GitHub and dev containers
// read.
// @module-tag slow

import { execFile } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { Ajv2019 } from 'ajv/dist/2019.js'
import { describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { bareRemote } from '../support/clones.ts'
import { startGitServer } from '../support/git-server.ts'
import { startGitolite } from '../support/gitolite.ts'
import { git } from '../support/temporary.ts'
import { requires } from '../support/tools.ts'
import { type Home, mainFile, newHome, newHomeWithStore } from './cli-process.ts'
import { root } from './reader-project.ts'

const gitolite = requires('gitolite')

interface Lent {
  readonly granter: Home
  /** The two variables. */
  readonly variables: Readonly<Record<string, string>>
}

/** A store with /notes.md at `url`, and a grant for it. */
async function lend(url: string, ...options: readonly string[]): Promise<Lent> {
  const granter = await newHomeWithStore()
  await granter.ok('create', 'notes.md', '--text', 'from the laptop')
  await granter.ok('remote', 'add', 'origin', url)
  const given = await granter.run(['grant', 'give', '--label', 'ci', ...options])
  const lines = given.stdout.matchAll(/^ {2}(GITLOCKET_\w+)='?(.+?)'?$/gm)
  const variables = Object.fromEntries([...lines].map(([, name = '', value = '']) => [name, value]))
  return { granter, variables }
}

function sandbox(variables: Readonly<Record<string, string>>): Home {
  const home = newHome()
  Object.assign(home.variables, variables)
  return home
}

/** A remote over http-backend. */
async function remoteUrl(): Promise<string> {
  const repository = bareRemote()
  git(['config', 'http.receivepack', 'true'], repository)
  return (await startGitServer({ repository })).url
}

/** Standard output of a process that must succeed without a word on standard error. */
async function run(home: Home, ...words: readonly string[]): Promise<string> {
  const { stdout, stderr, exitCode } = await home.run(words)
  expect([exitCode, stderr]).toEqual([0, ''])
  return stdout
}

describe('an empty machine with a grant', () => {
  test('reads, writes and sends, and the device that gave it sees whose change it is', async () => {
    const { granter, variables } = await lend(await remoteUrl())
    expect(Object.keys(variables)).toEqual(['GITLOCKET_REMOTE', 'GITLOCKET_GRANT'])
    expect(variables['GITLOCKET_GRANT']).toMatch(/^GLKG1-\w{160}$/)
    const box = sandbox(variables)
    expect(await run(box, 'ls', '-R')).toBe('/notes.md\n')
    expect(await run(box, 'cat', 'notes.md')).toBe('from the laptop')
    await run(box, 'write', 'today.md', '--text', 'from the sandbox')
    expect(await run(box, 'status')).toMatch(/^Grant +writer, until /m)
    await run(box, 'sync')
    await granter.ok('sync')
    expect(await granter.ok('cat', 'today.md')).toBe('from the sandbox')
    const log = await granter.ok('log', '--grant', 'ci')
    expect(log).toContain('created /today.md')
    expect(log).not.toContain('notes.md')
  })

  test('shows its news and its state like any other store', async () => {
    const { variables } = await lend(bareRemote())
    const box = sandbox(variables)
    await run(box, 'sync')
    const status = await box.ok('status')
    expect(status).toMatch(/^History +from .*, on the word of dev_\w{26}; `fetch --all`/m)
    expect(status).toContain('Nothing needs attention')
    expect(await box.screen(100, [])).toContain('Nothing needs attention')
  })

  test('refuses all that takes a device, and asks for the history where it needs it', async () => {
    const { variables } = await lend(bareRemote())
    const box = sandbox(variables)
    for (const words of [
      ['key', 'rotate'],
      ['grant', 'give'],
    ]) {
      const { exitCode, stderr } = await box.run(words)
      expect([words, exitCode]).toEqual([words, 6])
      expect(stderr).toContain('A grant is for reading and changing memories alone')
    }
    const { stderr } = await box.run(['blame', 'notes.md'])
    expect(stderr).toContain('gitlocket fetch --all')
    await box.ok('fetch', '--all')
    expect(await box.ok('blame', 'notes.md')).toContain('from the laptop')
    expect(await box.ok('verify')).toMatch(/^Verified \d+ commits/)
  })

  test('takes the grant from a file, and as reader changes nothing', async () => {
    const { variables } = await lend(bareRemote(), '--role', 'reader')
    const { GITLOCKET_GRANT: grant = '', ...others } = variables
    const box = sandbox(others)
    box.variables['GITLOCKET_GRANT_FILE'] = box.file('grant', `${grant}\n`)
    expect(await run(box, 'cat', 'notes.md')).toBe('from the laptop')
    const { exitCode } = await box.run(['write', 'a.md', '--text', 'a'])
    expect(exitCode).toBe(6)
  })
})

test('a job without access to the secret is told so', async () => {
  const box = sandbox({ GITLOCKET_GRANT: '', GITLOCKET_REMOTE: bareRemote() })
  const { exitCode, stderr } = await box.run(['ls'])
  expect([exitCode, stderr]).toEqual([2, expect.stringContaining('GITLOCKET_GRANT is empty')])
})

test.skipIf(gitolite.missing)(`the rules for gitolite${gitolite.note}`, async () => {
  const { url, bob, directory, environment } = await startGitolite('RW+ = alice', 'RW main$ = bob')
  const granter = await newHomeWithStore()
  granter.variables['GIT_SSH_COMMAND'] = environment['GIT_SSH_COMMAND'] ?? ''
  await granter.ok('remote', 'add', 'origin', url)
  const { text } = await granter.json('grant', 'give')
  const box = sandbox({ GITLOCKET_REMOTE: url, GITLOCKET_GRANT: String(text) })
  box.variables['GIT_SSH_COMMAND'] = (bob.sshCommand ?? []).join(' ')
  await run(box, 'write', 'a.md', '--text', 'a')
  await run(box, 'sync')
  await granter.ok('sync')
  expect(await granter.ok('cat', 'a.md')).toBe('a')
  const refs = git(['for-each-ref'], directory)
  const [ref = ''] = /refs\/gitlocket\/baseline\/\w+/.exec(refs) ?? []
  const isBob = { ...environment, GIT_SSH_COMMAND: box.variables['GIT_SSH_COMMAND'] }
  const how = { cwd: bareRemote(), env: isBob }
  await expect(promisify(execFile)('git', ['push', url, `:${ref}`], how)).rejects.toThrow(/DENIED/)
})

interface Step {
  readonly run?: string
  readonly uses?: string
  readonly env?: Readonly<Record<string, string>>
}

interface Action {
  readonly runs: { readonly steps: readonly Step[] }
}

interface Workflow {
  readonly jobs: { readonly agent: { readonly steps: readonly Step[] } }
}

const recipe = (name: string): string => {
  return readFileSync(join(root, 'docs/recipes/sandboxes', name), 'utf8')
}
const action: Action = parse(recipe('action.yml'))
const workflow: Workflow = parse(recipe('workflow.yml'))

const texts = { type: 'object', additionalProperties: { type: 'string' } }

function fields(required: readonly string[], properties: Readonly<Record<string, object>>) {
  return { type: 'object', additionalProperties: false, required, properties }
}

const text = { type: 'string' }
const inputs = {
  type: 'object',
  additionalProperties: fields(['description'], {
    description: text,
    required: { type: 'boolean' },
    default: text,
  }),
}

/** As the documentation of GitHub describes a composite action, for what ours contains. */
const actionSchema = fields(['name', 'description', 'runs'], {
  name: text,
  description: text,
  inputs,
  runs: fields(['using', 'steps'], {
    using: { const: 'composite' },
    steps: {
      type: 'array',
      // A composite action has no default shell.
      items: fields(['run', 'shell'], { name: text, shell: text, run: text, env: texts }),
    },
  }),
})

/** The same for a workflow. */
const workflowSchema = fields(['on', 'jobs'], {
  name: text,
  on: text,
  permissions: texts,
  jobs: {
    type: 'object',
    additionalProperties: fields(['runs-on', 'steps'], {
      'runs-on': text,
      'timeout-minutes': { type: 'integer' },
      env: texts,
      steps: {
        type: 'array',
        items: {
          ...fields([], {
            name: text,
            if: text,
            uses: text,
            run: text,
            with: { type: 'object', additionalProperties: { type: ['string', 'number'] } },
          }),
          oneOf: [{ required: ['uses'] }, { required: ['run'] }],
        },
      },
    }),
  },
})

/** The dev container specification, for an image. */
const containerSchema = fields(['image'], {
  name: text,
  image: text,
  postCreateCommand: text,
  remoteEnv: texts,
})

test.each([
  ['action.yml', actionSchema],
  ['workflow.yml', workflowSchema],
  ['devcontainer.json', containerSchema],
])('%s has the fields that its reader knows', (name, schema) => {
  const isValid = new Ajv2019({ allErrors: true, allowUnionTypes: true }).compile(schema)
  // JSON is YAML.
  const found = parse(recipe(name))
  isValid(found)
  expect(isValid.errors).toBe(null)
  isValid({ ...found, runz: {} })
  expect(isValid.errors).toMatchObject([{ params: { additionalProperty: 'runz' } }])
})

test('the steps of action.yml and workflow.yml read, write and send', async () => {
  const { granter, variables } = await lend(await remoteUrl())
  const box = sandbox({})
  const file = join(box.directory, 'github-env')
  writeFileSync(file, '')
  const bin = join(box.directory, 'bin')
  mkdirSync(bin)
  const program = (name: string, line: string): void => {
    writeFileSync(join(bin, name), `#!/bin/sh\n${line}\n`, { mode: 0o755 })
  }
  program('npm', 'echo "$@" >>"$HOME/npm"')
  program('gitlocket', `exec ${process.execPath} ${mainFile} "$@"`)
  box.variables['PATH'] = `${bin}:${process.env['PATH']}`
  const given: Readonly<Record<string, string>> = {
    '${{ inputs.grant }}': variables['GITLOCKET_GRANT'] ?? '',
    '${{ inputs.remote }}': variables['GITLOCKET_REMOTE'] ?? '',
    '${{ inputs.version }}': '0.1.0',
  }
  const runner = { RUNNER_TEMP: box.directory, GITHUB_ENV: file, GITHUB_RUN_ID: '17' }
  const steps = [...action.runs.steps, ...workflow.jobs.agent.steps]
  for (const { run: script, env = {} } of steps) {
    if (script === undefined) continue
    const own = Object.entries(env).map(([name, value]) => [name, given[value] ?? value])
    const kept = readFileSync(file, 'utf8').split('\n').filter(Boolean)
    const before = kept.map((line) => line.split(/=(.*)/, 2))
    const all = { ...runner, ...Object.fromEntries([...own, ...before]) }
    await promisify(execFile)('bash', ['-eo', 'pipefail', '-c', script], {
      cwd: box.directory,
      env: box.environment(all),
    })
  }
  expect(readFileSync(join(box.directory, 'npm'), 'utf8')).toBe(
    'install --global gitlocket@0.1.0\n',
  )
  expect(readFileSync(file, 'utf8')).not.toContain('GLKG1')
  await granter.ok('sync')
  expect(await granter.ok('cat', 'runs/17.md')).toBe('The agent of this run was here')
})
