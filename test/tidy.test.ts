// The laws of this code base, each tested twice: the tree keeps it, and a planted violation breaks
// it. A law that a linter can state lives in .oxlintrc.json and is only proved here.

import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { git, sharedDirectory } from './support/temporary.ts'
import {
  agreementLaw,
  attackedRowsOf,
  documentedCodesOf,
  errorCodesOf,
  exportsOf,
  indexedRowsOf,
  surfaceCodesOf,
  threatRowsOf,
} from './tidy/agreement.ts'
import { linkLaw, titleLaw, topLevelLaw } from './tidy/documents.ts'
import { doorLaw, idleDoors } from './tidy/doors.ts'
import { ambientLaw, findCircles, layerLaw, sealedLaw } from './tidy/layers.ts'
import { type SourceFile, sourceFile, type Violation } from './tidy/source.ts'
import { startLaw } from './tidy/start.ts'
import { bannedLaw, columnLaw, drawerLaw, openingLaw } from './tidy/style.ts'
import { webLaw } from './tidy/web.ts'

const root = fileURLToPath(new URL('..', import.meta.url))
const paths = git(['ls-files', '--cached', '--others', '--exclude-standard', '-z'], root)
  .split('\0')
  .filter((path) => path !== '' && existsSync(join(root, path)))
const sources = paths
  .filter((path) => /\.(?:tsx?|mjs)$/.test(path))
  .map((path) => sourceFile(path, read(path)))
const documents = paths
  .filter((path) => path.endsWith('.md'))
  .map((path) => ({ path, text: read(path) }))
const tree = new Map(paths.map((path) => [path, path.endsWith('.md') ? read(path) : '']))

function read(path: string): string {
  return readFileSync(join(root, path), 'utf8')
}

type Law = (file: SourceFile) => Violation[]
const laws: Readonly<Record<string, Law>> = {
  layers: layerLaw,
  doors: doorLaw,
  ambient: ambientLaw,
  sealed: sealedLaw,
  columns: columnLaw,
  opening: openingLaw,
  drawers: drawerLaw,
  banned: bannedLaw,
}

describe('the build for runtimes without Node', () => {
  test('reaches nothing of Node', () => {
    expect(webLaw(sources, 'src/web/web.ts')).toEqual([])
  })

  test.each([
    "import { hash } from 'node:crypto'",
    'const bytes = Buffer.alloc(1)',
    'const home = process.env',
    'setImmediate(() => undefined)',
  ])('refuses %s', (code) => {
    const planted = [
      sourceFile('src/web/a.ts', "import { b } from './b.ts'"),
      sourceFile('src/web/b.ts', code),
    ]
    expect(webLaw(planted, 'src/web/a.ts')).toHaveLength(1)
  })
})

describe('every source file', () => {
  test.each(Object.entries(laws))('keeps the law of %s', (_, law) => {
    expect(sources.flatMap((file) => law(file))).toEqual([])
  })
})

test('no source files import each other, not even types', () => {
  expect(findCircles(sources.filter(({ path }) => path.startsWith('src/')))).toEqual([])
  const texts = { a: "import type { B } from './b.ts'", b: "export type { A } from './a.ts'" }
  const circle = Object.entries(texts).map(([name, text]) => sourceFile(`src/${name}.ts`, text))
  expect(findCircles(circle)).toEqual([['src/a.ts', 'src/b.ts']])
})

test('each door of a folder is there, and used from outside', () => {
  expect(idleDoors(sources.filter(({ path }) => path.startsWith('src/')))).toEqual([])
  expect(idleDoors([])).not.toEqual([])
})

describe('a planted violation is found', () => {
  const opening = '// What this file owns.\n// What it must not do.\n\n'
  test.each<[law: string, path: string, text: string, problem: RegExp]>([
    ['layers', 'src/git/a.ts', "import { a } from '../format/a.ts'", /git may not import format/],
    ['layers', 'src/git/pack/a.ts', "import '../purge/a.ts'", /comes after git\/pack/],
    ['layers', 'src/store/merge/a.ts', "import '../sync/a.ts'", /comes after store\/merge/],
    ['layers', 'src/cli/text/a.ts', "import '../store/a.ts'", /comes after cli\/text/],
    ['layers', 'src/format/a.ts', "export * from '../keys/a.ts'", /format may not import keys/],
    [
      'layers',
      'src/store/a.ts',
      "const a = await import('../operations/a.ts')",
      /not import operations/,
    ],
    ['layers', 'src/limits.ts', "import '../src/crypto/a.ts'", /base may not import crypto/],
    ['layers', 'src/git/a.ts', "import { a } from '../crypto/aead.ts'", /digest.ts, src\/crypto/],
    ['layers', 'src/operations/a.ts', "import { a } from '../../test/a.ts'", /nothing outside src/],
    [
      'layers',
      'src/operations/a.ts',
      "import {\n  a,\n} from 'node:fs/promises'",
      /not import node:fs/,
    ],
    ['layers', 'src/keys/a.ts', "import { hash } from 'node:crypto'", /not import node:crypto/],
    ['layers', 'src/disk/disk.ts', "import { a } from 'node:child_process'", /child_process/],
    ['layers', 'src/store/a.ts', "import { z } from 'zod'", /store may not import zod/],
    ['layers', 'src/store/a.ts', "import pad from 'left-pad'", /give left-pad a row/],
    ['layers', 'src/gadgets/a.ts', '', /give gadgets a row/],
    ['layers', 'src/anthropic/a.ts', "import { A } from '@anthropic-ai/sdk/a'", /as type only/],
    ['doors', 'src/store/a.ts', "import { A } from '../git/pack/delta.ts'", /no door of git/],
    ['doors', 'src/cli/a.ts', "import('../store/sync/rounds.ts')", /no door of store.sync/],
    [
      'doors',
      'src/store/a.ts',
      "export type { A } from './verify/a.ts'",
      /no door of store.verify/,
    ],
    ['ambient', 'src/store/a.ts', "process.env['HOME']", /only cli/],
    ['ambient', 'src/store/a.ts', "console.log('')", /never prints/],
    ['ambient', 'src/store/a.ts', 'const a = `${Date.now()}`', /clock is passed in/],
    ['ambient', 'src/store/a.ts', '`${f({ a: `}` })}` + Date.now()', /clock is passed in/],
    ['ambient', 'src/store/a.ts', 'new Date()', /clock is passed in/],
    ['ambient', 'src/crypto/a.ts', 'Math.random()', /randomness is passed in/],
    ['ambient', 'src/keys/a.ts', 'crypto.randomBytes(a)', /come from crypto/],
    ['sealed', 'src/store/a.ts', 'const a = bytes as Sealed', /make Sealed/],
    ['sealed', 'src/store/a.ts', 'f(bytes as unknown as Sealed)', /make Sealed/],
    ['columns', 'test/a.test.ts', `// ${'a'.repeat(98)}`, /101 columns/],
    ['opening', 'src/store/a.ts', 'export const a = 1', /open with a comment/],
    ['drawers', 'src/store/utils.ts', '', /not utils/],
    ['drawers', 'src/common/a.ts', '', /not common/],
    ['banned', 'src/a.ts', '// TODO later', /do it/],
    ['banned', 'src/a.ts', '// @ts-ignore', /satisfy the compiler/],
    ['banned', 'src/a.ts', '// @ts-expect-error: why', /satisfy the compiler/],
    ['banned', 'src/a.ts', '/* oxlint-disable */', /disable one rule/],
    ['banned', 'src/a.ts', '// oxlint-disable-next-line no-console', /say why/],
    ['banned', 'src/a.ts', '// as Claude wrote', /name no assistant/],
    ['banned', 'src/a.ts', 'export const enum A { b }', /union of literals/],
    ['banned', 'src/a.ts', 'const a = String.raw`\\n\\u{${b}}`', /no half of an escape/],
    ['banned', 'test/a.test.ts', "describe.each([1])('', f); test.only('')", /run every test/],
    ['banned', 'test/a.test.ts', "it.concurrent.skip('')", /run every test/],
  ])('%s: %s: %s', (law, path, text, problem) => {
    const file = sourceFile(path, law === 'opening' ? text : opening + text)
    expect(laws[law]?.(file)).toEqual([expect.stringMatching(problem)])
  })
})

describe('text that only looks like a violation is accepted', () => {
  test.each<[law: string, path: string, text: string]>([
    ['layers', 'src/store/a.ts', "// import { a } from '../operations/a.ts'"],
    ['layers', 'src/store/a.ts', 'const a = `import { a } from "../operations/a.ts"`'],
    ['layers', 'src/anthropic/a.ts', "import type { A } from '@anthropic-ai/sdk/a'"],
    ['layers', 'src/anthropic/a.ts', "await import('@anthropic-ai/sdk/a')"],
    ['layers', 'src/format/a.ts', "import { a } from '../errors.ts'\nimport { b } from './b.ts'"],
    ['doors', 'src/git/refs/a.ts', "import { A } from '../pack/delta.ts'"],
    ['doors', 'src/store/sync/a.ts', "import { A } from './rounds.ts'"],
    ['doors', 'src/cli/a.ts', "import { A } from '../git/object-store.ts'"],
    ['doors', 'src/index.ts', "export type { A } from './store/redaction/certificate.ts'"],
    ['ambient', 'src/cli/a.ts', "process.env['HOME']"],
    ['ambient', 'src/store/a.ts', "const a = 'process.env' // Date.now()"],
    ['ambient', 'src/store/a.ts', String.raw`const a = /['"]/.test(b) ? c / d : 'Date.now()'`],
    ['ambient', 'src/store/a.ts', 'const a = `${f({ b: 1 })} Date.now() ${c}`'],
    ['ambient', 'src/operations/a.ts', 'new Date(ms).toISOString()'],
    ['sealed', 'src/store/a.ts', 'function f(a: Sealed): Sealed { return a }'],
    ['banned', 'src/a.ts', '// oxlint-disable-next-line no-console -- this is the console'],
    ['banned', 'src/a.ts', 'const a = String.raw`\\u00ad\\u{1f600}\\p{L}${b}`'],
    ['banned', 'test/a.test.ts', "test.skipIf(tool.missing)('', f); const model = 'claude-x'"],
  ])('%s: %s: %s', (law, path, text) => {
    expect(laws[law]?.(sourceFile(path, text))).toEqual([])
  })
})

describe('the start of the library', () => {
  const index = sourceFile('src/index.ts', "export { a } from './store/a.ts'")
  const starting = (...texts: readonly (readonly [path: string, text: string])[]) => {
    return startLaw(index.path, [index, ...texts.map(([path, text]) => sourceFile(path, text))])
  }

  test('loads nothing that only a sync needs', () => {
    expect(startLaw(index.path, sources)).toEqual([])
  })

  test.each<[specifier: string, target: string]>([
    ['../transport/c.ts', 'src/transport/c.ts'],
    ['./merge/c.ts', 'src/store/merge/c.ts'],
    ['./sync/rounds.ts', 'src/store/sync/rounds.ts'],
  ])('is refused with %s behind another import', (specifier, target) => {
    const found = starting(
      ['src/store/a.ts', "import { b } from './b.ts'"],
      ['src/store/b.ts', `\nimport { c } from '${specifier}'`],
    )
    expect(found).toEqual([expect.stringMatching(`^src/store/b.ts:2: .*${target}`)])
  })

  test('may name its types, and load it in a function', () => {
    const text = "import type { C } from '../transport/c.ts'\nawait import('../transport/c.ts')"
    const apart = ['src/store/b.ts', "import '../transport/c.ts'"] as const
    expect(starting(['src/store/a.ts', text], apart)).toEqual([])
  })
})

describe('documents', () => {
  test('have one title, on the first line', () => {
    expect(documents.flatMap((document) => titleLaw(document))).toEqual([])
  })

  test('link to files and headings that exist', () => {
    expect(documents.flatMap((document) => linkLaw(document, tree))).toEqual([])
  })

  test.each([
    ['a second title', '# A\n\n```sh\n# not a title\n```\n\n# B\n'],
    ['no title', 'A\n'],
    ['text above the title', 'A\n\n# B\n'],
  ])('are refused with %s', (_, text) => {
    expect(titleLaw({ path: 'A.md', text })).toHaveLength(1)
  })

  test.each([
    ['a file that is not there', '[a](B.md)'],
    ['a heading that is not there', '[a](../README.md#nowhere)'],
    ['a heading of its own that is not there', '[a](#nowhere)'],
    ['a reference to a file that is not there', '[a]: ./b.txt'],
  ])('are refused with a link to %s', (_, text) => {
    const linked = new Map([
      ['README.md', '# Here\n'],
      ['docs/A.md', text],
    ])
    expect(linkLaw({ path: 'docs/A.md', text }, linked)).toHaveLength(1)
  })

  test('may link to headings, directories and other sites', () => {
    const text = '# A, b & c\n[a](#a-b--c) [b](../src) [c](https://localhost/) `[d](e)`'
    const linked = new Map([
      ['docs/A.md', text],
      ['src/index.ts', ''],
    ])
    expect(linkLaw({ path: 'docs/A.md', text }, linked)).toEqual([])
  })
})

describe('the top of the repository', () => {
  test('holds only listed files', () => {
    expect(topLevelLaw(paths)).toEqual([])
  })

  test('is refused with anything else', () => {
    expect(topLevelLaw(['src/index.ts', '.gitignore', 'notes.txt'])).toHaveLength(1)
  })
})

describe('lists that must agree', () => {
  const codes = { name: 'src/errors.ts', items: errorCodesOf(read('src/errors.ts')) }
  const attacks = paths.filter((path) => /^test\/attack\/.*\.ts$/.test(path))

  test('the codes of src/errors.ts are found', () => {
    expect(codes.items).toContain('invalid_input')
    expect(codes.items).toContain('rolled_back')
    expect(codes.items.length).toBe(read('src/errors.ts').match(/^ {2}\| '/gm)?.length)
  })

  const surface = 'src/operations/error-surface.ts'
  test.runIf(tree.has(surface))('every error code has a row in error-surface.ts', () => {
    expect(agreementLaw(codes, { name: surface, items: surfaceCodesOf(read(surface)) })).toEqual([])
  })

  const errors = 'docs/ERRORS.md'
  test.runIf(tree.has(errors))('every error code is documented', () => {
    expect(agreementLaw(codes, { name: errors, items: documentedCodesOf(read(errors)) })).toEqual(
      [],
    )
  })

  const threats = 'docs/THREAT-MODEL.md'
  test.runIf(tree.has(threats))('every threat is attacked, every attack answers a threat', () => {
    const rows = { name: threats, items: threatRowsOf(read(threats)) }
    const indexed = indexedRowsOf(read('docs/PROTECTION.md'))
    expect(indexed.toSorted()).toEqual(rows.items.toSorted())
    const named = {
      name: 'test/attack',
      items: attacks.flatMap((path) => attackedRowsOf(read(path))),
    }
    expect(rows.items).not.toEqual([])
    expect(agreementLaw(rows, named)).toEqual([])
    expect(attacks.filter((path) => attackedRowsOf(read(path)).length === 0)).toEqual([])
  })

  const listed = 'test/support/public-api.txt'
  test.runIf(tree.has(listed))('index.ts exports what public-api.txt lists', () => {
    const { bare } = sourceFile('src/index.ts', read('src/index.ts'))
    expect(exportsOf(bare)).toEqual(read(listed).trimEnd().split('\n'))
  })

  test.each<[name: string, found: readonly string[], wanted: readonly string[]]>([
    ['error codes', errorCodesOf("type ACode =\n  | 'a_b'\n  | 'c'\n"), ['a_b', 'c']],
    [
      'rows of a table of codes',
      surfaceCodesOf(
        'export const errorSurface: R = {\n  a_b: {\n    no: 1 },\n  c: r(1),\n}\n  d: 1\n',
      ),
      ['a_b', 'c'],
    ],
    ['documented codes', documentedCodesOf('| `a_b` | x |\n### `c`\n'), ['a_b', 'c']],
    ['threats', threatRowsOf('| T1 | a T9 |\n### T2: b\n**T3** c\n'), ['T1', 'T2', 'T3']],
    ['attacks', attackedRowsOf("describe('T1, T2: a')\n// T1"), ['T1', 'T2']],
    [
      'exports',
      exportsOf('export { b, type a as c } from x\nexport type { d } from y\nexport const e = 1'),
      ['b', 'c', 'd', 'e'],
    ],
  ])('%s are read', (_, found, wanted) => {
    expect(found).toEqual(wanted)
  })

  test('a difference is found in both directions', () => {
    const left = { name: 'left', items: ['a', 'b'] }
    expect(agreementLaw(left, { name: 'right', items: ['b', 'c'] })).toHaveLength(2)
  })
})

describe('oxlint, as configured, refuses', () => {
  const directory = sharedDirectory()
  const planted: readonly (readonly [rule: string, path: string, text: string])[] = [
    ['eslint(max-lines)', 'src/a.ts', 'f()\n'.repeat(501)],
    [
      'eslint(max-lines-per-function)',
      'src/b.ts',
      `export function b() {\n${'f()\n'.repeat(80)}}\n`,
    ],
    ['import(no-default-export)', 'src/c.ts', 'export default 1\n'],
    ['typescript(no-explicit-any)', 'src/d.ts', 'export const d: any = 1\n'],
    ['typescript(no-non-null-assertion)', 'src/e.ts', 'export const e = f!\n'],
    ['typescript(ban-ts-comment)', 'src/f.ts', '// @ts-ignore\nf()\n'],
    ['eslint(no-console)', 'src/store/g.ts', "console.log('')\n"],
    ['import(no-cycle)', 'src/h.ts', "import { i } from './i.ts'\nexport const h = () => i\n"],
    ['import(no-cycle)', 'src/i.ts', "import { h } from './h.ts'\nexport const i = () => h\n"],
    ['vitest(no-focused-tests)', 'test/a.test.ts', "test.only('a', () => {})\n"],
    ['vitest(no-disabled-tests)', 'test/b.test.ts', "test.skip('a', () => {})\n"],
    ['typescript(no-floating-promises)', 'src/j.ts', 'Promise.reject(new Error())\n'],
    [
      'typescript(no-misused-promises)',
      'src/k.ts',
      'export const k = [1].filter(async (x) => x > 1)\n',
    ],
  ]
  const reported = lint()

  function lint(): readonly string[] {
    plant('.oxlintrc.json', read('.oxlintrc.json'))
    plant('tsconfig.json', '{ "compilerOptions": { "strict": true, "types": [] } }')
    for (const [, path, text] of planted) plant(path, text)
    const binaries = join(root, 'node_modules', '.bin')
    const { stdout } = spawnSync(join(binaries, 'oxlint'), ['--type-aware', '--format', 'unix'], {
      cwd: directory,
      env: { ...process.env, OXLINT_TSGOLINT_PATH: join(binaries, 'tsgolint') },
      encoding: 'utf8',
    })
    return stdout.split('\n')
  }

  function plant(path: string, text: string): void {
    mkdirSync(dirname(join(directory, path)), { recursive: true })
    writeFileSync(join(directory, path), text)
  }

  test.each(planted)('%s in %s', (rule, path) => {
    const found = reported.filter((line) => line.startsWith(`${path}:`) && line.includes(rule))
    expect(found).not.toEqual([])
  })
})
