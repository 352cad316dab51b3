// The corpus (all of it with FULL=1) through the bridges for other languages: `gitlocket tool
// --stream`, the same driven by the Python program of docs/MEMORY-TOOL.md, and the server. Each has
// opened the store apart from the test, which looks at it.

import { spawn } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, describe } from 'vitest'
import { createStore, formatIdentity, generateIdentity, openStore } from '../../src/index.ts'
import { createServer } from '../../src/server/server.ts'
import { mainFile } from '../e2e/cli-process.ts'
import { newHostPlace, newToken } from '../support/hosts.ts'
import { lineProgram, type LineProgram } from '../support/tool-bridge.ts'
import { requires } from '../support/tools.ts'
import { type MakeStore, type Outcome, testCorpus, type Transport } from './memory-tool/rig.ts'
import type { Call } from './memory-tool/steps.ts'

/** One process for each store of the corpus, started when it is made. */
function through(words: (directory: string) => readonly [string, ...string[]]): {
  make: MakeStore
  transport: Transport
} {
  const programs: LineProgram[] = []
  afterAll(() => programs.forEach(({ child }) => child.stdin?.end()))
  const make: MakeStore = async (directory, limits = {}) => {
    const identity = await generateIdentity()
    const places = { directory: join(directory, 'store'), stateDirectory: join(directory, 'state') }
    const { store } = await createStore({ ...places, identity, limits })
    writeFileSync(join(directory, 'identity'), formatIdentity(identity), { mode: 0o600 })
    const env = {
      PATH: `${join(directory, 'bin')}:${process.env['PATH']}`,
      HOME: directory,
      GITLOCKET_STORE: places.directory,
      GITLOCKET_STATE_DIRECTORY: places.stateDirectory,
      GITLOCKET_IDENTITY_FILE: join(directory, 'identity'),
    }
    const [program, ...rest] = words(directory)
    programs.push(lineProgram(spawn(program, rest, { env, stdio: ['pipe', 'pipe', 'inherit'] })))
    return store
  }
  return { make, transport: async (_, call) => outcomeOf(await programs.at(-1)?.ask(lineOf(call))) }
}

function lineOf({ command, input }: Call): string {
  return JSON.stringify({ command, ...Object(input) })
}

function outcomeOf(line = ''): Outcome {
  const { content, is_error } = JSON.parse(line)
  return { text: content, refused: is_error }
}

describe('through gitlocket tool', { tags: 'slow' }, () => {
  const bridge = through(() => {
    return [process.execPath, mainFile, 'tool', '--stream', '--session', 'session']
  })
  testCorpus({ ...bridge, lacks: ['handlers'], oneIn: 3 })
})

const python = requires('python3')
const page = readFileSync(new URL('../../docs/MEMORY-TOOL.md', import.meta.url), 'utf8')
const recipe = /^```python\n(.*?)^```$/ms.exec(page)?.[1] ?? ''
/** What the recipe needs of the SDK, whose `call` gets the input as it came. */
const sdk = `
import abc
class ToolError(Exception):
    def __init__(self, content):
        super().__init__(content)
        self.content = content
class BetaAbstractMemoryTool(abc.ABC):
    def __init__(self): pass
    @abc.abstractmethod
    def call(self, input): ...
for name in ["view", "create", "str_replace", "insert", "delete", "rename"]:
    setattr(BetaAbstractMemoryTool, name, abc.abstractmethod(lambda self, command: None))
abc.update_abstractmethods(BetaAbstractMemoryTool)
`
const loop = `
import sys
tool = GitlocketMemory("session")
for line in sys.stdin:
    try:
        answer = {"content": tool.call(json.loads(line)), "is_error": False}
    except ToolError as error:
        answer = {"content": error.content, "is_error": True}
    print(json.dumps(answer), flush=True)
tool.process.stdin.close()
tool.process.wait()
`

describe.skipIf(python.missing)(`through python3${python.note}`, { tags: 'slow' }, () => {
  const bridge = through((directory) => {
    const script = `#!/bin/sh\nexec '${process.execPath}' '${mainFile}' "$@"\n`
    mkdirSync(join(directory, 'bin'))
    writeFileSync(join(directory, 'bin/gitlocket'), script, { mode: 0o755 })
    mkdirSync(join(directory, 'anthropic/lib'), { recursive: true })
    writeFileSync(join(directory, 'anthropic/lib/tools.py'), sdk)
    writeFileSync(join(directory, 'agent.py'), recipe + loop)
    return ['python3', join(directory, 'agent.py')]
  })
  testCorpus({ ...bridge, lacks: ['handlers'], oneIn: 6 })
})

describe('through the server', { tags: 'slow' }, () => {
  const servers: (() => Promise<void>)[] = []
  afterAll(() => Promise.all(servers.map((close) => close())))
  let run: (body: object) => Promise<Response> = () => Promise.reject(new Error('no server yet'))

  const make: MakeStore = async (directory, limits = {}) => {
    const place = newHostPlace(directory)
    const token = await newToken(place)
    const server = await createServer({
      ...place,
      storeLimits: limits,
      limits: { bodyBytes: 2 ** 24 },
    })
    servers.push(() => server.close())
    const post = (path: string, body: object): Promise<Response> =>
      server.fetch(
        new Request(`http://localhost/v1/${path}`, {
          method: 'POST',
          headers: {
            'x-api-key': token,
            'anthropic-beta': 'agent-memory-2026-07-22',
            'content-type': 'application/json',
          },
          body: JSON.stringify(body),
        }),
      )
    const { id } = JSON.parse(await (await post('memory_stores', { name: 'corpus' })).text())
    run = (body) => post('gitlocket/memory_tool', { ...body, memory_store_id: id })
    const { stateDirectory, identity } = place
    const path = join(place.dataDirectory, 'stores', String(id))
    return openStore({ directory: path, stateDirectory, identity })
  }
  const transport: Transport = async (_, { command, input }) => {
    const answer = await run({ input: { command, ...Object(input) } })
    return outcomeOf(await answer.text())
  }
  testCorpus({ make, transport, lacks: ['handlers'], oneIn: 3 })
})
