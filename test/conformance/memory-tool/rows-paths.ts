// Paths: one spelling for each file, nothing outside /memories, refusals that name the parameter
// and echo the input on one line, and the rules of files and directories for create and rename.

import {
  type Chapter,
  content,
  create,
  deletes,
  inserts,
  lists,
  no,
  ok,
  type Row,
  shows,
} from './steps.ts'

/** An input and the canonical path that every answer must name. */
const spellings: readonly (readonly [input: string, canonical: string])[] = [
  ['/memories/a/', '/memories/a'],
  ['/memories//a', '/memories/a'],
  ['/memories///d////a//', '/memories/d/a'],
  ['/memories/./a', '/memories/a'],
  ['/memories/a/.', '/memories/a'],
  ['/memories/./././a/./', '/memories/a'],
  ['/memories/d/../a', '/memories/a'],
  ['/memories/d/e/../../a', '/memories/a'],
  ['/memories/d/../e/../a', '/memories/a'],
  ['/memories/d//..//a', '/memories/a'],
  ['/memories/d/./../a', '/memories/a'],
]

const legal: readonly string[] = [
  'a b',
  ' a',
  'a ',
  '...',
  '..a',
  'a..',
  '.a',
  '-',
  '~',
  '~root',
  '$HOME',
  '*',
  '?',
  '#',
  '%',
  '100%',
  '%20',
  '%2f',
  'a%2fb',
  '%2e',
  '%41',
  'a\\b',
  '\\',
  'C:',
  'con',
  '"',
  "'",
  '`',
  '<b>',
  'memories',
  '\u00e9',
  '\u65e5\u672c',
  '\u{1f600}',
  '\u2764',
  'a:b',
  'a|b',
  'a;b',
  '{}',
  'x'.repeat(1000),
]

const start = 'It should be /memories, or begin with /memories/'
const leaves = 'It leads out of /memories'
const encoded = 'Encoded and backslash traversal is refused'
const characters = 'control'
const malformed = 'formed'
const reserved = 'reserved'
const bytes = '1024 bytes'
const segments = '20 segments'

/** An input, its echo, and words of the reason. */
const refused: readonly (readonly [input: string, echo: string, why: string])[] = [
  ['', '', start],
  ['/', '/', start],
  ['.', '.', start],
  ['..', '..', start],
  ['a', 'a', start],
  ['memories', 'memories', start],
  ['memories/a', 'memories/a', start],
  ['./memories/a', './memories/a', start],
  ['//memories/a', '//memories/a', start],
  [' /memories/a', ' /memories/a', start],
  ['/memoriesX', '/memoriesX', start],
  ['/memories ', '/memories ', start],
  ['/memories.md', '/memories.md', start],
  ['/memories-2/a', '/memories-2/a', start],
  ['/memories\\a', '/memories\\a', start],
  ['/Memories/a', '/Memories/a', start],
  ['/memory/a', '/memory/a', start],
  ['/etc/passwd', '/etc/passwd', start],
  ['/../memories/a', '/../memories/a', start],
  ['/./memories/a', '/./memories/a', start],
  ['%2fmemories/a', '%2fmemories/a', start],
  ['file:///memories/a', 'file:///memories/a', start],
  ['C:\\memories\\a', 'C:\\memories\\a', start],
  ['/memories/..', '/memories/..', leaves],
  ['/memories/../a', '/memories/../a', leaves],
  ['/memories/../memories/a', '/memories/../memories/a', leaves],
  ['/memories/../../etc/passwd', '/memories/../../etc/passwd', leaves],
  ['/memories/a/../../b', '/memories/a/../../b', leaves],
  ['/memories/a/../../memories/b', '/memories/a/../../memories/b', leaves],
  ['/memories/./../a', '/memories/./../a', leaves],
  ['/memories//../a', '/memories//../a', leaves],
  ['/memories/..\\a', '/memories/..\\a', encoded],
  ['/memories/\\..\\a', '/memories/\\..\\a', encoded],
  ['/memories/a\\..\\b', '/memories/a\\..\\b', encoded],
  ['/memories/a/..\\..\\..\\b', '/memories/a/..\\..\\..\\b', encoded],
  ['/memories/..\\', '/memories/..\\', encoded],
  ['/memories/%2e%2e', '/memories/%2e%2e', encoded],
  ['/memories/%2e%2e%2f', '/memories/%2e%2e%2f', encoded],
  ['/memories/%2E%2E%2Fa', '/memories/%2E%2E%2Fa', encoded],
  ['/memories/%2e%2e/a', '/memories/%2e%2e/a', encoded],
  ['/memories/.%2e/a', '/memories/.%2e/a', encoded],
  ['/memories/%2e./a', '/memories/%2e./a', encoded],
  ['/memories/..%2fa', '/memories/..%2fa', encoded],
  ['/memories/..%5ca', '/memories/..%5ca', encoded],
  ['/memories/%2e%2e%5ca', '/memories/%2e%2e%5ca', encoded],
  ['/memories/a%2f..%2fb', '/memories/a%2f..%2fb', encoded],
  ['/memories/%252e%252e%252fa', '/memories/%252e%252e%252fa', encoded],
  ['/memories/%25252e%25252e/a', '/memories/%25252e%25252e/a', encoded],
  ['/memories/..%c0%afa', '/memories/..%c0%afa', encoded],
  ['/memories/%c0%ae%c0%ae/a', '/memories/%c0%ae%c0%ae/a', encoded],
  ['/memories/a/../%2e%2e/b', '/memories/a/../%2e%2e/b', encoded],
  ['/memories/a\0', '/memories/a\\u{0}', characters],
  ['/memories/a\0/../b', '/memories/a\\u{0}/../b', characters],
  ['/memories/a\nb', '/memories/a\\u{a}b', characters],
  ['/memories/a\n1.0K\t/memories/x', '/memories/a\\u{a}1.0K\\u{9}/memories/x', characters],
  ['/memories/a\tb', '/memories/a\\u{9}b', characters],
  ['/memories/a\rb', '/memories/a\\u{d}b', characters],
  ['/memories/a\u001b[2J', '/memories/a\\u{1b}[2J', characters],
  ['/memories/a\u007f', '/memories/a\\u{7f}', characters],
  ['/memories/a\u0085', '/memories/a\\u{85}', characters],
  ['/memories/a\u200b', '/memories/a\\u{200b}', characters],
  ['/memories/\ufeffa', '/memories/\\u{feff}a', characters],
  ['/memories/a\u202eb', '/memories/a\\u{202e}b', characters],
  ['/memories/a\u2028b', '/memories/a\\u{2028}b', characters],
  ['/memories/a\u00adb', '/memories/a\\u{ad}b', characters],
  ['/memories/\u{e0041}', '/memories/\\u{e0041}', characters],
  ['/memories/\u2764\ufe0f', '/memories/\u2764\\u{fe0f}', 'remove U\\+FE0F'],
  ['/memories/a\u3164', '/memories/a\\u{3164}', characters],
  ['/memories/a\u2800', '/memories/a\\u{2800}', characters],
  ['/memories/\ud83d', '/memories/\\u{d83d}', malformed],
  ['/memories/.anthropic-memory-store', '/memories/.anthropic-memory-store', reserved],
  [`/memories/${'x'.repeat(1024)}`, `/memories/${'x'.repeat(190)}…`, bytes],
  [`/memories/${'é'.repeat(512)}`, `/memories/${'é'.repeat(190)}…`, bytes],
  [`/memories${'/a'.repeat(21)}`, `/memories${'/a'.repeat(21)}`, segments],
]

const commands = [
  ['view', {}],
  ['create', { file_text: 'x' }],
  ['str_replace', { old_str: 'x', new_str: 'y' }],
  ['insert', { insert_line: 0, insert_text: 'x' }],
  ['delete', {}],
] as const

function literally(text: string): string {
  return text.replaceAll(/[\\^$.*+?()[\]{}|]/g, String.raw`\$&`)
}

const [a, b] = ['/memories/a', '/memories/b']

function inEveryAnswer([path, canonical]: (typeof spellings)[number]): Row {
  const other = '/memories/z'
  const file = canonical.slice('/memories'.length)
  const rows = `Here's the content of ${canonical} with line numbers:\n     1\tx`
  const there = `Successfully renamed ${canonical} to ${other}`
  const back = `Successfully renamed ${other} to ${canonical}`
  return [
    `${path} is ${canonical}`,
    ok('create', { path, file_text: 'x\n' }, `File created successfully at: ${canonical}`),
    content(file, 'x\n'),
    no('create', { path, file_text: '' }, `Error: File ${canonical} already exists`),
    ok('view', { path }, rows),
    ok('str_replace', { path, old_str: 'x', new_str: 'y' }, /\n {5}1\ty$/),
    no('str_replace', { path, old_str: 'x' }, new RegExp(`verbatim in ${canonical}\\.$`)),
    ok('insert', { path, insert_line: 1, insert_text: 'z' }, /^The file \S+ has been edited\.$/),
    ok('rename', { old_path: path, new_path: other }, there),
    ok('rename', { old_path: other, new_path: path }, back),
    ok('delete', { path }, `Successfully deleted ${canonical}`),
    no('delete', { path }, `Error: The path ${canonical} does not exist`),
  ]
}

function isName(name: string): Row {
  const path = `/memories/${name}`
  return [
    JSON.stringify(name),
    create(path, 'x'),
    shows(path, 'x'),
    content(`/${name}`, 'x'),
    deletes(path),
    create(`${path}/below`),
    inserts(`${path}/below`, 0, 'x'),
    deletes(path),
  ]
}

function isRefused([path, echo, why]: (typeof refused)[number]): Row {
  const refusal = (parameter: string): RegExp =>
    new RegExp(
      `^Error: Invalid \`${parameter}\` parameter: ${literally(echo)}\\. [^.]*${why}[^.]*$`,
    )
  return [
    JSON.stringify(path).slice(0, 80),
    create(a, 'x'),
    ...commands.map(([command, input]) => no(command, { path, ...input }, refusal('path'))),
    no('rename', { old_path: path, new_path: b }, refusal('old_path')),
    no('rename', { old_path: a, new_path: path }, refusal('new_path')),
    content('/a', 'x'),
  ]
}

/** What a member of another program may have written is named like any path, but not made. */
function isNotMade([name, why]: (typeof foreign)[number]): Row {
  const path = `/memories/${name}`
  const refusal = (parameter: string): RegExp =>
    new RegExp(
      `^Error: Invalid \`${parameter}\` parameter: ${path}\\. A new path must [^.]*${why}$`,
    )
  return [
    JSON.stringify(name),
    create(a, 'x'),
    no('create', { path, file_text: 'x' }, refusal('path')),
    no('rename', { old_path: a, new_path: path }, refusal('new_path')),
    no('rename', { old_path: path, new_path: b }, `Error: The path ${path} does not exist`),
    no('delete', { path }, `Error: The path ${path} does not exist`),
    content('/a', 'x'),
  ]
}

const foreign = [
  ['e\u0301', 'normalization form C'],
  ['\u212b', 'normalization form C'],
  ['\u0378', 'unassigned characters'],
] as const

const others: readonly Row[] = [
  [
    'a composed and a decomposed name do not become two files',
    create('/memories/\u00e9', 'x'),
    no('create', { path: '/memories/e\u0301', file_text: 'y' }, /normalization form C$/),
    lists('/memories', '1B', '1B \u00e9'),
  ],
]

/** The refused paths whose answer names `/memories` itself, or is cut in the echo. */
const ofRoot = refused.filter(([, echo, why]) => {
  return why === start || why === leaves || echo.endsWith('…')
})

export const pathChapters: readonly Chapter[] = [
  { name: 'paths, in every answer', rows: spellings.map(inEveryAnswer) },
  { name: 'paths, a name', rows: legal.map(isName) },
  {
    name: 'paths, refused by every command',
    rows: refused.filter((row) => !ofRoot.includes(row)).map(isRefused),
  },
  { name: 'paths, refused as leading out', needs: 'root', rows: ofRoot.map(isRefused) },
  { name: 'paths, named, but not made', rows: foreign.map(isNotMade) },
  { name: 'paths', rows: others },
]
