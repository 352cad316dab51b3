// The bundle of the command line, dist/command: the files that a command loads, the compiled code
// next to it, its threads, its source maps, the licences of its parts, and that it needs nothing
// else.

import {
  cpSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { isBuiltin } from 'node:module'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { bareRemote } from '../support/clones.ts'
import { directoryOfProcess, temporaryDirectory } from '../support/temporary.ts'
import { type Home, newHome, newHomeWithStore } from './cli-process.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const bundle = join(root, 'dist', 'command')
const files = readdirSync(bundle)
const modules = files.filter((name) => name.endsWith('.cjs'))

/** The sources in these files, according to their source maps. */
function sourcesOf(names: readonly string[]): readonly string[] {
  return names.flatMap((name): readonly string[] => {
    return JSON.parse(readFileSync(join(bundle, `${name}.map`), 'utf8')).sources
  })
}

/** The packages of these sources. */
function packagesOf(paths: readonly string[]): ReadonlySet<string> {
  return new Set(
    paths.flatMap((path) => /.*node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(path)?.[1] ?? []),
  )
}

/** Has a process print, at its end, which files of the bundle it has read. */
const watching = join(directoryOfProcess(), 'watching.cjs')
writeFileSync(
  watching,
  `const fs = require('node:fs')
const { readFileSync } = fs
const read = new Set()
fs.readFileSync = (path, ...options) => {
  const [, name] = /dist.command.([^/]*)$/.exec(String(path)) ?? []
  if (name !== undefined) read.add(name)
  return readFileSync(path, ...options)
}
process.on('exit', () => fs.writeSync(2, '\\nread ' + [...read].sort().join(' ')))
`,
)

/** The files of the bundle that a command reads, which must succeed. */
async function readBy(home: Home, words: string): Promise<string | undefined> {
  const env = { NODE_OPTIONS: `--require=${watching}` }
  const { stderr, exitCode } = await home.run(words.split(' '), { env })
  expect(exitCode).toBe(0)
  return stderr.split('\nread ')[1]
}

describe('the files that a command reads', async () => {
  const opening = 'libsodium.cjs libsodium.wasm main.cjs packing.cjs program.cjs read.cjs'
  const always = `${opening} rolldown-runtime.cjs verifying.cjs`
  test.each<[words: string, expected: string]>([
    ['--version', 'main.cjs program.cjs'],
    ['--help', 'main.cjs program.cjs'],
    ['create a.md --text a', `${always} write.cjs`],
    ['ls', always],
    ['cat a.md', always],
    ['search b', `${always} search.cjs search2.cjs table.cjs versions-text.cjs`],
    ['hook session-start', `${always} agent-session.cjs hook.cjs json.cjs turns.cjs write.cjs`],
    ['log', `${always} log.cjs patch.cjs path-history.cjs table.cjs versions-text.cjs`],
  ])('%s', { tags: 'slow' }, async (words, expected) => {
    const home = await newHomeWithStore()
    await home.ok('write', 'b.md', '--text', 'b')
    const read = await readBy(home, words.replace('cat a', 'cat b'))
    expect(read?.split(' ')).toEqual(expected.split(' ').toSorted())
  })

  test('sync', { tags: 'slow' }, async () => {
    const home = await newHomeWithStore()
    await home.ok('remote', 'add', 'origin', bareRemote())
    expect((await readBy(home, 'sync'))?.split(' ')).toEqual(
      `${always} patch.cjs sync.cjs table.cjs write.cjs`.split(' ').toSorted(),
    )
  })
})

describe('compiled code', () => {
  /** A copy of the program without compiled code: other tests use dist/command at the same time. */
  function copyOfProgram() {
    const place = join(temporaryDirectory(), 'gitlocket')
    for (const part of ['package.json', 'src/bin', 'dist/command']) {
      cpSync(join(root, part), join(place, part), { recursive: true })
    }
    const cache = join(place, 'dist', 'command', 'cache')
    rmSync(cache, { recursive: true, force: true })
    const home = newHome()
    const version = async (env: Readonly<Record<string, string>> = {}) => {
      const program = join(place, 'src/bin/gitlocket.cjs')
      expect(await home.run(['--version'], { program, env })).toMatchObject({ exitCode: 0 })
      return (isDirectory(cache) ? readdirSync(cache).toSorted() : []).map((name) =>
        join(cache, name),
      )
    }
    return { cache, version }
  }

  const isDirectory = (path: string) => statSync(path, { throwIfNoEntry: false })?.isDirectory()

  test(
    'is stored next to the program, writable by its owner only, and loaded from there',
    { tags: 'slow' },
    async () => {
      const { cache, version } = copyOfProgram()
      const umask = process.umask(0)
      const kept = await version().finally(() => process.umask(umask))
      const suffix = `${process.version}-${process.arch}`
      const names = ['main.cjs', 'program.cjs'].map((name) => join(cache, `${name}-${suffix}`))
      expect(kept).toEqual(names)
      expect([cache, ...kept].map((path) => statSync(path).mode & 0o022)).toEqual([0, 0, 0])
      const [file = ''] = kept
      const { ino } = statSync(file)
      expect(await version()).toEqual(kept)
      expect(statSync(file).ino).toBe(ino)
    },
  )

  test('that is damaged, or of another source, is replaced', { tags: 'slow' }, async () => {
    const { version } = copyOfProgram()
    const kept = await version()
    const [first = '', second = ''] = kept.map((path) => readFileSync(path, 'latin1'))
    const flipped = Buffer.from(second, 'latin1')
    flipped[40_000] = ~(flipped[40_000] ?? 0)
    const wrong = ['', first.slice(0, 100), flipped, first]
    for (const bytes of wrong) {
      writeFileSync(kept[1] ?? '', bytes, 'latin1')
      expect(await version()).toEqual(kept)
      expect(readFileSync(kept[1] ?? '', 'latin1')).not.toBe(Buffer.from(bytes).toString('latin1'))
    }
  })

  test(
    'is not made with flags, if switched off, and where nothing can be written',
    { tags: 'slow' },
    async () => {
      const { cache, version } = copyOfProgram()
      expect(await version({ NODE_OPTIONS: '--max-old-space-size=200' })).toEqual([])
      expect(await version({ NODE_DISABLE_COMPILE_CACHE: '1' })).toEqual([])
      writeFileSync(cache, '')
      expect(await version()).toEqual([])
    },
  )
})

describe('the bundle', () => {
  test('has no package that every reader and writer loads', () => {
    const layers = ['program.cjs', 'packing.cjs', 'verifying.cjs', 'read.cjs', 'write.cjs']
    expect(packagesOf(sourcesOf(layers))).toEqual(new Set())
  })

  test('has a file for every thread that the sources start', () => {
    const places = readdirSync(join(root, 'src'), { recursive: true, encoding: 'utf8' })
    const texts = places
      .filter((name) => name.endsWith('.ts'))
      .map((name) => readFileSync(join(root, 'src', name), 'utf8'))
    const threads = texts.flatMap((text) =>
      [...text.matchAll(/findWorker\(import\.meta\.url, '([a-z0-9-]+)'\)/g)].map(
        ([, name]) => name,
      ),
    )
    expect(threads).toHaveLength(4)
    expect(modules).toEqual(expect.arrayContaining(threads.map((name) => `${name}.cjs`)))
  })

  test("loads nothing from outside except Node.js's own modules and an optional peer", () => {
    const loaded = modules.flatMap((name) => {
      // Not in a quoted text: a validator in there writes programs.
      const loading = /(?<!['"`])\b(?:require|import)\("([^"\n]*)"\)/g
      return [...readFileSync(join(bundle, name), 'utf8').matchAll(loading)].map(([, path]) => path)
    })
    const outside = loaded.filter((path = '') => !path.startsWith('./') && !isBuiltin(path))
    expect(outside).toEqual(['pg'])
  })

  test('has the text of the licence of each package in it', () => {
    const kept = readFileSync(join(bundle, 'LICENSES.txt'), 'utf8').split(/^=== /m).slice(1)
    const named = new Set(kept.map((one) => one.split(' ')[0]))
    const used = packagesOf(sourcesOf(modules.filter((name) => files.includes(`${name}.map`))))
    expect(used).toContain('zod')
    // The maps do not name the two that are changed on the way.
    expect(named).toEqual(new Set(['libsodium', 'libsodium-sumo', ...used]))
    for (const one of kept) expect(one).toMatch(/\n.*(?:permi|licen[cs]e)/i)
  })

  test('names places in src/ in a stack, if Node.js reads its maps', { tags: 'slow' }, async () => {
    const home = await newHomeWithStore()
    const env = { NODE_DEBUG: 'gitlocket', NODE_OPTIONS: '--enable-source-maps' }
    const { stderr } = await home.run(['cat', 'nothing.md'], { env })
    expect(stderr).toMatch(/at \S*getMemory \(.*\/src\/cli\/commands\/read\.ts:\d+:\d+\)/)
  })
})

test(
  'the bundle alone does every kind of work, in a path with spaces and behind a link',
  { tags: 'slow' },
  async () => {
    const directory = temporaryDirectory()
    const place = join(directory, 'a path with spaces', 'gitlocket')
    for (const part of ['package.json', 'src/bin', 'dist/command']) {
      cpSync(join(root, part), join(place, part), { recursive: true })
    }
    mkdirSync(join(directory, 'bin'))
    const program = join(directory, 'bin', 'gitlocket')
    symlinkSync(join(place, 'src/bin/gitlocket.cjs'), program)
    const home = newHome()
    const run = async (...words: readonly string[]) => {
      const answer = await home.run(words, {
        program,
        env: { GITLOCKET_PASSPHRASE_FILE: passphrase },
      })
      expect(answer).toMatchObject({ stderr: '', exitCode: 0 })
      return answer.stdout
    }
    const passphrase = home.file('passphrase', 'correct horse battery staple')
    await run('init')
    home.file('large', 'a needle\n'.repeat(11_000))
    await run('create', 'large.md', '--file', 'large')
    expect(await run('search', '-E', 'need.e')).toContain('/large.md')
    await run('compact')
    await run('verify')
    expect(await run('completion', 'bash')).toContain('gitlocket')
    // Its input ends at once.
    expect(await run('mcp')).toBe('')
  },
)
